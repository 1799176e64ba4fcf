package pgmeta

import (
	"encoding/json"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Functions that make JSON, as PostgreSQL spaces it.

func addJSON(add func(name string, f function, args ...int)) {
	text := func(f func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error)) evaluator {
		return func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
			out, err := f(s, a, t)
			return sqltype.JSON(out), err
		}
	}
	binary := func(f func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error)) evaluator {
		return func(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
			out, err := f(s, a, t)
			if err != nil {
				return nil, err
			}
			return sqltype.ParseText(out, sqltype.JSONBType)
		}
	}
	one := func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error) { return s.jsonOf(a[0], t[0]) }
	object := func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error) {
		if len(a)%2 != 0 {
			return "", sqlerr.New(sqlerr.InvalidParam, "argument list must have even number of elements").WithHint("The arguments of %s must consist of alternating keys and values.", "json_build_object()")
		}
		return s.jsonPairs(a, t, " : ", ", ")
	}
	list := func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error) {
		parts := make([]string, len(a))
		for i := range a {
			var err error
			if parts[i], err = s.jsonOf(a[i], t[i]); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	row := func(s *Session, a []sqltype.Value, t []sqltype.Type) (string, error) {
		for i := 1; i < len(a); i += 2 {
			if a[i] != nil {
				return s.jsonPairs(a, t, ":", ",")
			}
		}
		// PostgreSQL knows a row of an outer join that is not there from one of which all is NULL.
		return "", sqlerr.New(sqlerr.Unsupported, "a row of which every column is NULL is not supported as a value").WithHint("Name its columns.")
	}
	add("to_json", strict(text(one)), 1)
	add("to_jsonb", strict(binary(one)), 1)
	add("json_build_object", function{onNull: true, eval: text(object)}, anyNumber)
	add("jsonb_build_object", function{onNull: true, eval: binary(object)}, anyNumber)
	add("json_build_array", function{onNull: true, eval: text(list)}, anyNumber)
	add("jsonb_build_array", function{onNull: true, eval: binary(list)}, anyNumber)
	add("row_to_json", function{onNull: true, eval: text(row)}, anyNumber)
}

// jsonPairs are names and values in turns.
func (s *Session) jsonPairs(a []sqltype.Value, t []sqltype.Type, is, between string) (string, error) {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; i < len(a); i += 2 {
		if a[i] == nil {
			return "", sqlerr.New(sqlerr.NullValue, "argument %d cannot be null", i+1)
		}
		name, err := s.text(a[i], t[i])
		if err != nil {
			return "", err
		}
		value, err := s.jsonOf(a[i+1], t[i+1])
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(quoteJSON(name) + is + value)
	}
	return b.String() + "}", nil
}

// jsonOf is to_json.
func (s *Session) jsonOf(v sqltype.Value, t sqltype.Type) (string, error) {
	if v == nil {
		return "null", nil
	}
	if array, ok := v.(*sqltype.Array); ok {
		elem, is := t.Elem()
		if !is || len(array.Dims) > 1 {
			return "", sqlerr.New(sqlerr.Unsupported, "JSON of an array of type %s is not supported", t)
		}
		parts := make([]string, len(array.Values))
		for i, e := range array.Values {
			var err error
			if parts[i], err = s.jsonOf(e, elem); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	}
	text, err := s.text(v, t)
	switch {
	case err != nil:
		return "", err
	case t.OID == sqltype.OIDBool:
		return map[bool]string{true: "true", false: "false"}[v == true], nil
	case t.OID == sqltype.OIDJSON, t.OID == sqltype.OIDJSONB, t.IsNumber() && !strings.ContainsAny(text, "Nn"): // NaN and infinities are texts
		return text, nil
	case t.OID == sqltype.OIDDate, t.OID == sqltype.OIDTimestamp, t.OID == sqltype.OIDTimestamptz:
		return "", sqlerr.New(sqlerr.Unsupported, "JSON of type %s is not supported", t).WithHint("Cast it to text.")
	}
	return quoteJSON(text), nil
}

// quoteJSON is a string as PostgreSQL writes it: what need not be escaped is not.
func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string never fails
	return lineSeparators.Replace(strings.TrimSuffix(b.String(), "\n"))
}

var lineSeparators = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")
