package sensitivity

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Program is a statement as releases and what is computed from them (design section 3).
type Program struct {
	Class  Class
	Query  *plan.Query // the statement; without its tables where it has no rows whatever they hold
	Stages []*Stage    // what is released, each after those that it reads; none of a public statement
	Answer Computed
	// Warnings are what follows from the statement alone.
	Warnings []string
}

// Stage is one aggregate over private rows that is released.
type Stage struct {
	Agg    *plan.Aggregate
	Params []sqltype.Type // the statement's, then those of Inputs that are values
	Inputs []Input
}

// Input is a relation that is computed from releases before a stage, which reads it: a value, as its parameter of number Param, or rows.
type Input struct {
	Computed
	Param int         // 0: rows
	Col   plan.ColID  // of the value
	Rows  *plan.Table // what is known of the rows; nil for a value
}

// Computed is a relation that is made of released values and public tables.
type Computed struct {
	Root   plan.Rel
	Leaves []Leaf
}

// Leaf is a node of a computation whose rows are given.
type Leaf struct {
	At    plan.Rel
	Parts []Part // of releases; nil: a public relation
	Cols  []plan.ColID
}

// Part are the rows of one stage, as a leaf has them.
type Part struct {
	Stage  int
	Values []PartValue // one for each of the leaf's columns
}

// PartValue is a column of the stage, or a constant where From is negative.
type PartValue struct {
	From  int
	Const sqltype.Value
}

// maxStages keeps a statement's analyses and charges few: their shares of the price would be of no use either.
const maxStages = 64

// maxAggregates does it for the aggregates of all stages together, and those within a person's rows. Each is several measures at most, and each of these is printed, priced and explained before anything is charged.
const maxAggregates = 256

// maxOperators is how many operators and calls may be in each other over private rows. What is printed for them is longer than they are, on each level again, and backends have limits of their own, which a statement would meet after its charge.
const maxOperators = 1000

// Divide finds what is released of a statement (1), or refuses it. An aggregate that reads private rows is released unless all of its private rows have
// passed another one of many units; then it is computed, like all that stands above. Aggregates that are canonically equal are one release.
//
// Proof: (1) holds: every node above the stages reads releases, public tables, literals and parameters, and no private row: Divide ends at a stage, at a relation of
// public tables, or refuses. So the answer is a function of the releases, the public tables and the statement, which costs nothing more (post-processing: Dwork, Roth
// 2014, Proposition 2.1), and the statement's loss is at most the sum of its stages' (sequential composition: package budget). Which they are follows from the plan and the policy alone.
func Divide(ctx context.Context, q *plan.Query, opts Options) (*Program, error) {
	p := &Program{Class: Public, Query: q, Answer: Computed{Root: q.Root}}
	if !hasPrivateTable(q.Root) {
		p.Query = withoutNoise(q)
		p.Answer.Root = p.Query.Root
		return p, nil
	}
	p.Warnings = reversedLines(q)
	if none := withoutRows(q); none != nil {
		p.Query, p.Answer.Root = none, none.Root
		return p, nil
	}
	p.Class = Private
	if err := shallow(q.Root); err != nil {
		return nil, err
	}
	own := *q
	own.Columns = slices.Clone(q.Columns)
	d := &divider{ctx: ctx, q: &own, opts: opts, out: p, stages: map[string]int{}, passed: map[plan.Rel]bool{}}
	root, err := d.rewriteSemiJoinCounts(q.Root)
	if err != nil {
		return nil, err
	}
	if !d.rewrote {
		root = q.Root
	}
	if own.Root = root; !hasPrivateTable(root) { // one row was counted
		p.Class, p.Query, p.Answer.Root = Public, &own, root
		return p, nil
	}
	if isCorrelated(root) {
		d.rewrote = true
		if own.Root, err = d.lookUp(root); err != nil {
			return nil, err
		}
	}
	if d.rewrote {
		p.Query, p.Answer.Root = d.q, own.Root
	} else {
		d.q = q
	}
	if err := d.above(p.Answer.Root, &p.Answer); err != nil {
		return nil, err
	}
	if err := d.columns(&p.Answer); err != nil {
		return nil, err
	}
	p.Answer.Root, err = plan.ClampShares(p.Answer.Root, p.counts())
	return p, err
}

// counts are the columns of the answer's released relations that are counts.
func (p *Program) counts() map[plan.Rel]map[plan.ColID]plan.AggItem {
	out := map[plan.Rel]map[plan.ColID]plan.AggItem{}
	for _, l := range p.Answer.Leaves {
		out[l.At] = map[plan.ColID]plan.AggItem{}
		if len(l.Parts) != 1 {
			continue
		}
		agg := p.Stages[l.Parts[0].Stage].Agg
		for i, v := range l.Parts[0].Values {
			if k := v.From - len(agg.Keys); k >= 0 && k < len(agg.Aggs) {
				out[l.At][l.Cols[i]] = agg.Aggs[k]
			}
		}
	}
	return out
}

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

// Analyze says what may be measured of a stage.
func (p *Program) Analyze(ctx context.Context, stage int, opts Options) (*Analysis, error) {
	q, s := *p.Query, p.Stages[stage]
	q.Params = s.Params
	z := newAnalyzer(ctx, &q, s.Agg, opts)
	if err := z.run(); err != nil {
		return nil, err
	}
	return z.out, nil
}

type divider struct {
	ctx        context.Context
	q          *plan.Query
	opts       Options
	out        *Program
	stages     map[string]int    // by canonical text, without error functions
	aggregates int               // of all of them
	passed     map[plan.Rel]bool // what was found of a relation

	rewrote bool // q is no longer the statement as it was bound
}

