package unit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// countRows finds how many rows of one unit count (design section 5): MaxRows is where the clamp stands, so it is a matter of
// accuracy, not of (6), but for single, which leaves the clamp to the row (hasOneRowPerUnit).
//
// Claim, where each table's rows of one unit are at most its max_rows_per_unit: a unit has at most MaxRows rows in the body. By induction over
// the blocks: rows of linked scans are at most the product of the free ones' bounds, since a scan that another of
// the set determines (the parent on its path, (3)) adds no row; a left join whose padded side continues a chain has each preserved row once at
// least, so all but one of the total come from matches. Each of these rows then meets the rows of public tables that fanOut says. MaxRows is 0, and
// a unit's rows are measured in the body, where one of these numbers is not known.
func (z *Linker) countRows() error {
	z.fixPublic()
	var set []*scope.ScanInfo
	total, unmatched := uint64(1), false
	for _, b := range z.Blocks {
		before := len(set)
		for _, s := range z.Scans {
			if s.In == b && s.Private() {
				set = append(set, s)
			}
		}
		if b.Parent != nil && chains(set[:before], set) { // each row of the preserved side comes once at least
			unmatched = unmatched || total > 1
			total = relation.Add(total-1, z.Product(set, 0))
		} else {
			total = relation.Mul(total, z.Product(set, before))
		}
	}
	known := z.NoRows == nil
	if known {
		z.Out.MaxRows, z.Out.MaxWhy = total, z.rowsWhy(set)
		if unmatched {
			z.Out.MaxWhy += ", and rows of the left side without a match"
		}
		z.Single = z.hasOneRowPerUnit()
	}
	clip := z.Opts.MaxRows
	if known && (clip == 0 || clip >= total) { // a clip of no fewer rows may cut those that public tables multiply
		var err error
		if known, err = z.fanOut(); err != nil {
			return err
		}
	}
	if !known || clip > 0 && clip < z.Out.MaxRows {
		z.Out.MaxRows, z.Out.MaxWhy = clip, ""
		if z.Out.Clipped = clip > 0; clip > 0 {
			z.Out.MaxWhy = "dpsql.clip"
		}
	}
	return nil
}

// rowsWhy tells where the bound on the rows of private scans comes from.
func (z *Linker) rowsWhy(set []*scope.ScanInfo) string {
	var why []string
	for _, s := range set {
		switch t := s.Scan.Table; {
		case s.Determined(set):
		case HasUniqueUnit(t), z.isOwnUnit(s):
			why = append(why, "one row a unit in "+t.Name)
		case z.mostOf(s) > 0:
			why = append(why, fmt.Sprintf("row_number at most %d in %s", z.mostOf(s), t.Name))
		default:
			why = append(why, fmt.Sprintf("max_rows_per_unit %d of %s", t.MaxRows, t.Name))
		}
	}
	return strings.Join(why, " x ")
}

// Product is the product over the scans from `from` on whose rows are not determined by another's of the set.
func (z *Linker) Product(set []*scope.ScanInfo, from int) uint64 {
	rows := uint64(1)
	for _, s := range set[from:] {
		if s.Determined(set) {
			continue
		}
		m := s.Scan.Table.MaxRows
		if n := z.mostOf(s); n > 0 && (m == 0 || n < m) {
			m = n
		}
		switch {
		case HasUniqueUnit(s.Scan.Table), z.isOwnUnit(s):
			m = 1
		case m == 0:
			z.NoRows = s
		}
		rows = relation.Mul(rows, m)
	}
	return rows
}

// chains reports whether the larger set determines rows that the smaller one left free.
func chains(small, large []*scope.ScanInfo) bool {
	return slices.ContainsFunc(small, func(s *scope.ScanInfo) bool { return s.Determined(large) && !s.Determined(small) })
}

// fixPublic marks the public scans that are joined by a unique key to rows that are determined already, and those of one row at most: each such row meets one of
// theirs at most, so they multiply nothing. Keys of public tables are constraints of the database or of the checked files.
func (z *Linker) fixPublic() {
	for changed := true; changed; {
		changed = false
		for _, s := range z.Scans {
			if s.Private() || s.Fixed {
				continue
			}
			if s.Scan.Rows != nil && relation.HasAtMostOneRow(s.Scan.Rows) || z.isKeyDetermined(s, func(o *scope.ScanInfo) bool { return o.Private() || o.Fixed }) {
				s.Fixed, changed = true, true
			}
		}
	}
}

