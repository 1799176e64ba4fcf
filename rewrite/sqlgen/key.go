package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// canonicalKey prints a key so that equal keys are spelled alike: otherwise the spelling would show which row came first. Numerics
// lose trailing zeros unless their type fixes the scale, and what is no finite number is NULL; -0 is 0, there is one NaN, text
// compares by bytes, char without a length loses its trailing blanks (char(n) always has them). On DuckDB a time of 24:00 is NULL. Types
// whose equal values can be spelled differently otherwise are refused.
func (p *printer) canonicalKey(x string, t sqltype.Type) string {
	_, _, scaled := t.NumericMod()
	pg := p.d == funcs.Postgres
	switch {
	case !t.IsGroupable():
		return p.fail(sqlerr.New(sqlerr.Unsupported, "private rows cannot be grouped or told apart by values of type %s", t).
			WithHint("Use what is computed from the value, such as a field of it."))
	case t.OID == sqltype.OIDTime && !pg: // its driver reads 24:00 as 00:00
		return fmt.Sprintf("(CASE WHEN %s < CAST('24:00:00' AS TIME) THEN %s END)", x, x)
	case t.OID == sqltype.OIDNumeric && pg:
		y := x
		if !scaled {
			y = "pg_catalog.trim_scale(" + x + ")"
		}
		return fmt.Sprintf("(CASE WHEN %s - %s = 0 THEN %s END)", x, x, y) // NaN and infinities differ from themselves so
	case t.OID == sqltype.OIDFloat4 && pg:
		return "(" + x + " + CAST(0 AS pg_catalog.float4))"
	case t.OID == sqltype.OIDFloat8 && pg:
		return "(" + x + " + CAST(0 AS pg_catalog.float8))"
	case t.IsFloat():
		n, err := p.typeName(t, nil)
		if err != nil {
			return p.fail(err)
		}
		return fmt.Sprintf("(CASE WHEN isnan(%s) THEN CAST('NaN' AS %s) ELSE %s + CAST(0 AS %s) END)", x, n, x, n)
	case t.OID == sqltype.OIDBPChar && t.Typmod <= 4:
		if pg {
			return "CAST(" + x + ` AS pg_catalog.text) COLLATE pg_catalog."C"`
		}
		return "rtrim(" + x + ", ' ')"
	case t.OID == sqltype.OIDUnknown && pg:
		return "CAST(" + x + ` AS pg_catalog.text) COLLATE pg_catalog."C"`
	}
	return p.binary(x, t)
}

// keyType is the type of canonicalKey's result.
func keyType(t sqltype.Type) sqltype.Type {
	if t.OID == sqltype.OIDBPChar && t.Typmod <= 4 || t.OID == sqltype.OIDUnknown {
		return sqltype.Text
	}
	return t
}

// hash prints a 64-bit hash of unit, keys and seed: the order in which a unit's groups are kept. It cannot raise, and it depends
// on nothing but its arguments. Ties are the caller's to break.
func (p *printer) hash(unit string, ut sqltype.Type, keys []string, types []sqltype.Type, seed int64) string {
	if p.d == funcs.DuckDB {
		return fmt.Sprintf("hash(%s)", strings.Join(append(append([]string{unit}, keys...), fmt.Sprint(seed)), ", "))
	}
	h := pgHash(unit, ut, fmt.Sprintf("(%d)", seed))
	for i, k := range keys {
		h = pgHash(k, types[i], h)
	}
	return h
}

// pgHash is the type's own extended hash; values of other types are hashed by their text. NULL hashes as 0 or ” does.
func pgHash(x string, t sqltype.Type, seed string) string {
	switch {
	case t.IsInteger():
		return fmt.Sprintf("pg_catalog.hashint8extended(COALESCE(CAST(%s AS pg_catalog.int8), 0), %s)", x, seed)
	case t.IsFloat():
		return fmt.Sprintf("pg_catalog.hashfloat8extended(COALESCE(CAST(%s AS pg_catalog.float8), 0), %s)", x, seed)
	case t.OID == sqltype.OIDNumeric:
		return fmt.Sprintf("pg_catalog.hash_numeric_extended(COALESCE(%s, 0), %s)", x, seed)
	}
	return fmt.Sprintf(`pg_catalog.hashtextextended(COALESCE(CAST(%s AS pg_catalog.text), '') COLLATE pg_catalog."C", %s)`, x, seed)
}

// domainFilters keeps the rows whose keys are in their public domains. It must where the groups of a unit are counted by the
// domain and nothing else bounds them (sensitivity.Source); elsewhere it saves slots of the cap and traffic.
func (p *printer) domainFilters(a *sensitivity.Analysis, keys []string) []string {
	var out []string
	for _, s := range a.Groups.Sources {
		must := s.Counts && !a.Limit.Capped
		switch {
		case s.Fixed && !must: // nothing rests on the list
		case must || s.Table == nil:
			out = append(out, p.inTuples(a, s, keys))
		case s.Joined:
		default:
			out = append(out, p.inTable(a, s, keys))
		}
	}
	return out
}

// inTuples: the keys are one of the tuples.
func (p *printer) inTuples(a *sensitivity.Analysis, s sensitivity.Source, keys []string) string {
	if len(s.Keys) == 1 {
		var vals []string
		null := ""
		for _, t := range s.Tuples {
			if t[0] == nil {
				null = keys[s.Keys[0]] + " IS NULL"
				continue
			}
			vals = append(vals, p.constant(t[0], keyType(a.Keys[s.Keys[0]].Type)))
		}
		return either(inList(keys[s.Keys[0]], vals), null)
	}
	var any []string
	for _, t := range s.Tuples {
		var all []string
		for i, v := range t {
			k := s.Keys[i]
			if v == nil {
				all = append(all, keys[k]+" IS NULL")
			} else {
				all = append(all, keys[k]+" = "+p.constant(v, keyType(a.Keys[k].Type)))
			}
		}
		any = append(any, "("+strings.Join(all, " AND ")+")")
	}
	return either(any...)
}

func inList(x string, vals []string) string {
	if len(vals) == 0 {
		return ""
	}
	return fmt.Sprintf("%s IN (%s)", x, strings.Join(vals, ", "))
}

func either(conds ...string) string {
	var some []string
	for _, c := range conds {
		if c != "" {
			some = append(some, c)
		}
	}
	switch len(some) {
	case 0:
		return "FALSE"
	case 1:
		return some[0]
	}
	return "(" + strings.Join(some, " OR ") + ")"
}

// inTable: the key is a value of the public table's column.
func (p *printer) inTable(a *sensitivity.Analysis, s sensitivity.Source, keys []string) string {
	alias := p.alias()
	name := quote(s.Table.Name)
	if s.Table.Schema != "" {
		name = quote(s.Table.Schema) + "." + name
	}
	c := s.Table.Columns[s.Columns[0]]
	k := s.Keys[0]
	in := fmt.Sprintf("%s IN (SELECT %s FROM %s AS %s)", keys[k], p.canonicalKey(alias+"."+quote(c.Name), c.Type), name, alias)
	for _, t := range s.Tuples {
		if t[0] == nil {
			return either(in, keys[k]+" IS NULL")
		}
	}
	return in
}
