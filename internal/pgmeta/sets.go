package pgmeta

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// Functions that give rows.

// infProcs are the functions of information_schema.
var infProcs = map[string][]*pgcat.Proc{
	"_pg_expandarray":             {{Name: "_pg_expandarray", Kind: 'f', Volatility: 'i', Strict: true, RetSet: true, Result: 2249, Args: []sqltype.OID{sqltype.OIDAnyArray}}},
	"_pg_char_max_length":         {{Name: "_pg_char_max_length", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_char_octet_length":       {{Name: "_pg_char_octet_length", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_numeric_precision":       {{Name: "_pg_numeric_precision", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_numeric_precision_radix": {{Name: "_pg_numeric_precision_radix", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_numeric_scale":           {{Name: "_pg_numeric_scale", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_datetime_precision":      {{Name: "_pg_datetime_precision", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_interval_type":           {{Name: "_pg_interval_type", Kind: 'f', Volatility: 'i', Strict: true, Result: sqltype.OIDText, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt4}}},
	"_pg_index_position":          {{Name: "_pg_index_position", Kind: 'f', Volatility: 's', Strict: true, Result: sqltype.OIDInt4, Args: []sqltype.OID{sqltype.OIDOid, sqltype.OIDInt2}}},
}

func addSets(add func(name string, f function, args ...int)) {
	rows := func(f func(s *Session, a []sqltype.Value, t []sqltype.Type) ([][]sqltype.Value, error)) function {
		return function{rows: f}
	}
	add("unnest", rows(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		if array, ok := a[0].(*sqltype.Array); ok {
			for _, v := range array.Values {
				out = append(out, []sqltype.Value{v})
			}
		}
		return out, nil
	}), 1)
	add("generate_series", rows(series), 2, 3)
	add("generate_subscripts", rows(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		array, dim := a[0].(*sqltype.Array), a[1].(int64)
		if dim < 1 || dim > int64(len(array.Dims)) {
			return nil, nil
		}
		low, n := int64(array.Lower[dim-1]), int64(array.Dims[dim-1])
		for i := range n {
			at := low + i
			if len(a) == 3 && a[2] == true {
				at = low + n - 1 - i
			}
			out = append(out, []sqltype.Value{at})
		}
		return out, nil
	}), 2, 3)
	expand := rows(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		for i, v := range a[0].(*sqltype.Array).Values {
			out = append(out, []sqltype.Value{v, int64(i + 1)})
		}
		return out, nil
	})
	expand.outs = []funcs.Out{{Name: "x", OID: oidAnyElement}, {Name: "n", OID: sqltype.OIDInt4}}
	add("_pg_expandarray", expand, 1)
	add("pg_get_keywords", rows(func(*Session, []sqltype.Value, []sqltype.Type) ([][]sqltype.Value, error) {
		return builtin()["kept.pg_get_keywords"].values(), nil
	}), 0)
	add("pg_show_all_settings", rows(allSettings), 0)
	split := rows(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		if a[1] == "" {
			return [][]sqltype.Value{{a[0]}}, nil
		}
		for part := range strings.SplitSeq(a[0].(string), a[1].(string)) {
			out = append(out, []sqltype.Value{part})
		}
		return out, nil
	})
	add("string_to_table", split, 2)
	add("string_to_array", function{onNull: true, eval: func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		text, ok := a[0].(string)
		by, split := a[1].(string)
		var list []sqltype.Value
		switch {
		case !ok:
			return nil, nil
		case text == "":
		case !split:
			for _, c := range text {
				list = append(list, string(c))
			}
		case by == "":
			list = []sqltype.Value{text}
		default:
			for part := range strings.SplitSeq(text, by) {
				list = append(list, part)
			}
		}
		return listOf(sqltype.OIDText, list), nil
	}}, 2)
	add("array_to_string", function{onNull: true, eval: func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		array, ok := a[0].(*sqltype.Array)
		by, given := a[1].(string)
		if !ok || !given {
			return nil, nil
		}
		elem, _ := t[0].Elem()
		var parts []string
		for _, v := range array.Values {
			if v == nil {
				if len(a) < 3 || a[2] == nil {
					continue
				}
				v, elem := a[2], sqltype.Text
				parts = append(parts, sqltype.FormatText(v, elem))
				continue
			}
			text, err := s.text(v, elem)
			if err != nil {
				return nil, err
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, by), nil
	}}, 2, 3)
	add("concat", function{onNull: true, eval: func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		return s.concat("", a, t)
	}}, anyNumber)
	add("concat_ws", function{onNull: true, eval: func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		by, ok := a[0].(string)
		if !ok {
			return nil, nil
		}
		return s.concat(by, a[1:], t[1:])
	}}, anyNumber)
	add("array_position", function{onNull: true, eval: arrayPosition}, 2, 3)
	add("array_remove", function{onNull: true, eval: func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		array, ok := a[0].(*sqltype.Array)
		if !ok {
			return nil, nil
		}
		var kept []sqltype.Value
		for _, v := range array.Values {
			if string(sqltype.AppendKey(nil, v)) != string(sqltype.AppendKey(nil, a[1])) {
				kept = append(kept, v)
			}
		}
		return listOf(array.Elem, kept), nil
	}}, 2)
	add("_pg_char_max_length", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		t, mod := a[0].(int64), a[1].(int64)
		switch {
		case mod == -1:
			return nil, nil
		case t == int64(sqltype.OIDBPChar), t == int64(sqltype.OIDVarchar):
			return mod - 4, nil
		case t == 1560, t == 1562:
			return mod, nil
		}
		return nil, nil
	}), 2)
	add("_pg_char_octet_length", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		t, mod := a[0].(int64), a[1].(int64)
		switch t {
		case int64(sqltype.OIDText), int64(sqltype.OIDBPChar), int64(sqltype.OIDVarchar):
			if mod == -1 {
				return int64(1) << 30, nil
			}
			return (mod - 4) * 4, nil
		}
		return nil, nil
	}), 2)
	add("_pg_numeric_precision", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		switch sqltype.OID(a[0].(int64)) { //nolint:gosec // G115: an OID
		case sqltype.OIDInt2:
			return int64(16), nil
		case sqltype.OIDInt4:
			return int64(32), nil
		case sqltype.OIDInt8:
			return int64(64), nil
		case sqltype.OIDFloat4:
			return int64(24), nil
		case sqltype.OIDFloat8:
			return int64(53), nil
		case sqltype.OIDNumeric:
			if mod := a[1].(int64); mod != -1 {
				return (mod - 4) >> 16 & 0xffff, nil
			}
		}
		return nil, nil
	}), 2)
	add("_pg_numeric_precision_radix", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		switch t := (sqltype.Type{OID: sqltype.OID(a[0].(int64))}); { //nolint:gosec // G115: an OID
		case t.IsInteger(), t.IsFloat():
			return int64(2), nil
		case t.OID == sqltype.OIDNumeric:
			return int64(10), nil
		}
		return nil, nil
	}), 2)
	add("_pg_numeric_scale", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		switch t := (sqltype.Type{OID: sqltype.OID(a[0].(int64))}); { //nolint:gosec // G115: an OID
		case t.IsInteger():
			return int64(0), nil
		case t.OID == sqltype.OIDNumeric:
			if mod := a[1].(int64); mod != -1 {
				return (mod - 4) & 0xffff, nil
			}
		}
		return nil, nil
	}), 2)
	add("_pg_datetime_precision", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		mod := a[1].(int64)
		switch sqltype.OID(a[0].(int64)) { //nolint:gosec // G115: an OID
		case sqltype.OIDDate:
			return int64(0), nil
		case sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			if mod < 0 {
				return int64(6), nil
			}
			return mod, nil
		case sqltype.OIDInterval:
			if mod < 0 || mod&0xffff == 0xffff {
				return int64(6), nil
			}
			return mod & 0xffff, nil
		}
		return nil, nil
	}), 2)
	add("_pg_interval_type", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		t := sqltype.Type{OID: sqltype.OID(a[0].(int64)), Typmod: int32(a[1].(int64))} //nolint:gosec // G115: an OID and a modifier
		if f, ok := t.IntervalFields(); ok {
			return strings.ToUpper(f.String()), nil
		}
		return nil, nil
	}), 2)
	add("_pg_index_position", strict(func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
		r := builtin()[pgCatalog+".pg_index"]
		for _, row := range s.rowsOf("pg_index") {
			if row[r.place("indexrelid")] != a[0] {
				continue
			}
			for i, v := range row[r.place("indkey")].(*sqltype.Array).Values {
				if v == a[1] {
					return int64(i + 1), nil
				}
			}
		}
		return nil, nil
	}), 2)
}

