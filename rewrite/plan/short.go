package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// ShortText is an expression of parameters in a place where a text is funcs.MaxShort bytes long at most. It is looked at when
// the parameters are given, before anything is charged.
type ShortText struct {
	X   Scalar
	Pos int
}

// Check refuses a value that is too long.
func (s ShortText) Check(v sqltype.Value) error {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case sqltype.JSON:
		n = len(v)
	}
	if n > funcs.MaxShort {
		return tooLong(pgsyntax.Pos(s.Pos))
	}
	return nil
}

func tooLong(pos pgsyntax.Pos) error {
	return sqlerr.New(sqlerr.Unsupported, "a pattern, or a text to search for, of more than %d bytes is not supported", funcs.MaxShort).At(int(pos)).
		WithHint("Use a shorter one: each row is searched for it.")
}
