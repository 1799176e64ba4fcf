package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// maxStages keeps a statement's analyses and charges few: their shares of the price would be of no use either.
const maxStages = 64

// maxAggregates does it for the aggregates of all stages together, and those within a person's rows. Each is several measures at most, and each of these is printed, priced and explained before anything is charged.
const maxAggregates = 256

// maxOperators is how many operators and calls may be in each other over private rows. What is printed for them is longer than they are, on each level again, and backends have limits of their own, which a statement would meet after its charge.
const maxOperators = 1000

// shallow refuses expressions of too many operators in each other.
func shallow(r plan.Rel) error {
	var levels func(x plan.Scalar) int
	levels = func(x plan.Scalar) int {
		most := 0
		for _, y := range plan.Children(x) {
			most = max(most, 1+levels(y))
		}
		return most
	}
	if plan.VisitRels(r, func(r plan.Rel) bool {
		return !slices.ContainsFunc(plan.Scalars(r), func(x plan.Scalar) bool { return levels(x) > maxOperators })
	}) {
		return nil
	}
	return sqlerr.New(sqlerr.TooComplex, "an expression over private rows has more than %d operators in each other", maxOperators).
		WithHint("Write it with fewer: a product in place of a long sum, IN (...) in place of many comparisons.")
}

// above goes through what is computed down to what is released.
func (d *divider) above(r plan.Rel, c *Computed) error {
	if !relation.HasPrivateTable(r) {
		return d.public(r, c)
	}
	switch n := r.(type) {
	case *plan.Scan:
		return d.rawRows(n)
	case *plan.Aggregate:
		if !d.released(n.Input) && d.counting(n) == nil {
			return d.leaf(n, n, c)
		}
	case *plan.Distinct: // of rows: their groups
		if !d.released(n.Input) {
			return d.leaf(n, &plan.Aggregate{Input: n.Input, Keys: n.Input.Cols(), Pos: d.q.Pos}, c)
		}
	}
	if !canFinish(r) {
		return sqlerr.New(sqlerr.Internal, "a %T stands above the aggregate", r)
	}
	return d.inside(r, func(r plan.Rel) error { return d.above(r, c) })
}

// public notes the largest relations of public tables that read no row around them; what reads no table is computed where it stands.
func (d *divider) public(r plan.Rel, c *Computed) error {
	switch {
	case !relation.HasTable(r):
		return nil
	case len(plan.Free(r)) == 0:
		if !slices.ContainsFunc(c.Leaves, func(l Leaf) bool { return l.At == r }) {
			c.Leaves = append(c.Leaves, Leaf{At: r})
		}
		return nil
	}
	return d.inside(r, func(r plan.Rel) error { return d.public(r, c) })
}

// leaf makes an aggregate, which a node is or stands for, a release, or one for each of its grouping sets.
func (d *divider) leaf(at plan.Rel, n *plan.Aggregate, c *Computed) error {
	if way := relation.PrivateWay(d.q.Root); len(plan.Free(n)) > 0 && relation.ReturnsRawRows(way) {
		return relation.NoAggregateError(d.q, way)
	}
	if len(plan.Free(n)) > 0 {
		return sqlerr.New(sqlerr.PrivateShape, "an aggregate over private rows that reads the row of a query around it is not supported").At(n.Pos).
			WithHint("Compare its columns with that row by = alone, or group it by what it is compared with, in a derived table, and join that.")
	}
	sets := n.Sets
	if sets == nil {
		sets = [][]plan.ColID{n.Keys}
	}
	l := Leaf{At: at}
	for _, set := range sets {
		one := n
		if n.Sets != nil || len(n.Groupings) > 0 {
			of := *n
			of.Sets, of.Groupings = nil, nil
			of.Keys = slices.DeleteFunc(slices.Clone(n.Keys), func(k plan.ColID) bool { return !slices.Contains(set, k) })
			one = &of
		}
		stage, places, err := d.stage(one)
		if err != nil {
			return err
		}
		p := Part{Stage: stage}
		for _, id := range n.Cols() {
			from, ok := places[id]
			if !ok {
				from = -1
			}
			p.Values = append(p.Values, PartValue{From: from})
		}
		for i, g := range n.Groupings {
			p.Values[len(p.Values)-len(n.Groupings)+i].Const = groupingBits(g, set)
		}
		l.Parts = append(l.Parts, p)
	}
	c.Leaves = append(c.Leaves, l)
	return nil
}

// groupingBits is GROUPING(...) in the rows of a grouping set.
func groupingBits(g plan.GroupingItem, set []plan.ColID) sqltype.Value {
	bits := int64(0)
	for _, id := range g.Cols {
		bits <<= 1
		if !slices.Contains(set, id) {
			bits |= 1
		}
	}
	return bits
}

