package unit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// Rows that lead to no person are dropped, unless the policy says otherwise of a table. By unit: coalesce(customer_id, email) a row without a customer is of the unit that its email names
// (plan.Table.UnitElse). By rows_without_unit: own (plan.Table.OwnKey) a row that has neither is a unit of its own. Everything that hangs on such a row is of its unit. The unit's value is then computed:
// a text that begins with p and the person's value, with c, a column's name and its value, or with r, the table and its key. A human with rows of the first two kinds is two units.
//
// Proof: claim: each row has at most one unit, and removing all rows of a person, all rows of one value of such a column that lead to no person, or one row that has neither, with every row whose way
// leads to them, removes exactly the rows of one unit. Conditions:
//
//	(U1) A value is a function of the row and, along its declared way, of one row of each parent (policy.Bind, (3)). It is the person's value where the way reaches one. Of the row at which the
//	     way breaks it is else the first of the table's UnitElse that is not NULL, else its key, if the policy says own of the table, else NULL: dropped as any row without a unit (Analyze, (5)).
//	(U2) A parent row and the rows that reach it by their ways have one value: the child's value is computed from the parent's columns by the parent's expression.
//	(U3) Values of persons, of columns and of rows differ in their first letter, those of rows of different tables in the table's name, which contains no newline as it is quoted, and those of
//	     rows of one table in the key, whose texts are preceded by their lengths (funcs.RowUnit); equal values of a person have one text in every table (funcs.PersonUnit). A table is listed under its own name (policy.Bind refuses own and coalesce of views and partitions).
//	     Values of columns differ in the column's name, quoted too, and in the value: customer 5 and email '5' are two units. Rows of several tables with one value in columns of one name are of one unit.
//	(U4) What the statement says of the person's column (equalities, GROUP BY, PARTITION BY) is true or false of persons alone: an equality is never true of NULL. A derived table that is
//	     grouped by the person's column is a table of persons: its group NULL has rows of many units and is dropped by the statement that reads it. A window's partitions
//	     have the unit's value beside the person's column.
//	(U5) Rows of two children that have one parent's key have one unit where that parent is there. Where rows may lead to none and be units of their own, a subquery of a sibling's
//	     rows joins the parent (toParent).
//	(U6) No more is claimed of a unit by a column than of a person: that it has one row is said only of tables where rows of one unit have that column (HasUniqueUnit), and of partitions that have the unit's
//	     value (U4). What has one value a person is NULL in its rows, or read of rows of persons alone (IsUnitDetermined).

// hasOwnRows: rows of the table that lead to no person may be of a unit all the same: of their own, or of one that another column names.
func (z *Linker) hasOwnRows(t *plan.Table) bool { return hasFallbackUnit(t) && !z.PersonsOnly }

func hasFallbackUnit(t *plan.Table) bool { return len(t.OwnKey)+len(t.UnitElse) > 0 }

// IsComputed reports that the unit of the body's rows is not a stored column.
func (z *Linker) IsComputed() bool { return z.IsTagged(z.Out.Body.UnitCol) }

// tag notes that a column holds computed values.
func (z *Linker) tag(id plan.ColID) {
	z.Units[id] = &plan.Col{ID: id, T: sqltype.Text}
}

// unitValue is the unit of a row that a column names: a computed value, or the column.
func (z *Linker) unitValue(id plan.ColID) plan.Scalar {
	if v := z.Units[id]; v != nil {
		return v
	}
	return &plan.Col{ID: id, T: z.TypeOf(id)}
}

// scanUnit is the unit of a table's row by its own columns.
func (z *Linker) scanUnit(s *plan.Scan) plan.Scalar {
	if u := s.Table.UnitCol; u >= 0 && s.Rows == nil && z.hasOwnRows(s.Table) {
		id := s.Columns[u]
		if z.Units[id] == nil {
			z.Units[id] = &plan.Coalesce{Args: append([]plan.Scalar{z.personValue(id)}, z.withoutPerson(s)...), T: sqltype.Text}
		}
	}
	return z.unitValue(s.Columns[s.Table.UnitCol])
}

// pathUnit is the unit of a scan's row by its hidden way (U1): that of the last table, if its row is there; else of the row at which the way breaks.
func (z *Linker) pathUnit(from *plan.Scan, h *scope.Hidden) {
	last := len(h.Scans) - 1
	reached := z.scanUnit(h.Scans[last])
	if h.Kinds[last] == plan.InnerJoin { // the way never breaks before
		return
	}
	if !z.isText(reached) {
		reached = z.personValue(h.Unit)
	}
	v := &plan.Case{T: sqltype.Text}
	at := from
	paths := make([]*plan.UnitPath, len(h.Scans))
	for i, s := range h.Scans {
		paths[i], at = at.Table.Path, s
	}
	for i := last; i >= 0; i-- {
		id := h.Scans[i].Columns[paths[i].ParentColumns[0]]
		there := &plan.Is{X: &plan.Col{ID: id, T: z.TypeOf(id)}, What: "NULL", Not: true}
		v.Whens = append(v.Whens, plan.When{Cond: there, Result: reached})
		below := from
		if i > 0 {
			below = h.Scans[i-1]
		}
		reached = &plan.Const{T: sqltype.Text}
		if z.hasOwnRows(below.Table) {
			if list := z.withoutPerson(below); len(list) == 1 {
				reached = list[0]
			} else {
				reached = &plan.Coalesce{Args: list, T: sqltype.Text}
			}
		}
	}
	v.Else = reached
	z.Units[h.Unit] = v
}