// series is generate_series of integers.
func series(_ *Session, a []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
	from, okFrom := a[0].(int64)
	to, okTo := a[1].(int64)
	step := int64(1)
	if len(a) == 3 {
		step, _ = a[2].(int64)
	}
	switch {
	case !okFrom || !okTo:
		return nil, sqlerr.New(sqlerr.UnsupportedFunction, "generate_series of these types is not supported")
	case step == 0:
		return nil, sqlerr.New(sqlerr.InvalidParam, "step size cannot equal zero")
	}
	const most = 1 << 20
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		if len(out) == most {
			return nil, sqlerr.New(sqlerr.TooComplex, "generate_series gives at most %d rows here", most)
		}
		out = append(out, []sqltype.Value{n})
		if step > 0 && n > n+step || step < 0 && n < n+step {
			break
		}
	}
	return out, nil
}

// allSettings are pg_show_all_settings' rows.
func allSettings(s *Session, _ []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
	if s.Parameters == nil {
		return nil, nil
	}
	for _, p := range s.Parameters.AllParameters() {
		values := sqltype.Value(nil)
		if len(p.Values) > 0 {
			list := make([]sqltype.Value, len(p.Values))
			for i, v := range p.Values {
				list[i] = v
			}
			values = listOf(sqltype.OIDText, list)
		}
		out = append(out, []sqltype.Value{p.Name, p.Value, orNull(p.Unit), p.Category, p.Description, orNull(p.Extra), p.Context, p.Kind, p.Source, orNull(p.Least), orNull(p.Most), values, p.Boot, p.Reset, nil, nil, false})
	}
	return out, nil
}

// concat are the texts of what is not NULL.
func (s *Session) concat(by string, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	var parts []string
	for i, v := range a {
		if v == nil {
			continue
		}
		text, err := s.text(v, t[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, by), nil
}

// arrayPosition is array_position: the subscript of the first value that is not distinct from the second argument.
func arrayPosition(_ *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	array, ok := a[0].(*sqltype.Array)
	if !ok || len(array.Values) == 0 {
		return nil, nil
	}
	if len(array.Dims) > 1 {
		return nil, sqlerr.New(sqlerr.Unsupported, "searching for elements in multidimensional arrays is not supported")
	}
	lower, from := int64(array.Lower[0]), int64(0)
	if len(a) == 3 {
		start, given := a[2].(int64)
		if !given {
			return nil, sqlerr.New(sqlerr.NullValue, "initial position must not be null")
		}
		from = max(start-lower, 0)
	}
	elem, _ := t[0].Elem()
	for i := from; i < int64(len(array.Values)); i++ {
		v := array.Values[i]
		if v == nil && a[1] == nil || v != nil && a[1] != nil && sqltype.CompareAs(v, a[1], elem) == 0 {
			return lower + i, nil
		}
	}
	return nil, nil
}
