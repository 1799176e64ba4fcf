package unit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// missing is what a statement lacks for its rows to be one unit's each: conditions, and tables that lead to the unit.
type missing struct {
	first  *sqlerr.Error // of the first two scans that nothing joins
	tables []string      // with their conditions
	conds  []string
	unsaid bool   // of some the analyst sees no way
	on     bool   // a join that lacks one has another condition
	apart  string // what to do where each of two rows is a person, and no condition makes them one
}

// add notes what joins two scans on the unit; j is the join that brings them together.
func (m *missing) add(s, p *scope.ScanInfo, j *plan.Join) {
	m.on = m.on || j != nil && j.On != nil
	if m.first == nil {
		pos := s.Scan.Pos
		if j != nil {
			pos = j.Pos
		}
		m.first = sqlerr.New(sqlerr.JoinOffUnit, "%s and %s are not joined on the privacy unit: a row could belong to two of them", s.Name(), p.Name()).At(pos)
	}
	if s.Name() == p.Name() { // of two subqueries: no condition tells them apart
		m.unsaid = true
		return
	}
	if j != nil && j.On != nil && isOneRowEach(s) && s.Scan.Table == p.Scan.Table { // on the unit each row meets itself
		m.apart = fmt.Sprintf("A row of %s is a person, and a join of two rows reads two people. Ask of one row", s.Scan.Table.Spelled())
		if column := linkColumn(j.On, s, p); column != "" {
			m.apart += ", as with WHERE " + column + " IS NOT NULL"
		}
	}
	for _, pair := range [][2]*scope.ScanInfo{{s, p}, {p, s}} {
		if cond := pathCondition(pair[0], pair[1]); cond != "" {
			m.lack(nil, []string{cond})
			return
		}
	}
	var units [2]string
	var tables []string
	for i, of := range []*scope.ScanInfo{s, p} {
		unit, more, ok := wayUp(of)
		if !ok {
			m.unsaid = true
			return
		}
		units[i], tables = unit, append(tables, more...)
	}
	m.lack(tables, []string{units[0] + " = " + units[1]})
}

func (m *missing) lack(tables, conds []string) {
	for _, t := range tables {
		if !slices.Contains(m.tables, t) {
			m.tables = append(m.tables, t)
		}
	}
	for _, c := range conds {
		if !slices.Contains(m.conds, c) {
			m.conds = append(m.conds, c)
		}
	}
}

// isOneRowEach: a key of the table is the unit's column, so that each person has one row.
func isOneRowEach(s *scope.ScanInfo) bool {
	t := s.Scan.Table
	return t.UnitCol >= 0 && t.Path == nil && slices.ContainsFunc(t.Keys, func(k []int) bool { return len(k) == 1 && k[0] == t.UnitCol })
}

// linkColumn is what a condition compares one of two scans' unit with, as referred_by is; "": it does not.
func linkColumn(on plan.Scalar, s, p *scope.ScanInfo) string {
	for _, x := range plan.Conjuncts(on) {
		c, is := x.(*plan.Call)
		if !is || c.Fn.Name != "=" {
			continue
		}
		for _, pair := range [][2]*scope.ScanInfo{{s, p}, {p, s}} {
			unit := map[plan.ColID]bool{pair[0].Scan.Columns[pair[0].Scan.Table.UnitCol]: true}
			for i, id := range pair[1].Scan.Columns {
				if plan.ReadsAny(c, unit) && plan.ReadsAny(c, map[plan.ColID]bool{id: true}) && i != pair[1].Scan.Table.UnitCol && pair[1].Scan.Table.Columns[i].Visible {
					return pair[1].Quoted(i)
				}
			}
		}
	}
	return ""
}

// wayUp is a scan's column of the unit, and the tables to be joined with it that lead there, with their conditions; false: the analyst does not see all of that.
func wayUp(s *scope.ScanInfo) (unit string, tables []string, ok bool) {
	name := s.Name()
	at := s.Scan.Table
	for n := 0; n <= scope.MaxPath; n++ {
		if c := at.UnitCol; c >= 0 {
			return scope.Quoted(name, at.Columns[c].Name), tables, at.Columns[c].Visible
		}
		path := at.Path
		if path == nil || path.Parent == nil || len(path.Columns) != len(path.ParentColumns) {
			return "", nil, false
		}
		next := s.Name() + "_" + path.Parent.Name
		var on []string
		for i, c := range path.Columns {
			child, parent := at.Columns[c], path.Parent.Columns[path.ParentColumns[i]]
			if !child.Visible || !parent.Visible {
				return "", nil, false
			}
			on = append(on, scope.Quoted(next, parent.Name)+" = "+scope.Quoted(name, child.Name))
		}
		tables = append(tables, fmt.Sprintf("%s AS %s ON %s", path.Parent.Spelled(), plan.QuoteIdent(next), strings.Join(on, " AND ")))
		at, name = path.Parent, next
	}
	return "", nil, false
}

// text is the hint's beginning; "": the analyst does not see what is missing.
func (m *missing) text() string {
	conds := strings.Join(m.conds, " AND ")
	instead := ""
	if m.on {
		instead = ", or write it in place of the one in ON"
	}
	switch {
	case m.apart != "":
		return m.apart
	case m.unsaid || conds == "":
		return ""
	case len(m.tables) > 0:
		return fmt.Sprintf("Join the tables that lead to the privacy unit, JOIN %s, with the condition %s%s", strings.Join(m.tables, " JOIN "), conds, instead)
	}
	return "Add the join condition " + conds + instead
}

// refusal says what is missing, and whether the owner may allow it.
func (m *missing) refusal(ownerMay bool) error {
	owner := ""
	if ownerMay {
		owner = "; or the owner can allow joins off the unit: query: {joins: any}"
	}
	if words := m.text(); words != "" {
		return m.first.WithHint("%s%s.", words, owner)
	}
	return m.first.WithHint("Join them along their declared foreign keys, through the tables that lead to the privacy unit%s.", owner)
}

// pathCondition is the declared path between two scans as a condition; "" if there is none that the analyst could write.
func pathCondition(child, parent *scope.ScanInfo) string {
	path := child.Scan.Table.Path
	if path == nil || path.Parent != parent.Scan.Table {
		return ""
	}
	var parts []string
	for i, c := range path.Columns {
		pc := path.ParentColumns[i]
		if !child.Scan.Table.Columns[c].Visible || !parent.Scan.Table.Columns[pc].Visible {
			return ""
		}
		parts = append(parts, fmt.Sprintf("%s = %s", child.Quoted(c), parent.Quoted(pc)))
	}
	return strings.Join(parts, " AND ")
}

// lacking is what rows of units of two kinds lack for either of them, in one hint.
func lacking(err error, kinds []*missing) error {
	all := &missing{}
	for _, m := range kinds {
		all.unsaid, all.on = all.unsaid || m.unsaid, all.on || m.on
		all.lack(m.tables, m.conds)
	}
	e, ok := err.(*sqlerr.Error)
	words := all.text()
	if !ok || words == "" {
		return err
	}
	return e.WithHint("%s.", words)
}