// stage is the number of an aggregate's release, and the places of the aggregate's columns in it. Error functions are computed from a release, so aggregates that differ in these alone are one.
func (d *divider) stage(agg *plan.Aggregate) (int, map[plan.ColID]int, error) {
	bare := *agg
	bare.Errors = nil
	if err := d.ctx.Err(); err != nil {
		return 0, nil, err
	}
	text := plan.Canonical(&bare)
	at, known := d.stages[text]
	if !known {
		if err := d.newStage(&bare); err != nil {
			return 0, nil, err
		}
		at = len(d.out.Stages) - 1
		d.stages[text] = at
	}
	of, places := d.out.Stages[at].Agg, map[plan.ColID]int{}
	cols := of.Cols()
	for i, id := range bare.Cols() {
		places[id] = i
	}
	for _, e := range agg.Errors {
		id := e.ID
		e.Of = cols[places[e.Of]]
		for i, beside := range e.Beside {
			if beside != 0 {
				e.Beside[i] = cols[places[beside]]
			}
		}
		k := slices.IndexFunc(of.Errors, func(old plan.ErrorItem) bool {
			e.ID = old.ID
			return e == old
		})
		if k < 0 {
			e.ID, k = id, len(of.Errors)
			of.Errors = append(of.Errors, e)
		}
		places[id] = len(bare.Keys) + len(bare.Aggs) + k
	}
	return at, places, nil
}

// newStage makes an aggregate a release of its own.
func (d *divider) newStage(agg *plan.Aggregate) (err error) {
	b := &body{divider: d, stage: &Stage{Params: slices.Clone(d.q.Params)}}
	if b.stage.Agg, err = b.over(agg); err != nil {
		return err
	}
	if len(d.out.Stages) == maxStages {
		return sqlerr.New(sqlerr.TooComplex, "the statement has more than %d aggregates over private rows, or grouping sets of them", maxStages).At(agg.Pos).
			WithHint("Ask for fewer in one statement: each has a part of its price.")
	}
	plan.VisitRels(b.stage.Agg, func(r plan.Rel) bool { // those within a person's rows too
		if inner, is := r.(*plan.Aggregate); is {
			d.aggregates += len(inner.Aggs)
		}
		return true
	})
	if d.aggregates > maxAggregates {
		return sqlerr.New(sqlerr.TooComplex, "the statement has more than %d aggregates over private rows, in all its grouping sets", maxAggregates).At(agg.Pos).
			WithHint("Ask for fewer in one statement: each has a part of its price.")
	}
	d.out.Stages = append(d.out.Stages, b.stage)
	return nil
}

// columns finds which columns of public leaves are read.
func (d *divider) columns(c *Computed) error {
	read := map[plan.ColID]bool{}
	note := func(ids []plan.ColID) {
		for _, id := range ids {
			read[id] = true
		}
	}
	if note(c.Root.Cols()); c.Root == d.q.Root {
		clear(read)
		for _, o := range d.q.Outputs {
			read[o.Col] = true
		}
	}
	var visit func(r plan.Rel) error
	visit = func(r plan.Rel) error {
		if slices.ContainsFunc(c.Leaves, func(l Leaf) bool { return l.At == r }) {
			return nil
		}
		for _, x := range plan.Scalars(r) {
			plan.VisitCols(x, func(x *plan.Col) { read[x.ID] = true })
			plan.VisitQueries(x, func(s *plan.Subquery) bool { note(s.Cols); return true })
		}
		note(plan.Reads(r))
		if _, ok := r.(*plan.Distinct); ok {
			note(r.Cols())
		}
		return d.inside(r, visit)
	}
	if err := visit(c.Root); err != nil {
		return err
	}
	for i := range c.Leaves {
		l := &c.Leaves[i]
		if l.Parts != nil {
			l.Cols = l.At.Cols()
			continue
		}
		for _, id := range l.At.Cols() {
			if read[id] && !slices.Contains(l.Cols, id) {
				l.Cols = append(l.Cols, id)
			}
		}
		if all := l.At.Cols(); len(l.Cols) == 0 && len(all) > 0 { // how many rows there are is read all the same
			l.Cols = all[:1:1]
		}
	}
	return nil
}

// rawRows is the refusal of private rows that nothing aggregates; where a subquery of public rows reads them, it is about that.
func (d *divider) rawRows(at *plan.Scan) error {
	var inner *plan.Subquery
	rows := func(r plan.Rel) bool { // that are private too
		return slices.ContainsFunc(plan.Inputs(r), func(in plan.Rel) bool { return relation.HasPrivateTable(in) && !d.released(in) })
	}
	var reaches func(r plan.Rel) bool
	reaches = func(r plan.Rel) bool {
		if r == plan.Rel(at) {
			return true
		}
		for _, x := range plan.Scalars(r) {
			if !plan.VisitQueries(x, func(s *plan.Subquery) bool {
				found := reaches(s.Query)
				if found && !rows(r) {
					inner = s
				}
				return !found
			}) {
				return true
			}
		}
		return slices.ContainsFunc(plan.Inputs(r), reaches)
	}
	if reaches(d.q.Root); inner == nil {
		return relation.NoAggregateError(d.q, relation.PrivateWay(d.q.Root))
	}
	if len(inner.Free()) > 0 || len(inner.Left) > 0 {
		return unit.OwnerlessRowsError(inner.Pos)
	}
	err := sqlerr.New(sqlerr.PrivateShape, "a subquery over private rows is supported in statements that aggregate rows of the same person only").At(inner.Pos)
	if inner.Kind == plan.ExistsQuery {
		return err.WithHint("Ask for bool_or(condition) of the rows in place of EXISTS.")
	}
	return err.WithHint("Let it give an aggregate, such as count(*).")
}