func (z *Linker) isText(x plan.Scalar) bool {
	c, stored := x.(*plan.Col)
	return !stored || z.IsTagged(c.ID)
}

// personValue is a person's value as a unit's.
func (z *Linker) personValue(id plan.ColID) plan.Scalar {
	return &plan.Call{Fn: funcs.PersonUnit, T: sqltype.Text, Pos: -1, Args: []plan.Scalar{&plan.Col{ID: id, T: z.TypeOf(id)}}}
}

// withoutPerson are the values, in order, of which the first that is not NULL is the unit of a table's row that leads to no person (U1); NULL where it is padded.
func (z *Linker) withoutPerson(s *plan.Scan) (out []plan.Scalar) {
	for _, c := range s.Table.UnitElse {
		name := &plan.Const{Value: fmt.Sprintf("c%q\n", s.Table.Columns[c].Name), T: sqltype.Text} // (U3) values of persons, columns and rows differ in their first letter
		out = append(out, &plan.Call{Fn: funcs.ColumnUnit, T: sqltype.Text, Pos: -1, Args: []plan.Scalar{name, &plan.Col{ID: s.Columns[c], T: z.TypeOf(s.Columns[c])}}})
	}
	if len(s.Table.OwnKey) > 0 {
		out = append(out, z.rowValue(s))
	}
	return out
}

// rowValue is a row as a unit; NULL where it is padded.
func (z *Linker) rowValue(s *plan.Scan) plan.Scalar {
	args := []plan.Scalar{&plan.Const{Value: fmt.Sprintf("r%q.%q\n", s.Table.Schema, s.Table.Name), T: sqltype.Text}}
	for _, c := range s.Table.OwnKey {
		args = append(args, &plan.Col{ID: s.Columns[c], T: z.TypeOf(s.Columns[c])})
	}
	return &plan.Call{Fn: funcs.RowUnit, T: sqltype.Text, Pos: -1, Args: args}
}

// EqualUnits is the equality of the units that two columns name. Where one of them is a stored person's, that of persons is enough: rows without one are in no such pair.
func (z *Linker) EqualUnits(a, b plan.ColID) plan.Scalar {
	x, y := z.unitValue(a), z.unitValue(b)
	switch {
	case z.isText(x) == z.isText(y):
		return relation.EqualScalars(x, y)
	case z.IsTagged(a):
		return relation.EqualScalars(x, z.personValue(b))
	case z.IsTagged(b):
		return relation.EqualScalars(z.personValue(a), y)
	}
	return z.Equal(a, b)
}

// toParent is what is left of the way of a subquery's rows to their unit, where the row around it is a sibling and leads to the unit: nothing, or the parent, if rows may lead to none (U5).
func (z *Linker) toParent(h *scope.Hidden, outer *plan.Table) *scope.Hidden {
	if h == nil || !z.hasOwnRows(z.Scans[0].Scan.Table) && !z.hasOwnRows(outer) {
		return nil
	}
	return &scope.Hidden{Scans: h.Scans[:1], On: h.On[:1], Kinds: []plan.JoinKind{plan.InnerJoin}, Unit: h.Unit}
}

// takeUnit makes a column that names the unit the body's.
func (z *Linker) takeUnit(person plan.ColID) {
	z.Out.Body = &sensitivity.Body{UnitCol: person, Person: person, Clamped: map[plan.ColID]sensitivity.Clamp{}, Safe: map[*plan.Call]int32{}, Linked: z.Linked}
	if z.isText(z.unitValue(person)) && !z.IsTagged(person) {
		z.Out.Body.UnitCol = z.NewUnitColumn(person, sqltype.Text)
		z.tag(z.Out.Body.UnitCol)
	}
}

// computeUnit adds the unit's value to the body's rows.
func (z *Linker) computeUnit() {
	if b := z.Out.Body; b.UnitCol != b.Person {
		b.Rel = z.withColumn(b.Rel, b.UnitCol, z.unitValue(b.Person))
	}
}

