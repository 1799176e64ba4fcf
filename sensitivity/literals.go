package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// literalSource is a source whose values are those of VALUES, or of generate_series, and of what is computed from them.
type literalSource struct {
	at   int               // in Groups.Sources
	rows [][]sqltype.Value // VALUES' rows, by the scan's columns
	keys [][]sqltype.Value // beside rows: the values of the source's keys
}

// addLiterals takes key i, which is computed from one column of a scan of constants; false if its values are not known.
//
// Proof: of (8) and of what Fixed says.
// (a) The tuples follow from the statement's constants (literalRows), from its conditions on them (keptLiterals) and from functions that have one result everywhere (isBackendIndependent). No private row has a part in them.
// (b) Each row of the body has one of the scan's rows, or, where it is padded, none; so its keys are one of the tuples. keptLiterals leaves out only rows for which a condition of every row of the body is not true.
// (c) Nothing rests on (b) where a unit's groups are counted: there the print filters rows to the tuples (sqlgen, domainFilters).
func (z *grouper) addLiterals(i int, s *scanInfo, id plan.ColID, x plan.Scalar) bool {
	src, known := z.literals[s]
	if !known {
		rows, ok := z.literalRows(s.scan.Rows)
		if !ok || uint64(len(rows)) > min(z.opts.MaxPublicGroups, maxTuples) {
			return false
		}
		src = &literalSource{at: -1, rows: z.keptLiterals(s, rows)}
		if s.nullable() {
			src.rows = append(src.rows, make([]sqltype.Value, len(s.scan.Columns)))
		}
		src.keys = make([][]sqltype.Value, len(src.rows))
		z.literals[s] = src
	}
	at := slices.Index(s.scan.Columns, id)
	f, err := z.function(x, id)
	list := make([]sqltype.Value, len(src.rows))
	for k, row := range src.rows {
		list[k] = row[at]
	}
	if err != nil || !z.isBackendIndependent(x, map[plan.ColID]bool{}) || !isSameOnBackends(list, x, z.typeOf(id)) || z.hasComputedFloat(x, map[plan.ColID]bool{}) && plainColumn(x) == 0 {
		return false
	}
	for k, v := range list {
		if list[k], err = f(v); err != nil { // the total form is NULL where PostgreSQL raises
			list[k] = nil
		}
		if list[k] != nil {
			list[k] = literal(list[k], z.out.Keys[i].Type)
		}
	}
	if src.at < 0 {
		src.at = len(z.out.Groups.Sources)
		z.out.Groups.Sources = append(z.out.Groups.Sources, Source{Why: "rows of VALUES", Fixed: true})
	}
	out := &z.out.Groups.Sources[src.at]
	out.Keys, out.Tuples = append(out.Keys, i), nil
	seen := map[string]bool{}
	for k := range src.keys {
		src.keys[k] = append(src.keys[k], list[k])
		if text := tupleText(src.keys[k]); !seen[text] {
			seen[text] = true
			out.Tuples = append(out.Tuples, slices.Clone(src.keys[k]))
		}
	}
	return true
}

// keptLiterals are the rows that the statement's conditions keep, as far as each is about one of their columns. ON of a public table LEFT JOIN a private one keeps all, though such a join is read as an inner one.
func (z *grouper) keptLiterals(s *scanInfo, rows [][]sqltype.Value) [][]sqltype.Value {
	if s.in.parent != nil {
		return rows
	}
	type checked struct {
		at int
		f  func(sqltype.Value) (sqltype.Value, error)
		x  plan.Scalar
	}
	var checks []checked
	nodes := 0
	for _, c := range z.onGroups(s.in.conds) {
		only := plan.ColID(0)
		ok := z.isBackendIndependent(c, map[plan.ColID]bool{}) && !z.hasComputedFloat(c, map[plan.ColID]bool{})
		z.leaves(c, func(id plan.ColID) {
			ok = ok && (only == 0 || only == id)
			only = id
		})
		at := slices.Index(s.scan.Columns, only)
		if !ok || at < 0 {
			continue
		}
		if f, err := z.function(c, only); err == nil {
			checks, nodes = append(checks, checked{at, f, c}), nodes+relation.Size(c)
		}
	}
	if nodes*len(rows) > mostChecked {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row []sqltype.Value) bool {
		return slices.ContainsFunc(checks, func(c checked) bool {
			is, err := c.f(row[c.at])
			return isSameOnBackends([]sqltype.Value{row[c.at]}, c.x, z.typeOf(s.scan.Columns[c.at])) && err == nil && is != true
		})
	})
}

// onlyLiteral is the one column of a scan of constants that an expression is computed from.
func (z *grouper) onlyLiteral(x plan.Scalar) (s *scanInfo, only plan.ColID) {
	ok := true
	z.leaves(x, func(id plan.ColID) {
		of := z.owner[id]
		ok = ok && of != nil && !of.private() && of.scan.Rows != nil && (only == 0 || only == id)
		s, only = of, id
	})
	if !ok || only == 0 {
		return nil, 0
	}
	return s, only
}
