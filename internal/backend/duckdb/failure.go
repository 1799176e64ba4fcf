package duckdb

import (
	"context"
	"errors"
	"strings"

	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/dpsql/dpsql/internal/backend"
)

// failure classifies what went wrong after the backend was asked. DuckDB's text may quote values: it stays in the cause.
func failure(ctx context.Context, err error) *backend.Error {
	var d *driver.Error
	errors.As(err, &d)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return backend.NewError(backend.FailTimeout, "deadline", err)
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return backend.NewError(backend.FailCanceled, "canceled", err)
	case d == nil:
		return backend.NewError(backend.FailOther, "driver", err)
	}
	switch d.Type {
	case driver.ErrorTypeOutOfMemory, driver.ErrorTypeObjectSize:
		return backend.NewError(backend.FailResource, "out_of_memory", err)
	case driver.ErrorTypeIO, driver.ErrorTypeNetwork:
		return backend.NewError(backend.FailResource, "io", err)
	case driver.ErrorTypeInterrupt:
		return backend.NewError(backend.FailCanceled, "interrupt", err)
	case driver.ErrorTypeConnection, driver.ErrorTypeFatal:
		return backend.NewError(backend.FailUnavailable, "fatal", err) // after a fatal error DuckDB answers nothing more
	}
	code, ok := codes[d.Type]
	if own := ownCode(d.Msg); own != "" {
		code = own
	} else if !ok {
		code = "duckdb"
	}
	return backend.NewError(backend.FailOther, code, err)
}

// ownCode tells the errors that a print raises by error(...), and a scalar subquery's second row: their texts are fixed, their type is not.
func ownCode(text string) string {
	switch {
	case text == "Invalid Input Error: division by zero":
		return "division_by_zero"
	case text == "Invalid Input Error: value out of range":
		return "out_of_range"
	case strings.HasPrefix(text, "Invalid Input Error: More than one row returned by a subquery"):
		return "cardinality"
	}
	return ""
}

// codes gives the log a word for what is most often seen.
var codes = map[driver.ErrorType]string{
	driver.ErrorTypeOutOfRange:   "out_of_range",
	driver.ErrorTypeConversion:   "conversion",
	driver.ErrorTypeDivideByZero: "division_by_zero",
	driver.ErrorTypeTransaction:  "transaction",
	driver.ErrorTypeCatalog:      "catalog",
	driver.ErrorTypeParser:       "parser",
	driver.ErrorTypeBinder:       "binder",
	driver.ErrorTypeInternal:     "internal",
	driver.ErrorTypeInvalidInput: "invalid_input",
	driver.ErrorTypePermission:   "permission",
}

// unavailable is a failure before the backend was asked anything about people.
func unavailable(ctx context.Context, err error) *backend.Error {
	f := failure(ctx, err)
	if f.Class == backend.FailOther || f.Class == backend.FailResource {
		f.Class = backend.FailUnavailable
	}
	return f
}
