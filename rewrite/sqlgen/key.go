package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity"
)

// canonicalKey prints a key so that equal keys are spelled alike: otherwise the spelling would show which row came first. Numerics
// lose trailing zeros unless their type fixes the scale, and what is no finite number is NULL; -0 is 0, there is one NaN, text
// compares by bytes, char without a length loses its trailing blanks (char(n) always has them). A value without a canonical form is NULL. Types
// whose equal values can be spelled differently otherwise are refused.
func (p *printer) canonicalKey(x string, t sqltype.Type) string {
	if !t.IsGroupable() {
		return p.fail(sqlerr.New(sqlerr.Unsupported, "private rows cannot be grouped or told apart by values of type %s", t).
			WithHint("Use what is computed from the value, such as a field of it."))
	}
	return p.or(p.d.CanonicalKey(x, t))
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
	return p.d.Hash(append([]string{unit}, keys...), append([]sqltype.Type{ut}, types...), seed)
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
	c := s.Table.Columns[s.Columns[0]]
	k := s.Keys[0]
	in := fmt.Sprintf("%s IN (SELECT %s FROM %s AS %s)", keys[k], p.canonicalKey(alias+"."+quote(c.Name), c.Type), tableName(s.Table), alias)
	for _, t := range s.Tuples {
		if t[0] == nil {
			return either(in, keys[k]+" IS NULL")
		}
	}
	return in
}