// above goes through what is computed down to what is released.
func (d *divider) above(r plan.Rel, c *Computed) error {
	if !hasPrivateTable(r) {
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

// inside calls f for a node's inputs and for the queries in its expressions.
func (d *divider) inside(r plan.Rel, f func(plan.Rel) error) error {
	var err error
	for _, x := range plan.Scalars(r) {
		plan.VisitQueries(x, func(s *plan.Subquery) bool {
			err = f(s.Query)
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	for _, in := range plan.Inputs(r) {
		if err := f(in); err != nil {
			return err
		}
	}
	return nil
}

// canFinish are the nodes that may stand above releases.
func canFinish(r plan.Rel) bool {
	switch r.(type) {
	case *plan.OneRow, *plan.Values, *plan.Filter, *plan.Project, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Aggregate, *plan.Join, *plan.SetOp:
		return true
	}
	return false
}

// public notes the largest relations of public tables that read no row around them; what reads no table is computed where it stands.
func (d *divider) public(r plan.Rel, c *Computed) error {
	switch {
	case !hasTable(r):
		return nil
	case len(plan.Free(r)) == 0:
		if !slices.ContainsFunc(c.Leaves, func(l Leaf) bool { return l.At == r }) {
			c.Leaves = append(c.Leaves, Leaf{At: r})
		}
		return nil
	}
	return d.inside(r, func(r plan.Rel) error { return d.public(r, c) })
}

// released: every private row below passes an aggregate whose groups may have rows of many units.
func (d *divider) released(r plan.Rel) bool {
	if !hasPrivateTable(r) {
		return true
	}
	was, known := d.passed[r]
	if known {
		return was
	}
	out := canFinish(r)
	if a, ok := r.(*plan.Aggregate); ok && !d.released(a.Input) {
		out = len(plan.Free(a)) == 0 && d.ofMany(a)
	} else {
		out = out && d.inside(r, func(r plan.Rel) error {
			if !d.released(r) {
				return errNotReleased
			}
			return nil
		}) == nil
	}
	d.passed[r] = out
	return out
}

var errNotReleased = sqlerr.New(sqlerr.Internal, "private rows are not released here")

// ofMany: the groups of an aggregate may have rows of many units.
func (d *divider) ofMany(a *plan.Aggregate) bool {
	b := &body{divider: d, trial: true, stage: &Stage{Params: d.q.Params}}
	r, err := b.over(a)
	if err != nil {
		return false
	}
	if a = r; HasSeveralUnitKinds(a.Input) { // whatever it is grouped by: of a kind it has many
		return true
	}
	z := newLinker(d.ctx, d.q, a, d.opts)
	_, err = z.unitRows(&plan.Aggregate{Input: a.Input, Keys: a.Keys, Pos: a.Pos})
	_, is := err.(*notOfUnit)                            // not one of an aggregate further down
	return is || sqlerr.ID(err) == sqlerr.JoinOffUnit.ID // joined rows are of several; further down they are refused wherever they stand
}

// leaf makes an aggregate, which a node is or stands for, a release, or one for each of its grouping sets.
func (d *divider) leaf(at plan.Rel, n *plan.Aggregate, c *Computed) error {
	if way := privateWay(d.q.Root); len(plan.Free(n)) > 0 && returnsRawRows(way) {
		return noAggregate(d.q, way)
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

// PublicValues are the scalar subqueries of a computation that read neither a release nor the row around them.
func (c Computed) PublicValues() (list []*plan.Subquery) {
	var reads func(r plan.Rel) bool // a release; notes the subqueries that do not
	reads = func(r plan.Rel) (released bool) {
		if i := slices.IndexFunc(c.Leaves, func(l Leaf) bool { return l.At == r }); i >= 0 {
			return c.Leaves[i].Parts != nil
		}
		for _, x := range plan.Scalars(r) {
			plan.VisitQueries(x, func(s *plan.Subquery) bool {
				inside := reads(s.Query)
				if !inside && s.Kind == plan.ScalarQuery && len(s.Free()) == 0 {
					list = append(list, s)
				}
				released = released || inside
				return true
			})
		}
		for _, in := range plan.Inputs(r) {
			released = reads(in) || released
		}
		return released
	}
	reads(c.Root)
	return list
}

// PublicLeaves are all public relations that are read.
func (p *Program) PublicLeaves() []Leaf {
	var out []Leaf
	add := func(c Computed) {
		for _, l := range c.Leaves {
			if l.Parts == nil {
				out = append(out, l)
			}
		}
	}
	for _, st := range p.Stages {
		for _, in := range st.Inputs {
			add(in.Computed)
		}
	}
	add(p.Answer)
	return out
}

// rawRows is the refusal of private rows that nothing aggregates; where a subquery of public rows reads them, it is about that.
func (d *divider) rawRows(at *plan.Scan) error {
	var inner *plan.Subquery
	rows := func(r plan.Rel) bool { // that are private too
		return slices.ContainsFunc(plan.Inputs(r), func(in plan.Rel) bool { return hasPrivateTable(in) && !d.released(in) })
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
		return noAggregate(d.q, privateWay(d.q.Root))
	}
	if len(inner.Free()) > 0 || len(inner.Left) > 0 {
		return ownerlessRowsError(inner.Pos)
	}
	return sqlerr.New(sqlerr.PrivateShape, "a subquery over private rows is supported in statements that aggregate rows of the same person only").At(inner.Pos).
		WithHint("Let it give an aggregate, such as count(*).")
}
