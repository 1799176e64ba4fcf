package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
)

// failure classifies what went wrong after the backend was asked. PostgreSQL's text may quote values: it stays in the cause.
func failure(ctx context.Context, err error) *backend.Error {
	code := ""
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		code = pg.Code
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return backend.NewError(backend.FailTimeout, code, err)
	case ctx.Err() != nil:
		return backend.NewError(backend.FailCanceled, code, err)
	case code == "": // the connection broke, or there was none
		return backend.NewError(backend.FailUnavailable, broken(err), err)
	}
	return backend.NewError(classOf(code), code, err)
}

// broken says in the operating system's words why a connection broke: these hold no names and no values.
func broken(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	for _, known := range []error{io.ErrUnexpectedEOF, io.EOF, net.ErrClosed, os.ErrDeadlineExceeded} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "no connection"
}

func classOf(code string) backend.FailureClass {
	switch code {
	case "57014", "55P03", "25P03": // statement, lock and idle time-outs; nobody else cancels our statements
		return backend.FailTimeout
	case "57P01", "57P02", "57P03", "57P05":
		return backend.FailUnavailable
	}
	if len(code) != 5 {
		return backend.FailOther
	}
	switch code[:2] {
	case "53", "54", "58": // insufficient resources, limits, the server's system errors
		return backend.FailResource
	case "08", "28", "3D":
		return backend.FailUnavailable
	}
	return backend.FailOther
}

// unavailable is a failure before the backend was asked anything about people.
func unavailable(ctx context.Context, err error) *backend.Error {
	f := failure(ctx, err)
	if f.Class == backend.FailOther || f.Class == backend.FailResource {
		f.Class = backend.FailUnavailable
	}
	return f
}
