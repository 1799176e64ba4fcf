package pgmeta

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Cast implements plan.Meta: objects and names, and any type's text form.
func (s *Session) Cast(source, target sqltype.Type) *funcs.Func {
	f := &funcs.Func{Kind: funcs.Cast, Name: "cast", Args: []sqltype.OID{source.OID}, Result: target.OID}
	eval := s.cast(source, target)
	if eval == nil {
		return nil
	}
	f.Eval = func(a []sqltype.Value, _ []sqltype.Type, result sqltype.Type) (out sqltype.Value, err error) {
		defer guarded("a cast", &err)
		return eval(a[0], result)
	}
	return f
}

// textual are the types that hold texts as they are.
func textual(t sqltype.Type) bool { return t.IsString() || t.OID == sqltype.OIDChar }

func (s *Session) cast(source, target sqltype.Type) func(v sqltype.Value, to sqltype.Type) (sqltype.Value, error) {
	same := func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) { return v, nil }
	from, isArray := source.Elem()
	to, toArray := target.Elem()
	switch {
	case source.OID == target.OID:
		if textual(target) {
			return func(v sqltype.Value, to sqltype.Type) (sqltype.Value, error) {
				return s.Values.ParseText(v.(string), to)
			}
		}
		return same
	case source.IsObject() && target.IsObject():
		return same
	case source.IsObject() && target.OID == sqltype.OIDInt8:
		return same
	case source.IsObject() && target.OID == sqltype.OIDInt4:
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) { return int64(int32(v.(int64))), nil } //nolint:gosec // G115: as PostgreSQL does
	case source.IsInteger() && target.IsObject():
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) {
			n := v.(int64)
			if source.OID == sqltype.OIDInt8 && n != int64(uint32(n)) {
				return nil, sqlerr.New(sqlerr.NumericRange, "OID out of range")
			}
			return int64(uint32(n)), nil //nolint:gosec // G115: as PostgreSQL does
		}
	case source.OID == sqltype.OIDChar && target.OID == sqltype.OIDInt4:
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) {
			text := v.(string)
			if text == "" {
				return int64(0), nil
			}
			return int64(int8(text[0])), nil //nolint:gosec // G115: as PostgreSQL does
		}
	case source.OID == sqltype.OIDInt4 && target.OID == sqltype.OIDChar:
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) {
			switch n := v.(int64); {
			case n < -128 || n > 127:
				return nil, sqlerr.New(sqlerr.NumericRange, "\"char\" out of range")
			case n < 0:
				return nil, sqlerr.New(sqlerr.Unsupported, "a \"char\" that is no character is not supported")
			case n == 0:
				return "", nil
			default:
				return string(rune(n)), nil
			}
		}
	case textual(source) && target.IsReg():
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) { return s.lookUp(target, v.(string)) }
	case isArray && toArray:
		each := s.cast(from, to)
		if each == nil {
			return nil
		}
		return func(v sqltype.Value, _ sqltype.Type) (sqltype.Value, error) {
			in := v.(*sqltype.Array)
			out := &sqltype.Array{Elem: to.OID, Dims: in.Dims, Lower: in.Lower, Values: make([]sqltype.Value, len(in.Values))}
			for i, e := range in.Values {
				if e == nil {
					continue
				}
				var err error
				if out.Values[i], err = each(e, to); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	case textual(target):
		return func(v sqltype.Value, to sqltype.Type) (sqltype.Value, error) {
			text, err := s.text(v, source)
			if err != nil {
				return nil, err
			}
			return s.Values.ParseText(text, to)
		}
	case textual(source):
		return func(v sqltype.Value, to sqltype.Type) (sqltype.Value, error) {
			out, err := s.Values.ParseText(v.(string), to)
			array, ok := out.(*sqltype.Array)
			if elem, _ := to.Elem(); ok && err == nil && elem.IsReg() {
				for i, e := range array.Values {
					if name, ok := e.(string); ok {
						if array.Values[i], err = s.lookUp(elem, name); err != nil {
							return nil, err
						}
					}
				}
			}
			return out, err
		}
	}
	return nil
}

// text is a value as answers write it.
func (s *Session) text(v sqltype.Value, t sqltype.Type) (string, error) {
	b, err := s.Values.Encode(s.Shown(v, t), t, sqltype.TextFormat, nil)
	return string(b), err
}

// Shown is a value as an answer has it: the numbers of objects have their names beside them.
func (s *Session) Shown(v sqltype.Value, t sqltype.Type) sqltype.Value {
	if n, ok := v.(int64); ok && t.IsReg() {
		return sqltype.Named{OID: uint32(n), Name: s.nameOf(t, n)} //nolint:gosec // G115: an OID
	}
	if a, ok := v.(*sqltype.Array); ok {
		if elem, is := t.Elem(); is && elem.IsReg() {
			out := *a
			out.Values = make([]sqltype.Value, len(a.Values))
			for i, e := range a.Values {
				out.Values[i] = s.Shown(e, elem)
			}
			return &out
		}
	}
	return v
}
