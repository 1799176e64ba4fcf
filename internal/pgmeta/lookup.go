package pgmeta

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// A look at one object reads the rows that are about it and not whole catalogs: where a condition says that a column is a constant, the rows come from an index over the column. The condition is asked of them all the same.

// found are the rows that a scan has to read, where fewer than all will do.
type found map[*plan.Scan][][]sqltype.Value

// lookUps finds what conditions say of the catalogs that they are about.
func (s *Session) lookUps(root plan.Rel, args []sqltype.Value) found {
	out, scans := found{}, map[*plan.Scan]int{}
	plan.VisitRels(root, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Scan:
			scans[n]++
		case *plan.Filter:
			if sc, ok := n.Input.(*plan.Scan); ok && s.Is(sc.Table) {
				if rows, ok := s.about(sc, n.Cond, args); ok {
					out[sc] = rows
				}
			}
		}
		return true
	})
	for sc, n := range scans {
		if n > 1 { // read in more than one place, under other conditions
			delete(out, sc)
		}
	}
	return out
}

// about are the rows for which the narrowest of the equalities holds.
func (s *Session) about(sc *plan.Scan, cond plan.Scalar, args []sqltype.Value) (rows [][]sqltype.Value, some bool) {
	for _, x := range plan.Conjuncts(cond) {
		if !isEquality(x) {
			continue
		}
		c := x.(*plan.Call)
		for i, side := range c.Args {
			col := bareColumn(side)
			if col == nil {
				continue
			}
			v, ok := constantOf(c.Args[1-i], args)
			if !ok {
				continue
			}
			for place, id := range sc.Columns {
				if id != col.ID {
					continue
				}
				if got := s.indexOver(sc.Table, place)[v]; !some || len(got) < len(rows) {
					rows, some = got, true
				}
			}
		}
	}
	return rows, some
}

// bareColumn is a column of objects, integers or texts, as text too, whose values are equal where their Go values are.
func bareColumn(x plan.Scalar) *plan.Col {
	if c, ok := x.(*plan.Call); ok && c.Fn.Kind == funcs.Cast && len(c.Args) == 1 && c.T.OID == sqltype.OIDText {
		if t := c.Args[0].Type(); t.OID == sqltype.OIDName || t.OID == sqltype.OIDVarchar {
			x = c.Args[0]
		}
	}
	col, ok := x.(*plan.Col)
	if !ok {
		return nil
	}
	switch t := col.T; {
	case t.IsObject(), t.IsInteger(), t.OID == sqltype.OIDName, t.OID == sqltype.OIDText, t.OID == sqltype.OIDVarchar:
		return col
	}
	return nil
}

// constantOf is the value of what reads no row: a constant, a parameter, a cast of one; false of NULL and of what fails, which the condition itself tells.
func constantOf(x plan.Scalar, args []sqltype.Value) (v sqltype.Value, ok bool) {
	switch x := x.(type) {
	case *plan.Const:
		v = x.Value
	case *plan.Param:
		v = args[x.N-1]
	case *plan.Call:
		if x.Fn.Kind != funcs.Cast || x.Fn.Eval == nil || len(x.Args) != 1 {
			return nil, false
		}
		inner, known := constantOf(x.Args[0], args)
		if !known {
			return nil, false
		}
		var err error
		if v, err = x.Fn.Eval([]sqltype.Value{inner}, []sqltype.Type{x.Args[0].Type()}, x.T); err != nil {
			return nil, false
		}
	}
	switch v.(type) {
	case int64, string:
		return v, true
	}
	return nil, false
}

// indexOver gives a catalog's rows by the value of a column. It is made once, like the rows.
func (d *Database) indexOver(t *plan.Table, place int) map[sqltype.Value][][]sqltype.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := columnKey{t.Schema + "." + t.Name, place}
	index := d.indexes[key]
	if index == nil {
		index = map[sqltype.Value][][]sqltype.Value{}
		for _, row := range d.locked(key.relation) {
			switch v := row[place].(type) {
			case int64, string:
				index[v] = append(index[v], row)
			}
		}
		d.indexes[key] = index
	}
	return index
}