// withColumn adds a column to a relation.
func (z *Linker) withColumn(r plan.Rel, id plan.ColID, x plan.Scalar) plan.Rel {
	p := &plan.Project{Input: r}
	for _, c := range r.Cols() {
		p.Items = append(p.Items, plan.Item{ID: c, Expr: &plan.Col{ID: c, T: z.TypeOf(c)}})
	}
	p.Items = append(p.Items, plan.Item{ID: id, Expr: x})
	return p
}

// taggedUnit is a column of a body that holds its units as computed values.
func (z *Linker) taggedUnit() plan.ColID {
	b := z.Out.Body
	if z.IsTagged(b.UnitCol) {
		return b.UnitCol
	}
	id := z.NewUnitColumn(b.UnitCol, sqltype.Text)
	z.tag(id)
	b.Rel = z.withColumn(b.Rel, id, z.personValue(b.UnitCol))
	return id
}

// splitValue is what a split hashes of a unit: the same of a person whether the value is computed or stored.
func (z *Linker) splitValue(unit plan.ColID) plan.Scalar {
	c := &plan.Col{ID: unit, T: z.TypeOf(unit)}
	if !z.IsTagged(unit) {
		return c
	}
	return &plan.Call{Fn: funcs.UnitText, T: sqltype.Text, Pos: -1, Args: []plan.Scalar{c}}
}

// unitScan is the scan that the body's unit is of.
func (z *Linker) unitScan() *scope.ScanInfo {
	at := slices.IndexFunc(z.Scans, func(s *scope.ScanInfo) bool { return s.Private() && s.Unit == z.Out.Body.Person })
	if at < 0 {
		return nil
	}
	return z.Scans[at]
}

// NoteLost notes the columns by which rows of a scan may lead to no unit, and are dropped, by the schema and the statement alone. What a subquery leaves out is in no answer.
func (z *Linker) NoteLost(s *scope.ScanInfo) {
	if len(z.around) > 0 || s.Scan.Rows != nil {
		return
	}
	way := []*plan.Scan{s.Scan}
	if s.Path != nil {
		way = append(way, s.Path.Scans...)
	}
	for i, scan := range way {
		breaks := []int{scan.Table.UnitCol}
		if i < len(way)-1 {
			breaks = scan.Table.Path.Columns
		}
		for _, c := range breaks {
			mayBeNull := func(c int) bool {
				if i == 0 {
					allowed, _ := z.Allowed(s, scan.Columns[c])
					return z.IsNullable(scan.Columns[c], interval.Stored) && allowed(nil) // else a condition leaves it out
				}
				return !scan.Table.Columns[c].NotNull
			}
			elsewhere := len(scan.Table.OwnKey) > 0 || slices.ContainsFunc(scan.Table.UnitElse, func(c int) bool { return !mayBeNull(c) })
			if id := scan.Columns[c]; mayBeNull(c) && (z.PersonsOnly || !elsewhere) {
				z.lost[id] = z.lost[id] || !z.PersonsOnly || !hasFallbackUnit(scan.Table)
			}
		}
	}
}

// noteLostKey notes a person's column that takes the unit's place, so that rows without a person are dropped (U4).
func (z *Linker) noteLostKey(id plan.ColID) {
	if id = z.Base(id); z.IsComputed() && len(z.around) == 0 && z.IsNullable(id, interval.Stored) {
		byPolicy := z.lost[id] // if not, by the statement
		z.lost[id] = byPolicy
	}
}

// WarnLost names what was noted.
func (z *Linker) WarnLost() {
	a := z.Out
	if a.Body != nil && z.IsComputed() {
		for _, c := range a.Query.Columns {
			if t := c.Table; t != nil {
				a.OwnRows = a.OwnRows || len(t.OwnKey) > 0
				for _, e := range t.UnitElse {
					a.UnitElse = append(a.UnitElse, shownColumn(t, e))
				}
			}
		}
		slices.Sort(a.UnitElse)
		a.UnitElse = slices.Compact(a.UnitElse)
	}
	for id, policy := range z.lost {
		name := z.lostName(id, policy)
		if list := map[bool]*[]string{true: &a.Lost, false: &a.NoPerson}[policy]; !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	slices.Sort(a.Lost)
	slices.Sort(a.NoPerson)
}

// lostName names what is NULL in a row that leads to no unit: by the policy all columns that may name one.
func (z *Linker) lostName(id plan.ColID, policy bool) string {
	names := []string{z.Out.VisibleName(id)}
	if names[0] == "" {
		names[0] = unseen
	}
	if t := z.Out.Query.Columns[id].Table; policy && t != nil {
		for _, c := range t.UnitElse {
			names = append(names, shownColumn(t, c))
		}
	}
	return strings.Join(names, " is NULL and ")
}

// unseen stands for a column that the analyst may not see.
const unseen = "a column that you may not see"

func shownColumn(t *plan.Table, c int) string {
	if t.Columns[c].Visible {
		return t.Name + "." + t.Columns[c].Name
	}
	return unseen
}
