package groups

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
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
// (a) The tuples follow from the statement's constants (LiteralRows), from its conditions on them (keptLiterals) and from functions that have one result everywhere (IsBackendIndependent). No private row has a part in them.
// (b) Each row of the body has one of the scan's rows, or, where it is padded, none; so its keys are one of the tuples. keptLiterals leaves out only rows for which a condition of every row of the body is not true.
// (c) Nothing rests on (b) where a unit's groups are counted: there the print filters rows to the tuples (sqlgen, domainFilters).
func (z *Grouper) addLiterals(i int, s *scope.ScanInfo, id plan.ColID, x plan.Scalar) bool {
	src, known := z.literals[s]
	if !known {
		rows, ok := z.LiteralRows(s.Scan.Rows)
		if !ok || uint64(len(rows)) > min(z.Opts.MaxPublicGroups, maxTuples) {
			return false
		}
		src = &literalSource{at: -1, rows: z.keptLiterals(s, rows)}
		if s.Nullable() {
			src.rows = append(src.rows, make([]sqltype.Value, len(s.Scan.Columns)))
		}
		src.keys = make([][]sqltype.Value, len(src.rows))
		z.literals[s] = src
	}
	at := slices.Index(s.Scan.Columns, id)
	f, err := z.Function(x, id)
	list := make([]sqltype.Value, len(src.rows))
	for k, row := range src.rows {
		list[k] = row[at]
	}
	if err != nil || !z.IsBackendIndependent(x, map[plan.ColID]bool{}) || !interval.IsSameOnBackends(list, x, z.TypeOf(id)) || z.HasComputedFloat(x, map[plan.ColID]bool{}) && scope.PlainColumn(x) == 0 {
		return false
	}
	for k, v := range list {
		if list[k], err = f(v); err != nil { // the total form is NULL where PostgreSQL raises
			list[k] = nil
		}
		if list[k] != nil {
			list[k] = Literal(list[k], z.Out.Keys[i].Type)
		}
	}
	if src.at < 0 {
		src.at = len(z.Out.Groups.Sources)
		z.Out.Groups.Sources = append(z.Out.Groups.Sources, sensitivity.Source{Why: "rows of VALUES", Fixed: true})
	}
	out := &z.Out.Groups.Sources[src.at]
	out.Keys, out.Tuples = append(out.Keys, i), nil
	seen := map[string]bool{}
	for k := range src.keys {
		src.keys[k] = append(src.keys[k], list[k])
		if text := TupleText(src.keys[k]); !seen[text] {
			seen[text] = true
			out.Tuples = append(out.Tuples, slices.Clone(src.keys[k]))
		}
	}
	return true
}

// keptLiterals are the rows that the statement's conditions keep, as far as each is about one of their columns. ON of a public table LEFT JOIN a private one keeps all, though such a join is read as an inner one.
func (z *Grouper) keptLiterals(s *scope.ScanInfo, rows [][]sqltype.Value) [][]sqltype.Value {
	if s.In.Parent != nil {
		return rows
	}
	type checked struct {
		at int
		f  func(sqltype.Value) (sqltype.Value, error)
		x  plan.Scalar
	}
	var checks []checked
	nodes := 0
	for _, c := range z.onGroups(s.In.Conds) {
		only := plan.ColID(0)
		ok := z.IsBackendIndependent(c, map[plan.ColID]bool{}) && !z.HasComputedFloat(c, map[plan.ColID]bool{})
		z.Leaves(c, func(id plan.ColID) {
			ok = ok && (only == 0 || only == id)
			only = id
		})
		at := slices.Index(s.Scan.Columns, only)
		if !ok || at < 0 {
			continue
		}
		if f, err := z.Function(c, only); err == nil {
			checks, nodes = append(checks, checked{at, f, c}), nodes+relation.Size(c)
		}
	}
	if nodes*len(rows) > interval.MostChecked {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row []sqltype.Value) bool {
		return slices.ContainsFunc(checks, func(c checked) bool {
			is, err := c.f(row[c.at])
			return interval.IsSameOnBackends([]sqltype.Value{row[c.at]}, c.x, z.TypeOf(s.Scan.Columns[c.at])) && err == nil && is != true
		})
	})
}

// onlyLiteral is the one column of a scan of constants that an expression is computed from.
func (z *Grouper) onlyLiteral(x plan.Scalar) (s *scope.ScanInfo, only plan.ColID) {
	ok := true
	z.Leaves(x, func(id plan.ColID) {
		of := z.Owner[id]
		ok = ok && of != nil && !of.Private() && of.Scan.Rows != nil && (only == 0 || only == id)
		s, only = of, id
	})
	if !ok || only == 0 {
		return nil, 0
	}
	return s, only
}
