package session

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// publicErrors are a database's errors about values that a statement over public tables alone may show, by SQLSTATE or by the DuckDB
// backend's word. The texts are ours: a database's own may quote what the analyst has no right to.
var publicErrors = map[string]struct {
	kind sqlerr.Kind
	text string
}{
	"21000": {sqlerr.Cardinality, "more than one row returned by a subquery used as an expression"},
	"22001": {sqlerr.StringTooLong, "value too long for its type"},
	"22003": {sqlerr.NumericRange, "value out of range"},
	"22004": {sqlerr.NullValue, "null value not allowed"},
	"22007": {sqlerr.InvalidDatetime, "invalid input syntax for a date or time"},
	"22008": {sqlerr.DatetimeRange, "date/time field value out of range"},
	"22009": {sqlerr.TimeZoneRange, "time zone displacement out of range"},
	"22011": {sqlerr.SubstringError, "negative substring length not allowed"},
	"22012": {sqlerr.DivisionByZero, "division by zero"},
	"22013": {sqlerr.InvalidFrameSize, "invalid preceding or following size in window function"},
	"22014": {sqlerr.InvalidNtile, "argument of ntile must be greater than zero"},
	"22015": {sqlerr.IntervalRange, "interval field value out of range"},
	"22016": {sqlerr.InvalidNth, "argument of nth_value must be greater than zero"},
	"2201B": {sqlerr.InvalidRegex, "invalid regular expression"},
	"2201E": {sqlerr.InvalidLogarithm, "cannot take logarithm of zero or of a negative number"},
	"2201F": {sqlerr.InvalidPower, "invalid argument for power or square root"},
	"2201G": {sqlerr.InvalidBucket, "invalid argument for width_bucket"},
	"2201W": {sqlerr.InvalidRowCount, "LIMIT must not be negative"},
	"2201X": {sqlerr.InvalidRowOffset, "OFFSET must not be negative"},
	"22021": {sqlerr.InvalidEncoding, "invalid byte sequence for encoding"},
	"22023": {sqlerr.InvalidParam, "invalid parameter value"},
	"22025": {sqlerr.InvalidEscape, "invalid escape string or sequence"},
	"2202E": {sqlerr.ArraySubscript, "array subscript out of range"},
	"22P02": {sqlerr.InvalidText, "invalid input syntax for a type"},
	"22P03": {sqlerr.InvalidBinary, "incorrect binary data format"},
	"22P05": {sqlerr.UntranslatableChar, "a character has no equivalent in the encoding"},

	"cardinality":      {sqlerr.Cardinality, "more than one row returned by a subquery used as an expression"},
	"division_by_zero": {sqlerr.DivisionByZero, "division by zero"},
	"out_of_range":     {sqlerr.NumericRange, "value out of range"},
}

// PublicFailed is the end of a statement over public tables alone: where their values made it fail it says so as PostgreSQL does, for
// no private row had a part in it.
func (s *Session) PublicFailed(ctx context.Context, err error) error {
	if of := OfValues(err); of != nil {
		return of
	}
	if sqlerr.ID(err) == sqlerr.Cardinality.ID { // of rows that were read here
		return err
	}
	return s.Uncharged(ctx, err)
}

// OfValues is a database's error about values that may be shown, in our words; nil for another.
func OfValues(err error) error {
	var b *backend.Error
	if errors.As(err, &b) && b.Class == backend.FailOther {
		if e, ok := publicErrors[b.Code]; ok {
			return sqlerr.New(e.kind, "%s", e.text).WithCause(err)
		}
	}
	return nil
}
