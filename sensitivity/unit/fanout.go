package unit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// scanMultiplicity is how many rows of a public scan one row of the rest of the statement meets at most.
type scanMultiplicity struct {
	sensitivity.Multiplicity
	scan *scope.ScanInfo
}

// fanOut multiplies the bound on one unit's rows by the rows of public tables that each of them meets. It returns false where that number is not known: then a unit's rows are measured.
//
// Proof: claim: if the public relations are as they were read, one combination of private rows is in at most `most` rows of one group of the body. By induction over the order in which scans are taken: a row of what is taken before meets, of the next scan, only rows that agree with it
// in columns that equal columns of taken scans in every row (ClassesOf), so that they are not NULL, that meet the conditions on the scan alone, and that have the group's values in columns that are grouped by. Those are at most Most (plan.FrequencyReader). A left join pads where there is no such row, and Most is at least 1.
// Nothing private is read: (1) the relation is of public tables, as the catalog has them. (2) Its text holds no parameter, no released row and no row around it. So the number is a function of the statement, the policy and public data.
// No sensitivity rests on it: it says where the clamp (6) stands, so a table that has more rows when it is read costs accuracy alone. The engine reads the number again in the statement's snapshot (Analysis.Multiplicities).
func (z *Linker) fanOut() (known bool, err error) {
	taken := map[*scope.ScanInfo]bool{}
	determined := func(o *scope.ScanInfo) bool { return o.Private() || o.Fixed || taken[o] }
	for {
		var next *scanMultiplicity
		for _, s := range z.Scans {
			if determined(s) {
				continue
			}
			m, err := z.multiplicity(s, determined)
			if err != nil {
				return false, err
			}
			if next == nil || m.before(next) {
				next = m
			}
		}
		switch {
		case next == nil:
			return true, nil
		case next.Most == 0:
			return false, nil
		}
		taken[next.scan] = true
		if next.Most > 1 {
			z.Out.MaxRows = relation.Mul(z.Out.MaxRows, next.Most)
			z.Out.MaxWhy += " x " + z.multiplicityWhy(next)
			z.fanned = next.scan
		}
		if next.Of != nil {
			z.Out.Multiplicities = append(z.Out.Multiplicities, next.Multiplicity)
		}
	}
}

// before says that a scan is taken before another one: a known number before an unknown one, then the less.
func (m *scanMultiplicity) before(o *scanMultiplicity) bool {
	return m.Most > 0 && (o.Most == 0 || m.Most < o.Most)
}

// multiplicity is a public scan's, beside the scans that are determined. Most is 0 where it is not known.
func (z *Linker) multiplicity(s *scope.ScanInfo, determined func(*scope.ScanInfo) bool) (*scanMultiplicity, error) {
	m := &scanMultiplicity{scan: s}
	if z.isKeyDetermined(s, determined) {
		m.Most = 1
		return m, nil
	}
	eq := z.ClassesOf(s.In)
	equal := func(id plan.ColID) bool {
		return z.anyEqual(eq, id, func(o plan.ColID) bool { return z.Owner[o] != s && determined(z.Owner[o]) })
	}
	reader, ok := z.Opts.Public.(plan.FrequencyReader)
	if !ok || s.Scan.Table.Whole != nil || !isPublic(s.Scan) {
		m.Most = rowsByForm(s.Scan.Rows)
		if r, ok := s.Scan.Rows.(*plan.Released); ok && len(r.Key) > 0 && !slices.ContainsFunc(r.Key, func(id plan.ColID) bool { return !equal(id) }) {
			m.Most = 1
		}
		return m, nil
	}
	conds := z.ownConditions(s)
	for _, id := range s.Scan.Columns {
		equal := equal(id)
		if equal {
			conds = append(conds, relation.IsNotNull(id, z.TypeOf(id)))
		}
		if equal || slices.ContainsFunc(z.Out.Agg.Keys, func(k plan.ColID) bool { return z.Base(k) == id }) {
			m.By = append(m.By, id)
		}
	}
	m.Of = relation.Filter(s.Scan, conds)
	n, err := reader.MostOften(z.Ctx, m.Of, m.By)
	m.Most = max(1, n)
	return m, err
}

// ownConditions are conditions on a public scan's rows alone.
func (z *Linker) ownConditions(s *scope.ScanInfo) (conds []plan.Scalar) {
	for _, x := range s.In.Conds {
		own := true
		plan.VisitCols(x, func(c *plan.Col) { own = own && slices.Contains(s.Scan.Columns, c.ID) })
		if own && relation.IsConstant(x) {
			conds = append(conds, x)
		}
	}
	return conds
}

// isPublic reports whether a relation's rows follow from public tables and its own text (1), (2).
func isPublic(r plan.Rel) bool {
	return len(plan.Free(r)) == 0 && plan.VisitRels(r, func(n plan.Rel) bool {
		switch n := n.(type) {
		case *plan.Released: // (2) no released row
			return false
		case *plan.Scan: // (1) of public tables alone
			if !n.Table.Public || n.Table.Whole != nil {
				return false
			}
		}
		return !slices.ContainsFunc(plan.Scalars(n), func(x plan.Scalar) bool { return !relation.IsConstant(x) })
	})
}

// rowsByForm is how many rows a derived relation has at most by its form; 0 where that says nothing.
func rowsByForm(r plan.Rel) uint64 {
	switch n := r.(type) {
	case *plan.Values:
		return max(1, uint64(len(n.Rows)))
	case *plan.Filter:
		return rowsByForm(n.Input)
	case *plan.Project:
		return rowsByForm(n.Input)
	case *plan.Distinct:
		return rowsByForm(n.Input)
	}
	if r == nil {
		return 0
	}
	return relation.MostRows(r)
}

// multiplicityWhy tells of it in EXPLAIN.
func (z *Linker) multiplicityWhy(m *scanMultiplicity) string {
	if len(m.By) == 0 {
		return fmt.Sprintf("%d rows of %s, joined by no equality", m.Most, m.scan.Name())
	}
	names := make([]string, len(m.By))
	for i, id := range m.By {
		names[i] = m.scan.Scan.Table.Columns[slices.Index(m.scan.Scan.Columns, id)].Name
	}
	return fmt.Sprintf("%d rows of %s with one value of %s", m.Most, m.scan.Name(), strings.Join(names, " and "))
}

// TooWide refuses a bound that no mechanism takes.
func (z *Linker) TooWide() *sqlerr.Error {
	if z.fanned == nil || z.Out.MaxRows <= dp.MaxSensitivity {
		return interval.TooWide()
	}
	return sqlerr.New(sqlerr.NoiseTooLarge, "joined with %s, one person may have more rows than noise can be drawn for", z.fanned.Name()).At(z.fanned.Scan.Pos).
		WithHint("Join %s by its key; or SET dpsql.clip = 10, which counts so many rows of each person.", z.fanned.Name())
}
