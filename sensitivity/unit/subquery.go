package unit

import (
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// subqueries prepares the subqueries of an expression over a relation of the body, or refuses them.
//
// Proof: claim: the value of a subquery in a row is a function of that row, of the rows of its unit, and of public tables, so that (2) holds with it.
// (a) One over public tables reads nothing else. (b) One over private rows is linked to a private row of the one around it, so that each of its rows has that
// row's unit: on the unit's columns, whose equality is printed inside whatever the analyst wrote; or by a key of the database along the
// declared way, as (3) has it, which determines the other row, and with it the unit. Its rows are then those of one unit, as in (2) and (3) for a body of its own, and
// what is made of them (whether there are any, comparisons, aggregates that don't depend on order, the first ones in an order that is completed as windowRows has it) is a
// function of their multiset. (c) It raises nothing: a scalar subquery has one row at most, by its form or by onlyRow. (d) One whose own FROM is of public tables alone, while its
// conditions ask for private rows (relational division), has rows of these tables, each kept or left out by values that are, by induction, functions of that row, of the rows around it, which are of one unit (2),
// and of the rows of that unit: what asks for private rows must be linked to a private row further out, as in (b).
func (z *Linker) subqueries(x plan.Scalar, of plan.Rel, where bool) (plan.Scalar, error) {
	if plan.FirstQuery(x) == nil {
		return x, nil
	}
	var plain *plan.Subquery // of WHERE, a condition itself: NULL is as good as false
	if where {
		plain, _ = x.(*plan.Subquery)
	}
	return plan.MapQueries(x, func(s *plan.Subquery) (plan.Scalar, error) {
		out := *s
		out.Left = slices.Clone(s.Left)
		for i := range out.Left {
			var err error
			if out.Left[i].Expr, err = z.subqueries(s.Left[i].Expr, of, false); err != nil {
				return nil, err
			}
		}
		var err error
		if !relation.HasPrivateTable(s.Query) {
			if out.Query, err = z.publicQuery(s.Query); err == nil && s.Kind == plan.ScalarQuery && !relation.HasAtMostOneRow(s.Query) {
				err = z.refuseSeveralRows(s)
				out.Query = z.onlyRow(out.Query)
			}
		} else {
			_, _, err = z.ofRow(&out, of, s == plain)
		}
		z.Linked[&out] = true
		return &out, err
	})
}

func moreRows(s *plan.Subquery) error {
	return sqlerr.New(sqlerr.PrivateShape, "a subquery that may give more than one row is not supported beside private rows").At(s.Pos).
		WithHint("Let it give an aggregate, such as max(...), or use EXISTS or IN.")
}

// publicQuery prepares a relation that reads public tables alone. What is computed there is not raised by any value, as in the rest of the statement:
// whether a backend comes to compute it may follow from private rows.
func (z *Linker) publicQuery(r plan.Rel) (plan.Rel, error) {
	var refused error
	refuse := func(what string, pos int) bool {
		refused = sqlerr.New(sqlerr.PrivateShape, "%s beside private rows is not supported", what).At(pos).WithHint("Ask it as a statement of its own.")
		return false
	}
	plan.VisitRels(r, func(n plan.Rel) bool {
		switch n := n.(type) {
		case *plan.DistinctOn:
			return refuse("DISTINCT ON", n.Pos)
		case *plan.Aggregate:
			if n.Sets != nil || len(n.Groupings) > 0 {
				return refuse("GROUPING SETS, ROLLUP or CUBE", n.Pos)
			}
		case *plan.Join:
			if n.Lateral {
				return refuse("LATERAL", n.Pos)
			}
		case *plan.Limit:
			for _, x := range []plan.Scalar{n.Count, n.Offset} {
				c, ok := x.(*plan.Const)
				if rows, is := (any)(nil), false; x != nil && ok {
					rows, is = c.Value, true
					if v, isInt := rows.(int64); is && (rows == nil || isInt && v >= 0) {
						continue
					}
				} else if x == nil {
					continue
				}
				return refuse("a LIMIT that is no plain number", z.Out.Agg.Pos)
			}
			if n.Ties {
				return refuse("WITH TIES", z.Out.Agg.Pos)
			}
		}
		for _, x := range plan.Scalars(n) {
			if !plan.VisitQueries(x, func(s *plan.Subquery) bool {
				if z.Linked[s] = true; s.Kind == plan.ScalarQuery && !relation.HasAtMostOneRow(s.Query) {
					refused = moreRows(s)
				}
				return refused == nil
			}) {
				return false
			}
		}
		return true
	})
	return r, refused
}

// ofRow links a subquery over private rows to a private row of the relation around it, and gives its body and that row; no row where only its conditions read private ones, which are linked then.
func (z *Linker) ofRow(s *plan.Subquery, of plan.Rel, condition bool) (*Linker, *plan.Scan, error) {
	in := NewLinker(z.Ctx, z.Out.Query, &plan.Aggregate{Input: s.Query, Pos: s.Pos}, z.Opts.WithoutClip())
	in.Out.Query, in.Linked, in.Merged, in.Units, in.lost, in.around = z.Out.Query, z.Linked, z.Merged, z.Units, z.lost, append(slices.Clone(z.around), of)
	rows, above := s.Query, func(r plan.Rel) plan.Rel { return r }
	var err error
	switch s.Kind {
	case plan.ExistsQuery:
		if rows = AnyRow(rows); groupsOf(rows) != nil {
			rows, above, err = z.grouped(rows)
		}
	case plan.ArrayQuery:
		return nil, nil, sqlerr.New(sqlerr.PrivateShape, "an array of private rows is not supported").At(s.Pos).WithHint("Use EXISTS or IN.")
	case plan.ScalarQuery:
		if rows, above, err = z.aggregated(s); rows == nil && err == nil {
			rows, above, err = z.limited(s.Query)
			if !relation.HasAtMostOneRow(s.Query) {
				z.warnSeveralRows(s.Query)
				first := above
				above = func(r plan.Rel) plan.Rel { return z.onlyRow(first(r)) }
			}
		}
	case lateralQuery:
		if rows, above, err = z.aggregated(s); rows == nil && err == nil {
			rows, above, err = z.limited(s.Query)
		}
	default:
		if groupsOf(rows) != nil {
			rows, above, err = z.grouped(rows)
		} else {
			rows, above, err = z.limited(rows)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if s.Kind == plan.AnyQuery && rows == s.Query { // another row's comparison is false; what = ALL says follows from all rows, and LIMIT's rows do too
		in.beside = scope.Equalities(s.Cond)
	}
	if err := in.prepared(rows); err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(in.Scans, (*scope.ScanInfo).Private) { // (d) its own rows are public; its conditions are linked further out
		if s.Kind == lateralQuery {
			return nil, nil, publicInside(s.Pos)
		}
		s.Query = above(in.Input)
		return in, nil, nil
	}
	if err := in.linkedBody(); err != nil {
		return nil, nil, err
	}
	z.take(in)
	link := z.linkOf(in, s, of, condition)
	if link == nil && !slices.ContainsFunc(in.around, relation.HasPrivateTable) {
		return nil, nil, OwnerlessRowsError(s.Pos)
	}
	if link == nil && len(s.Free()) == 0 && len(s.Left) == 0 {
		return nil, nil, sqlerr.New(sqlerr.PrivateShape, "a subquery over all persons' rows beside private rows is not supported").At(s.Pos).
			WithHint("Ask it as a statement of its own, and write its answer into this one.")
	}
	if link == nil {
		return nil, nil, sqlerr.New(sqlerr.PrivateShape, "a subquery over private rows is supported where it is about the same person as the row around it").At(s.Pos).
			WithHint("Compare the privacy unit of the two with =, or join along the foreign key: for example, %s.", in.example())
	}
	if len(in.Scans) == 1 && link.Table.UnitCol < 0 && siblings(in.Scans[0].Scan.Table, link.Table) { // the row around it leads to the unit, and to the parent
		in.Scans[0].Path = in.toParent(in.Scans[0].Path, link.Table)
		in.Out.Body.Rel = in.rebuild(in.Input)
	}
	own := in.Out.Body.Rel
	if u := link.Table.UnitCol; u >= 0 && !slices.ContainsFunc(in.Blocks[0].Eqs, func(e scope.Equality) bool {
		return e.A == link.Columns[u] && e.B == in.Out.Body.Person || e.B == link.Columns[u] && e.A == in.Out.Body.Person
	}) {
		z.scanUnit(link)
		own = &plan.Filter{Input: own, Cond: z.EqualUnits(in.Out.Body.UnitCol, link.Columns[u])}
	}
	s.Query = above(own)
	return in, link, nil
}

// OwnerlessRowsError refuses what would make the presence of public rows follow from private ones.
func OwnerlessRowsError(pos int) error {
	return sqlerr.New(sqlerr.PrivateShape, "public rows that private ones keep or leave out belong to nobody: which there are would tell of persons").At(pos).
		WithHint("Count them, by count(*) of rows with a key, as in (SELECT count(*) FROM t WHERE x = 1) > 0; or join the private rows and group by columns of the public table: groups are answered with noise.")
}

// aggregated takes the aggregate of a scalar subquery off the rows that it reads; nil where there is none.
func (z *Linker) aggregated(s *plan.Subquery) (plan.Rel, func(plan.Rel) plan.Rel, error) {
	if !relation.HasOneRow(s.Query) {
		return nil, nil, nil
	}
	for rows := s.Query; rows != nil; rows = relation.FinishingInput(rows) {
		if err := noneInside(rows); err != nil {
			return nil, nil, err
		}
		if a, ok := rows.(*plan.Aggregate); ok {
			return a.Input, func(r plan.Rel) plan.Rel { return over(s.Query, r) }, nil
		}
	}
	return nil, nil, sqlerr.New(sqlerr.Internal, "a scalar subquery over private rows has no aggregate").At(s.Pos)
}

// limited takes LIMIT with its order, and projections above it, off a subquery's rows, which are all of one unit once they are linked: what it keeps
// are then the first rows in an order that is completed as windowRows has it.
func (z *Linker) limited(r plan.Rel) (plan.Rel, func(plan.Rel) plan.Rel, error) {
	same := func(r plan.Rel) plan.Rel { return r }
	switch n := r.(type) {
	case *plan.Sort:
		return z.limited(n.Input)
	case *plan.Project:
		rows, above, err := z.limited(n.Input)
		if err != nil || rows == n.Input {
			return r, same, err
		}
		for _, it := range n.Items {
			if q := plan.FirstQuery(it.Expr); q != nil {
				return nil, nil, sqlerr.New(sqlerr.PrivateShape, "a subquery beside LIMIT is not supported").At(q.Pos).WithHint("Put it into the select list of a derived table.")
			}
		}
		return rows, func(r plan.Rel) plan.Rel { return &plan.Project{Input: above(r), Items: n.Items} }, nil
	case *plan.Limit:
		item := plan.WindowItem{ID: z.NewColumn("row_number", sqltype.Int8), Fn: "row_number", Type: sqltype.Int8, Pos: -1}
		rows := n.Input
		if sort, ok := rows.(*plan.Sort); ok {
			rows, item.Order = sort.Input, z.orderOf(sort)
		}
		count, offset := int64(math.MaxInt64), int64(0)
		for x, to := range map[plan.Scalar]*int64{n.Count: &count, n.Offset: &offset} {
			if x == nil {
				continue
			}
			v, ok := relation.WholeNumber(x)
			if !ok || v < 0 {
				return nil, nil, sqlerr.New(sqlerr.PrivateShape, "a LIMIT that is no plain number beside private rows is not supported").At(z.Out.Agg.Pos).WithHint("Write the number.")
			}
			*to = v
		}
		if n.Ties {
			return nil, nil, sqlerr.New(sqlerr.PrivateShape, "WITH TIES over private rows is not supported").At(z.Out.Agg.Pos).WithHint("Use rank() in a derived table.")
		}
		var conds []plan.Scalar
		if offset > 0 {
			conds = append(conds, relation.CompareBigint(item.ID, ">", offset))
		}
		if last := offset + count; last >= offset && n.Count != nil {
			conds = append(conds, relation.CompareBigint(item.ID, "<=", last))
		}
		return rows, func(r plan.Rel) plan.Rel {
			return &plan.Filter{Input: &plan.Window{Input: r, Items: []plan.WindowItem{item}}, Cond: plan.AllOf(conds)}
		}, nil
	}
	return r, same, nil
}

// SeveralRowsError is PostgreSQL's of a scalar subquery with more than one row.
func SeveralRowsError(s *plan.Subquery) error {
	return sqlerr.New(sqlerr.Cardinality, "more than one row returned by a subquery used as an expression").At(s.Pos).
		WithHint("Let it give an aggregate, such as max(...), or use IN in place of =.")
}

// refuseSeveralRows refuses a scalar subquery over public tables that has more than one row.
//
// Proof: the refusal tells of public rows alone: (1) the relation is isPublic, so its number of rows follows from public tables and its own text. (2) It is refused whether or not a private row asks for its value.
// Of any other subquery the rows may follow from private ones. Nothing is read of it: more than one row is NULL (onlyRow), and the warning follows from the statement and the schema.
// The engine reads the number again in the statement's snapshot, before the charge (Analysis.Multiplicities).
func (z *Linker) refuseSeveralRows(s *plan.Subquery) error {
	reader, ok := z.Opts.Public.(plan.FrequencyReader)
	if !ok || !isPublic(s.Query) { // (1) its rows follow from public tables
		z.warnSeveralRows(s.Query)
		return nil
	}
	n, err := reader.MostOften(z.Ctx, s.Query, nil)
	switch {
	case err != nil:
		return err
	case n > 1: // (2) whether or not a private row asks for its value
		return SeveralRowsError(s)
	}
	z.Out.Multiplicities = append(z.Out.Multiplicities, sensitivity.Multiplicity{Of: s.Query, Most: 1})
	return nil
}

// warnSeveralRows tells that a scalar subquery of more than one row is NULL, unless a key leaves it one.
func (z *Linker) warnSeveralRows(r plan.Rel) {
	const words = "a subquery that gives more than one row stands for NULL; PostgreSQL raises an error there"
	if !isOfKey(r) && !slices.Contains(z.Out.Warnings, words) {
		z.Out.Warnings = append(z.Out.Warnings, words)
	}
}

// isOfKey reports whether conditions compare all columns of a key of the only table with what no row of it changes.
func isOfKey(r plan.Rel) bool {
	var conds []plan.Scalar
	for {
		switch n := r.(type) {
		case *plan.Project:
			r = n.Input
			continue
		case *plan.Sort:
			r = n.Input
			continue
		case *plan.Filter:
			conds = append(conds, plan.Conjuncts(n.Cond)...)
			r = n.Input
			continue
		}
		break
	}
	scan, ok := r.(*plan.Scan)
	if !ok {
		return false
	}
	outside := func(x plan.Scalar) bool {
		own := plan.FirstQuery(x) != nil
		plan.VisitCols(x, func(c *plan.Col) { own = own || slices.Contains(scan.Columns, c.ID) })
		return !own
	}
	is := func(x plan.Scalar, id plan.ColID) bool {
		c, ok := x.(*plan.Col)
		return ok && c.ID == id
	}
	isCompared := func(id plan.ColID) bool {
		return slices.ContainsFunc(conds, func(x plan.Scalar) bool {
			c, ok := x.(*plan.Call)
			if !ok || c.Fn.Name != "=" || len(c.Args) != 2 {
				return false
			}
			return is(c.Args[0], id) && outside(c.Args[1]) || is(c.Args[1], id) && outside(c.Args[0])
		})
	}
	return slices.ContainsFunc(scan.Table.Keys, func(key []int) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(i int) bool { return !isCompared(scan.Columns[i]) })
	})
}

// onlyRow keeps a row that is the only one; PostgreSQL fails where a scalar subquery has more, and here it is then NULL.
func (z *Linker) onlyRow(r plan.Rel) plan.Rel {
	id := z.NewColumn("count", sqltype.Int8)
	return &plan.Filter{Input: &plan.Window{Input: r, Items: []plan.WindowItem{{ID: id, Fn: plan.CountRows, Type: sqltype.Int8, Pos: -1}}}, Cond: relation.CompareBigint(id, "=", 1)}
}

// AnyRow leaves out what does not change whether there is a row.
func AnyRow(r plan.Rel) plan.Rel {
	switch n := r.(type) {
	case *plan.Project:
		return AnyRow(n.Input)
	case *plan.Distinct:
		return AnyRow(n.Input)
	case *plan.Sort:
		return AnyRow(n.Input)
	case *plan.Limit:
		if c, ok := n.Count.(*plan.Const); ok && n.Offset == nil && c.Value != nil && c.Value != int64(0) {
			return AnyRow(n.Input)
		}
	}
	return r
}

// over puts a prepared input under the aggregate of a scalar subquery.
func over(r, rows plan.Rel) plan.Rel {
	switch n := r.(type) {
	case *plan.Aggregate:
		c := *n
		c.Input = rows
		return &c
	case *plan.Project:
		return &plan.Project{Input: over(n.Input, rows), Items: n.Items}
	case *plan.Filter:
		return &plan.Filter{Input: over(n.Input, rows), Cond: n.Cond}
	}
	return over(relation.FinishingInput(r), rows) // an order of one row
}

// groupsOf is the aggregate that a subquery shows groups of, as its rows or by HAVING, where rows around it say what it aggregates; nil where there is none.
func groupsOf(r plan.Rel) *plan.Aggregate {
	switch n := r.(type) {
	case *plan.Filter:
		return groupsOf(n.Input)
	case *plan.Project:
		return groupsOf(n.Input)
	case *plan.Aggregate:
		if n.Sets == nil && len(n.Groupings) == 0 && len(n.Errors) == 0 && len(plan.Free(n.Input)) > 0 {
			return n
		}
	}
	return nil
}

// grouped takes an aggregate, and what stands above it, off a subquery's rows, which are all of one unit once they are linked: so is each of its groups, whatever its keys are.
func (z *Linker) grouped(r plan.Rel) (plan.Rel, func(plan.Rel) plan.Rel, error) {
	for at := r; ; at = plan.Inputs(at)[0] {
		if err := noneInside(at); err != nil {
			return nil, nil, err
		}
		if a, ok := at.(*plan.Aggregate); ok {
			return a.Input, func(rows plan.Rel) plan.Rel { return over(r, rows) }, nil
		}
	}
}

// noneInside: only what is below an aggregate of a subquery has its own subqueries prepared.
func noneInside(r plan.Rel) error {
	for _, x := range plan.Scalars(r) {
		if q := plan.FirstQuery(x); q != nil {
			return sqlerr.New(sqlerr.PrivateShape, "a subquery in the select list, the HAVING or an aggregate of another one is not supported beside private rows").At(q.Pos).
				WithHint("Put it into WHERE, or into the select list of a derived table.")
		}
	}
	return nil
}
