package unit

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// kindsOf are the kinds of units of all private rows that a relation reads, its subqueries' too; false: rows of a table may belong to several units of one kind.
func kindsOf(r plan.Rel) (units dp.Units, clean bool) {
	clean = true
	plan.VisitRels(r, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok && s.Table != nil && !s.Table.Public {
			clean = clean && (len(s.Table.Units) == 1 || len(s.Table.Of) == len(s.Table.Units))
			for _, u := range s.Table.Units {
				if !slices.Contains(units, u) {
					units = append(units, u)
				}
			}
		}
		return true
	})
	slices.Sort(units)
	return units, clean
}

// HasSeveralUnitKinds says that a relation reads private rows of units of several kinds.
func HasSeveralUnitKinds(r plan.Rel) bool {
	units, clean := kindsOf(r)
	return len(units) > 1 && clean
}

// Pairs analyses a statement over rows of two units each; false: it is not one.
//
// Proof: claim: for databases that differ in all rows of one unit of either kind, in all tables, the multisets of rows that are aggregated differ in exactly rows of that unit, and each row belongs to one unit of each kind, whose values Pairs.Cols hold.
// (a) Only scans, filters, projections, inner joins, and left joins with public relations on the padded side stand below the aggregate, without subqueries that read private rows (pairRel): so a row is there if and only if the stored rows are that it is
// made of, one of each private scan, and its conditions, which read nothing else that is private, hold. (b) For each kind all scans whose tables have it belong to one unit of that kind in every row (link, run on the tables as rows of that kind: (3)), and the scans that a
// way to the unit adds are held against the other kind in turn, as their tables have it too. A stored row that belongs to the unit is in no row but the unit's, and a row of the unit has such a one; so without the unit exactly its rows are gone. (c) Rows where one of the units is NULL
// are dropped (sqlgen's pairs). (d) The measures are sums of integers of single rows, not negative and clamped row by row (Measure.Single), added by pair of units, in groups that follow from the row alone and are public: the weights of a bipartite graph, of which a unit more or less is a node
// with its edges. The sum itself is bounded by nothing; what is released is its flow at a cap t, which a unit changes by at most t in each of at most Limit.PerUnit groups (flow.Graph.Value, (a)). Limit.PerUnit is the larger of what (7) says for either kind.
func (z *Linker) Pairs(input plan.Rel) (bool, error) {
	units, clean := kindsOf(input)
	if len(units) < 2 {
		return false, nil
	}
	pos := z.Out.Agg.Pos
	switch {
	case !clean: // collectScan names the table
		return false, nil
	case len(units) > 2:
		return true, sqlerr.New(sqlerr.PrivateShape, "rows that belong to units of %d kinds are not supported", len(units)).At(pos).WithHint("Join tables of two kinds of units at most.")
	case z.Opts.Split.Salt != "":
		return true, sqlerr.New(sqlerr.PrivateShape, "rows that belong to units of two kinds cannot be split by one of them").At(pos)
	}
	if err := z.pairRel(input); err != nil { // (a) a row is made of one stored row of each scan
		return true, err
	}
	if err := z.pairAggregates(); err != nil {
		return true, err
	}
	rel, err := z.derive(input)
	if err != nil {
		return true, err
	}
	p := &sensitivity.Pairs{Units: [2]dp.Unit(units)}
	var lacks []*missing
	var refused error
	for k, u := range units { // (b) in each row all scans of a kind belong to one unit
		in := NewLinker(z.Ctx, z.Out.Query, &plan.Aggregate{Input: rel, Pos: pos}, z.Opts)
		in.Out.Query, in.Linked, in.lost, in.PersonsOnly = z.Out.Query, z.Linked, z.lost, true
		next, err := in.ofKind(rel, u)
		switch {
		case in.lacks != nil: // the other kind may lack something too
			if lacks = append(lacks, in.lacks); refused == nil {
				refused = err
			}
			continue
		case err != nil:
			return true, err
		}
		rel = next
		p.Cols[k] = in.Out.Body.Person
		z.Kinds = append(z.Kinds, in)
	}
	if refused != nil {
		return true, lacking(refused, lacks)
	}
	z.Out.Pairs, z.Out.Unit = p, units[0]+", "+units[1]
	z.Input = asTables(rel, relation.StoredTable)
	z.Out.Body = &sensitivity.Body{Rel: z.Input, Clamped: map[plan.ColID]sensitivity.Clamp{}, Safe: map[*plan.Call]int32{}, Linked: z.Linked}
	return true, z.collectBody(z.Input, z.NewBlock(nil, nil))
}

