package funcs

import (
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const (
	json  = sqltype.OIDJSON
	jsonb = sqltype.OIDJSONB
	texts = sqltype.OID(1009) // text[]
)

const documentsThere = "DuckDB reads documents otherwise: keys that occur twice, numbers, escapes"

// documents has what is in json and jsonb. A path that leads nowhere is NULL, as in PostgreSQL.
//
// A json is text that is read each time, and PostgreSQL raises at escapes that are no characters of a text. A document that writes \u0000 or half of a
// surrogate pair anywhere, and with these the pairs, too, is NULL.
func documents() []*Func {
	var out []*Func
	add := func(kind Kind, name string, args []sqltype.OID, result sqltype.OID, maybe bool, pg, own string) *Func {
		f := row(kind, name, args, result, maybe, forms{pg: pg, own: own, why: documentsThere})
		out = append(out, f)
		return f
	}
	for _, t := range []sqltype.OID{json, jsonb} {
		readable := func(form string) string { return form }
		if t == json {
			readable = func(form string) string {
				return "CASE WHEN CAST({x} AS text) !~ " + quoted(`\\u(0000|[dD][89a-fA-F])`) + " THEN " + form + " END"
			}
		}
		for _, op := range []string{"->", "->>"} {
			result := t
			if op == "->>" {
				result = text
			}
			for _, by := range []sqltype.OID{text, i4} {
				add(Operator, op, oids(t, by), result, true, readable("{x} "+op+" {y}"), "")
			}
			path := "#" + op[1:]
			add(Operator, path, oids(t, texts), result, true, readable("{x} "+path+" {y}"), "")
		}
		name := sqltype.Type{OID: t, Typmod: -1}.String()
		kind := name + "_typeof({x})"
		add(Function, name+"_extract_path", oids(t, texts), t, true, readable("{x} #> {y}"), name+"_extract_path({x}, VARIADIC {y})")
		add(Function, name+"_extract_path_text", oids(t, texts), text, true, readable("{x} #>> {y}"), name+"_extract_path_text({x}, VARIADIC {y})")
		add(Function, name+"_typeof", oids(t), text, false, kind, "")
		add(Function, name+"_array_length", oids(t), i4, true, "CASE WHEN "+kind+" = 'array' THEN "+name+"_array_length({x}) END", "").within(always(0, math.MaxInt32))
		add(Cast, "cast", oids(t), text, false, "CAST({x} AS text)", "CAST({x} AS text)")
		documentCasts(t, add)
	}
	add(Operator, "?", oids(jsonb, text), yes, false, "{x} ? {y}", "")
	for _, op := range []string{"?|", "?&"} {
		add(Operator, op, oids(jsonb, texts), yes, true, "CASE WHEN cardinality({y}) <= "+strconv.Itoa(MaxShort)+" THEN {x} "+op+" {y} END", "")
	}
	// Every element of one may be compared with every one of the other.
	small := func(v string) string { return "octet_length(CAST(" + v + " AS text)) <= " + strconv.Itoa(MaxShort) }
	add(Operator, "@>", oids(jsonb, jsonb), yes, true, "CASE WHEN "+small("{y}")+" THEN {x} @> {y} END", "").Short = []int{1}
	add(Operator, "<@", oids(jsonb, jsonb), yes, true, "CASE WHEN "+small("{x}")+" THEN {x} <@ {y} END", "").Short = []int{0}
	return out
}

// documentCasts are the casts of a jsonb that is one number, true or false; of others they are NULL.
func documentCasts(t sqltype.OID, add func(kind Kind, name string, args []sqltype.OID, result sqltype.OID, maybe bool, pg, own string) *Func) {
	if t != jsonb {
		return
	}
	add(Cast, "cast", oids(t), yes, true, "CASE WHEN jsonb_typeof({x}) = 'boolean' THEN CAST({x} AS boolean) END", "CAST({x} AS boolean)")
	for _, n := range append([]sqltype.OID{numeric}, append(intOIDs[:3:3], floatOIDs...)...) {
		number := "CASE WHEN jsonb_typeof({x}) = 'number' THEN CAST({x} AS numeric) END"
		f := add(Cast, "cast", oids(t), n, true, number, "CAST({x} AS numeric)")
		f.TotalForm[Postgres] = func(x []string, _ []sqltype.Type, r sqltype.Type) string {
			return pgNumberCast(pgFill(number, x), numeric, r)
		}
		f.RaisingForm[Postgres] = exactCast
		if isInt(n) {
			f.Range = func([]*num.Interval, []sqltype.Type) *num.Interval { return plainRange(n) }
		}
	}
}
