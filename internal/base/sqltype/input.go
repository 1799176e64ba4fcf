package sqltype

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// space is what C's isspace calls a blank.
const space = " \t\n\v\f\r"

// isInteger reports an optional sign and digits.
func isInteger(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func badText(s string, t Type) *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidText, "invalid input syntax for type %s: \"%s\"", t.base(), s)
}

// base is the type without its modifier, as input functions name it.
func (t Type) base() Type { return Type{OID: t.OID, Typmod: -1, enum: t.enum} }

func notOfType(v Value, t Type) error {
	return fmt.Errorf("sqltype: a %T cannot be written as %s", v, t)
}

func notReadable(t Type) error {
	return sqlerr.New(sqlerr.Unsupported, "values of type %s are not supported", t)
}

// badLength tells, as PostgreSQL does, a value that ends too early from one with more behind it.
func badLength(got, want int, t Type) error {
	if got < want {
		return sqlerr.New(sqlerr.ProtocolViolation, "insufficient data left in message")
	}
	return badBinary(t)
}

func badBinary(t Type) error {
	return sqlerr.New(sqlerr.InvalidBinary, "incorrect binary data format for type %s", t)
}

func cutShort() error {
	return sqlerr.New(sqlerr.ProtocolViolation, "insufficient data left in message")
}