// ofKind links the scans of one kind, and gives the relation with what its ways to the unit add.
func (z *Linker) ofKind(r plan.Rel, u dp.Unit) (plan.Rel, error) {
	z.Input = asTables(r, func(t *plan.Table) *plan.Table {
		t = relation.StoredTable(t)
		if of := t.As(u); of != nil {
			return of
		} else if t.Public {
			return t
		}
		other := *t // of the other kind: nobody of this one
		other.Public, other.Units, other.Of, other.Path, other.UnitCol, other.Whole = true, nil, nil, nil, -1, t
		return &other
	})
	if err := z.collectBody(z.Input, z.NewBlock(nil, nil)); err != nil {
		return nil, err
	}
	if err := z.link(); err != nil {
		return nil, err
	}
	if err := z.buildBody(); err != nil {
		return nil, err
	}
	return z.Out.Body.Rel, nil
}

// asTables is a relation that pairRel accepts, and that derive left, over other tables in its scans.
func asTables(r plan.Rel, as func(*plan.Table) *plan.Table) plan.Rel {
	switch n := r.(type) {
	case *plan.Scan:
		s := *n
		s.Table = as(n.Table)
		return &s
	case *plan.Filter:
		return &plan.Filter{Input: asTables(n.Input, as), Cond: n.Cond}
	case *plan.Project:
		return &plan.Project{Input: asTables(n.Input, as), Items: n.Items}
	case *plan.Join:
		j := *n
		j.Left, j.Right = asTables(n.Left, as), asTables(n.Right, as)
		return &j
	}
	return r
}

// pairRel refuses what may not stand below the aggregate (a).
func (z *Linker) pairRel(r plan.Rel) error {
	if !relation.HasPrivateTable(r) {
		return nil
	}
	for _, x := range plan.Scalars(r) {
		at := -1
		if x != nil {
			plan.VisitQueries(x, func(s *plan.Subquery) bool {
				if relation.HasPrivateTable(s.Query) {
					at = s.Pos
				}
				return at < 0
			})
		}
		if at >= 0 {
			return TwoUnits("a subquery that reads private rows", at).WithHint("Join its table instead, on the units of each kind.")
		}
	}
	switch n := r.(type) {
	case *plan.Scan:
		if n.Rows != nil {
			return TwoUnits("a derived table", n.Pos)
		}
		return nil
	case *plan.Filter:
		return z.pairRel(n.Input)
	case *plan.Project:
		return z.pairRel(n.Input)
	case *plan.Join:
		switch {
		case n.Kind != plan.InnerJoin && relation.HasPrivateTable(n.Right), n.Kind == plan.FullJoin:
			return TwoUnits("an outer join with private rows on the padded side", n.Pos).
				WithHint("Use an inner join: whether a row is padded would depend on units of the other kind.")
		case n.Lateral && len(plan.Free(n.Right)) > 0:
			return TwoUnits("LATERAL", n.Pos)
		}
		if err := z.pairRel(n.Left); err != nil {
			return err
		}
		return z.pairRel(n.Right)
	}
	return TwoUnits("a derived table that aggregates, sorts or puts together private rows", z.Out.Agg.Pos).
		WithHint("Join the tables themselves, and aggregate once.")
}

// pairAggregates refuses what no flow answers.
func (z *Linker) pairAggregates() error {
	for _, g := range z.Aggs {
		name := string(g.Fn)
		switch {
		case g.Distinct && g.Fn != plan.Min && g.Fn != plan.Max:
			name += "(DISTINCT ...)"
		case g.Fn == plan.CountRows, g.Fn == plan.Count, g.Fn == plan.Sum, g.Fn == plan.Avg:
			continue
		}
		return TwoUnits(name, g.Pos).WithHint("COUNT, SUM and AVG of values that are not negative are there: of rows of two people each a maximum flow is measured.")
	}
	return nil
}

// TwoUnits refuses rows of two units.
func TwoUnits(what string, pos int) *sqlerr.Error {
	return sqlerr.New(sqlerr.PrivateShape, "%s is not supported where rows belong to units of two kinds", what).At(pos)
}
