package pgmeta

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Parameters are the settings of a session, as SHOW has them, and the number by which it is cancelled.
type Parameters interface {
	Parameter(name string) (string, error) // what SHOW says
	AllParameters() []Parameter
	SetParameter(name, value string, local bool) error
	BackendPID() uint32
	PreparedStatements() []Prepared
	Cursors() []Cursor
	Connection() Connection
}

// Parameter is a row of pg_settings: numbers are in the setting's unit.
type Parameter struct {
	Name, Value, Unit, Category, Description, Extra, Context, Kind, Source, Least, Most, Boot, Reset string

	Values []string // of an enumeration
}

// Session is the catalog as one session's statements use it: it implements plan.Meta.
type Session struct {
	*Database
	Values     sqltype.Settings
	Parameters Parameters // nil: there are none

	ctx     context.Context // of the statement that runs
	schemas []string        // Path
}

// pid is the number by which the session is cancelled.
func (s *Session) pid() int64 {
	if s.Parameters == nil {
		return 0
	}
	return int64(s.Parameters.BackendPID())
}

// function is one of the catalog's: by its name and number of arguments.
type function struct {
	eval   func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error)
	rows   func(s *Session, a []sqltype.Value, t []sqltype.Type) ([][]sqltype.Value, error)
	onNull bool
	outs   []funcs.Out
}

// Call implements plan.Meta.
func (s *Session) Call(kind funcs.Kind, name string, actual, declared []sqltype.OID, result sqltype.OID) *funcs.Func {
	f := &funcs.Func{Kind: kind, Name: name, Args: declared, Result: result}
	if kind == funcs.Operator {
		f.OnNull = name == "||"
		eval := operator(name, actual)
		if eval == nil {
			return nil
		}
		f.Eval = func(a []sqltype.Value, types []sqltype.Type, result sqltype.Type) (out sqltype.Value, err error) {
			defer guarded(name, &err)
			return eval(a, types, result)
		}
		if isMatch(name) {
			f.Slow = func(stop func() error, a []sqltype.Value, types []sqltype.Type, result sqltype.Type) (out sqltype.Value, err error) {
				defer guarded(name, &err)
				return match(stop, name, a)
			}
		}
		return f
	}
	fn, ok := functions[signature{name, len(actual)}]
	if !ok {
		if fn, ok = functions[signature{name, anyNumber}]; !ok {
			return nil
		}
	}
	f.OnNull, f.Outs = fn.onNull, fn.outs
	if fn.rows != nil {
		f.Rows = func(a []sqltype.Value, types []sqltype.Type) (out [][]sqltype.Value, err error) {
			defer guarded(name, &err)
			return fn.rows(s, a, types)
		}
		return f
	}
	f.Eval = func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (out sqltype.Value, err error) {
		defer guarded(name, &err)
		return fn.eval(s, a, types)
	}
	return f
}

// guarded ends the statement alone where a function of the catalogs panics: a mistake in it is no reason to lose the session. What it was given is public.
func guarded(name string, err *error) {
	if p := recover(); p != nil {
		*err = sqlerr.New(sqlerr.Internal, "internal error in %s", name).WithHint("The proxy's log has the cause.").WithCause(fmt.Errorf("panic in %s: %v\n%s", name, p, debug.Stack()))
	}
}

type signature struct {
	name string
	args int
}

// operator computes comparisons of whatever has an order, and patterns that are not constants.
func operator(name string, actual []sqltype.OID) func([]sqltype.Value, []sqltype.Type, sqltype.Type) (sqltype.Value, error) {
	if len(actual) != 2 {
		return nil
	}
	decide := map[string]func(int) bool{
		"=": func(c int) bool { return c == 0 }, "<>": func(c int) bool { return c != 0 }, "<": func(c int) bool { return c < 0 },
		"<=": func(c int) bool { return c <= 0 }, ">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	}[name]
	if decide != nil {
		for _, o := range actual {
			if o == sqltype.OIDJSON {
				return nil
			}
		}
		return func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			if reflect.TypeOf(a[0]) != reflect.TypeOf(a[1]) {
				return nil, sqlerr.New(sqlerr.Internal, "%s of %s and %s cannot be computed", name, types[0], types[1]).WithCause(fmt.Errorf("%T and %T", a[0], a[1]))
			}
			return decide(sqltype.CompareAs(a[0], a[1], types[0])), nil
		}
	}
	if isMatch(name) {
		return func(a []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return match(func() error { return nil }, name, a)
		}
	}
	switch name {
	case "||":
		if !(sqltype.Type{OID: actual[0]}).IsArray() && !(sqltype.Type{OID: actual[1]}).IsArray() {
			return nil
		}
		return func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			var list []sqltype.Value
			var elem sqltype.OID
			for i, v := range a {
				t := types[i]
				if x, ok := v.(*sqltype.Array); ok {
					list, elem = append(list, x.Values...), x.Elem
				} else if e, is := t.Elem(); is { // NULL in place of an array is none
					elem = e.OID
				} else {
					list = append(list, v)
				}
			}
			if a[0] == nil && a[1] == nil {
				return nil, nil
			}
			return listOf(elem, list), nil
		}
	case "@>", "<@", "&&":
		return func(a []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			x, okX := a[0].(*sqltype.Array)
			y, okY := a[1].(*sqltype.Array)
			if !okX || !okY {
				return nil, sqlerr.New(sqlerr.Unsupported, "the operator %s of these types is not supported", name)
			}
			if name == "<@" {
				x, y = y, x
			}
			have := map[string]bool{}
			for _, v := range x.Values {
				have[string(sqltype.AppendKey(nil, v))] = v != nil
			}
			some, every := false, true
			for _, v := range y.Values {
				is := have[string(sqltype.AppendKey(nil, v))]
				some, every = some || is, every && is
			}
			if name == "&&" {
				return some, nil
			}
			return every, nil
		}
	}
	return nil
}

func isMatch(operator string) bool {
	return strings.TrimSuffix(strings.TrimPrefix(operator, "!"), "*") == "~"
}

// match computes an operator of regular expressions whose pattern need not be a constant.
func match(stop func() error, name string, a []sqltype.Value) (sqltype.Value, error) {
	base := strings.TrimPrefix(name, "!")
	row, err := funcs.Lookup(funcs.Operator, base, sqltype.OIDText, sqltype.OIDText).With(funcs.Constants{Values: a[1:2]})
	if err != nil {
		return nil, err
	}
	v, err := row.Slow(stop, a, nil, sqltype.Bool)
	if b, ok := v.(bool); ok && base != name {
		return !b, err
	}
	return v, err
}

func listOf(elem sqltype.OID, list []sqltype.Value) *sqltype.Array {
	a := &sqltype.Array{Elem: elem, Values: list}
	if len(list) > 0 {
		a.Dims, a.Lower = []int32{int32(len(list))}, []int32{1} //nolint:gosec // G115: of one statement
	}
	return a
}

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