// isKeyDetermined reports whether all columns of one of the scan's keys equal columns of scans that are ok.
func (z *Linker) isKeyDetermined(s *scope.ScanInfo, ok func(*scope.ScanInfo) bool) bool {
	return z.keyEquals(s, func(id plan.ColID) bool {
		o := z.Owner[id]
		return o != nil && o != s && ok(o)
	})
}

func (z *Linker) keyEquals(s *scope.ScanInfo, ok func(plan.ColID) bool) bool {
	eq := z.ClassesOf(s.In)
	for _, k := range s.Scan.Table.Keys {
		all := len(k) > 0 || s.Scan.Rows != nil // of no column: a release of one row
		for _, c := range k {
			all = all && z.anyEqual(eq, s.Scan.Columns[c], ok)
		}
		if all {
			return true
		}
	}
	return false
}

func (z *Linker) anyEqual(eq scope.Classes, id plan.ColID, ok func(plan.ColID) bool) bool {
	for other := range z.Owner {
		if other != id && eq.Same(other, id) && ok(other) {
			return true
		}
	}
	return false
}

// hasOneRowPerUnit reports whether keys alone say that a unit has at most one row in the body.
//
// Proof: of (6'). Every private scan has the unit's value in a column of its own that is unique by a constraint (HasUniqueUnit, no path), or each of its rows is a unit (isOwnUnit), and all are
// linked to one unit (3), so one unit has at most one row in each of them, and one combination of these rows; every public scan is fixed (fixPublic), so
// that combination meets at most one row of each. Left joins pad a row, they do not repeat it. Hence one row a unit at most, whatever the data.
func (z *Linker) hasOneRowPerUnit() bool {
	return !slices.ContainsFunc(z.Scans, func(s *scope.ScanInfo) bool {
		return s.Private() && !z.isOwnUnit(s) && (!z.unique(s) || s.Path != nil) || !s.Private() && !s.Fixed
	})
}

// isOwnUnit reports whether each row of a scan is a unit of its own: the policy says so of rows without a person (rows_without_unit), and a condition keeps no others.
//
// Proof: of (6'). Rows for which a condition of the scan's own block does not hold are in no answer, so the one column that leads to the person is NULL in all rows that are. Where the policy names no other column, the unit of such a row is its key (U1), which is unique and never NULL.
func (z *Linker) isOwnUnit(s *scope.ScanInfo) bool {
	t := s.Scan.Table
	if len(t.OwnKey) == 0 || len(t.UnitElse) > 0 || !z.hasOwnRows(t) || s.Scan.Rows != nil || s.Nullable() {
		return false
	}
	way := t.UnitCol
	if way < 0 && t.Path != nil && len(t.Path.Columns) == 1 {
		way = t.Path.Columns[0]
	}
	return way >= 0 && slices.ContainsFunc(s.In.Conds, func(c plan.Scalar) bool {
		is, ok := c.(*plan.Is)
		if !ok || is.What != "NULL" || is.Not {
			return false
		}
		col, ok := is.X.(*plan.Col)
		return ok && z.Base(col.ID) == s.Scan.Columns[way]
	})
}

// mostOf is how many rows of one unit the conditions on a row_number of its rows leave; 0 where they say nothing.
//
// Proof: row_number counts the rows of a partition, which are all of a unit's, from 1, and each row that is present meets the conditions.
func (z *Linker) mostOf(s *scope.ScanInfo) uint64 {
	least := uint64(0)
	for _, id := range z.numbered[s.Scan] {
		hi := z.Narrowed(id).Hi
		if hi == nil || hi.GreaterThan(decimal.NewFromInt(dp.MaxSensitivity)) {
			continue
		}
		if n := uint64(max(1, hi.IntPart())); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// unique reports that a unit has one row of the scan at most: by a key, or by a condition on a row_number.
func (z *Linker) unique(s *scope.ScanInfo) bool {
	return HasUniqueUnit(s.Scan.Table) || z.mostOf(s) == 1
}
