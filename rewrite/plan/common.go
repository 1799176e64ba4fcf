package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// The common type of CASE, COALESCE, IN, ARRAY and the like (parse_coerce.c, select_common_type).

// narrowing is one choice among types, fed one by one.
type narrowing struct {
	ts   *types
	best sqltype.OID
}

// take says whether a type may stand beside those before it.
func (n *narrowing) take(o sqltype.OID) bool {
	o = n.ts.base(o)
	switch {
	case o == sqltype.OIDUnknown || o == n.best:
	case n.best == sqltype.OIDUnknown:
		n.best = o
	case n.ts.category(o) != n.ts.category(n.best):
		return false
	case !n.ts.info(n.best).Preferred && n.reaches(n.best, o) && !n.reaches(o, n.best):
		n.best = o
	}
	return true
}

func (n *narrowing) reaches(from, to sqltype.OID) bool {
	return n.ts.canCoerce([]sqltype.OID{from}, []sqltype.OID{to}, implicitly)
}

// commonOf is the common type of types that are all known, or the two that do not match.
func (ts *types) commonOf(list []sqltype.OID) (sqltype.OID, *[2]sqltype.OID) {
	same := true
	for _, o := range list {
		same = same && o == list[0]
	}
	if same {
		return list[0], nil
	}
	n := narrowing{ts: ts, best: ts.base(list[0])}
	for _, o := range list[1:] {
		if !n.take(o) {
			return 0, &[2]sqltype.OID{n.best, ts.base(o)}
		}
	}
	return n.best, nil
}

// common is the type that a construct's values are brought to, with the modifier that they share.
func (b *binder) common(args []Scalar, clause string, pos pgsyntax.Pos) (sqltype.Type, error) {
	first := args[0].Type()
	same, alike := first.OID != sqltype.OIDUnknown, true
	for _, a := range args {
		same = same && a.Type().OID == first.OID
		alike = alike && a.Type() == first
	}
	if same {
		if !alike {
			first.Typmod = -1
		}
		return first, nil
	}
	n := narrowing{ts: &b.types, best: b.base(first.OID)}
	for _, a := range args[1:] {
		if !n.take(a.Type().OID) {
			return first, sqlerr.New(sqlerr.DatatypeMismatch, "%s types %s and %s cannot be matched", clause, b.name(n.best), b.name(b.base(a.Type().OID))).At(int(b.place(a, pos)))
		}
	}
	if n.best == sqltype.OIDUnknown {
		return sqltype.Text, nil
	}
	return b.of(n.best), nil
}

// toCommon is coerce_to_common_type.
func (b *binder) toCommon(x Scalar, t sqltype.Type, clause string, pos pgsyntax.Pos) (Scalar, error) {
	if x.Type().OID == t.OID {
		return x, nil
	}
	v, err := b.coerceTo(x, bare(t), implicitly, b.place(x, pos))
	if v == nil && err == nil {
		return nil, sqlerr.New(sqlerr.CannotCoerce, "%s could not convert type %s to %s", clause, typeName(x.Type()), typeName(t)).At(int(b.place(x, pos)))
	}
	return v, err
}

// allCommon brings values to their common type.
func (b *binder) allCommon(args []Scalar, clause string, pos pgsyntax.Pos) ([]Scalar, sqltype.Type, error) {
	t, err := b.common(args, clause, pos)
	if err != nil {
		return nil, t, err
	}
	out := make([]Scalar, len(args))
	for i, a := range args {
		if out[i], err = b.toCommon(a, t, clause, pos); err != nil {
			return nil, t, err
		}
	}
	return out, t, nil
}
