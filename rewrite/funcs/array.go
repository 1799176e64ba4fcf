package funcs

import (
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

const anyArray sqltype.OID = 2277

const listsThere = "DuckDB's lists have no dimensions, no lower bounds, and other rules for NULL"

// arrays has what PostgreSQL declares over arrays of any type.
func arrays() []*Func {
	var out []*Func
	add := func(kind Kind, name string, args []sqltype.OID, result sqltype.OID, maybe bool, pg string, eval evalFunc) *Func {
		f := row(kind, name, args, result, maybe, forms{pg: pg, why: listsThere}).eval(eval)
		out = append(out, f)
		return f
	}
	of := func(x sqltype.Value) *sqltype.Array { return x.(*sqltype.Array) }
	add(Function, "cardinality", oids(anyArray), i4, false, "cardinality({x})", func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return int64(len(of(v[0]).Values)), nil
	}).within(always(0, math.MaxInt32)).safe(harmless)
	add(Function, "array_ndims", oids(anyArray), i4, true, "array_ndims({x})", func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		if n := len(of(v[0]).Dims); n > 0 {
			return int64(n), nil
		}
		return nil, nil
	}).within(always(1, 6))
	for _, bound := range []struct {
		name string
		of   func(a *sqltype.Array, i int64) int32
	}{
		{"array_length", func(a *sqltype.Array, i int64) int32 { return a.Dims[i] }},
		{"array_lower", func(a *sqltype.Array, i int64) int32 { return a.Lower[i] }},
		{"array_upper", func(a *sqltype.Array, i int64) int32 { return a.Lower[i] + a.Dims[i] - 1 }},
	} {
		add(Function, bound.name, oids(anyArray, i4), i4, true, bound.name+"({x}, {y})", func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			if i := v[1].(int64) - 1; i >= 0 && i < int64(len(of(v[0]).Dims)) {
				return int64(bound.of(of(v[0]), i)), nil
			}
			return nil, nil
		}).within(always(math.MinInt32, math.MaxInt32))
	}
	// Each element of one is compared with those of the other.
	few := func(v string) string { return "cardinality(" + v + ") <= " + strconv.Itoa(MaxShort) }
	for _, op := range []string{"@>", "<@", "&&"} {
		guard := few("{y}")
		if op == "<@" {
			guard = few("{x}")
		}
		f := add(Operator, op, oids(anyArray, anyArray), yes, true, "CASE WHEN "+guard+" THEN {x} "+op+" {y} END", nil)
		comparable := func(_ dialect.Dialect, form Form) Form { // PostgreSQL raises where elements have no equality
			return func(x []string, types []sqltype.Type, t sqltype.Type) string {
				if elem, ok := types[0].Elem(); !ok || elem.OID == sqltype.OIDJSON {
					return ""
				}
				return form(x, types, t)
			}
		}
		f.TotalForm, f.RaisingForm = f.TotalForm.each(comparable), f.RaisingForm.each(comparable)
	}
	return append(out, arrayText(), textArray())
}

// arrayText is array_to_string of a separator; NULLs are passed over.
func arrayText() *Func {
	f := row(Function, "array_to_string", oids(anyArray, text), text, true, forms{short: true, why: listsThere,
		pg: "CASE WHEN CAST(cardinality({x}) AS int8) * greatest(octet_length({y}), 1) <= " + most + " THEN CASE WHEN octet_length(array_to_string({x}, {y})) <= " + most + " THEN array_to_string({x}, {y}) END END"})
	spelled := func(_ dialect.Dialect, form Form) Form { // the texts of others follow from settings
		return func(x []string, types []sqltype.Type, t sqltype.Type) string {
			elem, ok := types[0].Elem()
			if !ok || !isInt(elem.OID) && elem.OID != numeric && elem.OID != text && elem.OID != sqltype.OIDVarchar && elem.OID != day && elem.OID != sqltype.OIDUUID && !elem.IsEnum() {
				return ""
			}
			return form(x, types, t)
		}
	}
	f.TotalForm, f.RaisingForm = f.TotalForm.each(spelled), f.RaisingForm.each(spelled)
	return f.eval(func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		elem, ok := types[0].Elem()
		if !ok {
			return nil, sqlerr.New(sqlerr.Internal, "%s is no array", types[0])
		}
		var list []string
		for _, x := range v[0].(*sqltype.Array).Values {
			if x != nil {
				list = append(list, sqltype.FormatText(x, elem))
			}
		}
		return strings.Join(list, v[1].(string)), nil
	})
}

// textArray is string_to_array at a constant: a NULL there would be no NULL in the result.
func textArray() *Func {
	f := &Func{Name: "string_to_array", Kind: Function, Args: oids(text, text), Result: texts, Const: []int{1}, Short: []int{1}}
	f.With = func(c Constants) (*Func, error) {
		by := c.Values[0].(string)
		g := row(Function, f.Name, f.Args, f.Result, true, forms{why: listsThere + "; take a part by split_part(x, '-', 1), and count parts by length(x) - length(replace(x, '-', '')) + 1", pg: "CASE WHEN octet_length({x}) <= " + most + " THEN string_to_array({x}, " + quoted(by) + ") END", own: "string_to_array({x}, " + quoted(by) + ")"})
		g.Const, g.Short = f.Const, f.Short
		return g.eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			s := v[0].(string)
			out := &sqltype.Array{Elem: text}
			switch {
			case s == "":
				return out, nil
			case by == "":
				out.Values = []sqltype.Value{s}
			default:
				for _, part := range strings.Split(s, by) {
					out.Values = append(out.Values, part)
				}
			}
			out.Dims, out.Lower = []int32{int32(len(out.Values))}, []int32{1}
			return out, nil
		}), nil
	}
	return f
}

// NoElementwiseCasts says why an array's elements are not cast over private rows.
var NoElementwiseCasts = map[dialect.Dialect]string{Postgres: "it raises where an element has no room", DuckDB: "arrays are not computed with there"}
