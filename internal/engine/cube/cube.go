package cube

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Inner prepares the query of a cube, and tells of what kind it is.
type Inner func(ctx context.Context, st *session.Statement, q *pgsyntax.Select) (whole, of session.Kind, err error)

// Prepare checks a statement about cubes.
func Prepare(ctx context.Context, s *session.Session, n pgsyntax.Node, explained *pgsyntax.Explain, ask Inner) (session.Kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Cube:
		c := &Creation{Session: s, Node: n, explained: explained, ask: ask, literals: s.Values}
		return c, c.prepare(ctx)
	case *pgsyntax.DropCube:
		return &drop{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// mostText is how long the query of a cube is at most.
const mostText = 64 << 10

// Creation is CREATE DP CUBE, or EXPLAIN of it. All of it follows from the statement, the policy and the settings.
type Creation struct {
	Session   *session.Session
	Node      *pgsyntax.Cube
	Query     *private.Statement // which is asked
	explained *pgsyntax.Explain
	ask       Inner
	price     float64
	literals  sqltype.Settings // by which its literals are read
	kept      bool
}

// Columns implements session.Kind.
func (c *Creation) Columns() []answer.Column {
	if c.explained == nil {
		return nil
	}
	return (&explain.Statement{Statement: &session.Statement{Explain: c.explained}}).Columns()
}

// Under gives the session the settings that the query is asked under, until it is called off: all levels are measured anew, at the cube's price, and made to agree.
func (c *Creation) Under() (off func()) {
	s := c.Session
	was := s.Now
	s.Now.Epsilon, s.Now.Fresh, s.Now.Target, s.Now.Size = c.price, true, session.Target{}, 0
	if s.Now.Consistent == session.ConsistentOff {
		s.Now.Consistent = session.ConsistentOn
	}
	return func() { s.Now = was }
}

// prepare checks everything that can be checked before anything is spent.
func (c *Creation) prepare(ctx context.Context) error {
	s, n := c.Session, c.Node
	if err := pgsyntax.CheckNewName(n.Name.Text); err != nil {
		return err.At(int(n.Name.Pos))
	}
	text := pgsyntax.Print(n)
	if len(text) > mostText {
		return sqlerr.New(sqlerr.TooLong, "the query of a cube is longer than %d bytes", mostText).At(int(n.Query.Pos)).WithHint("Write a shorter one.")
	}
	c.price = s.Now.Epsilon
	for _, o := range n.With {
		v, err := strconv.ParseFloat(o.Values[0].Text, 64)
		switch {
		case o.Name.Text != "price":
			return sqlerr.New(sqlerr.UndefinedObject, "there is no option %q", o.Name.Text).At(int(o.Name.Pos)).WithHint("CREATE DP CUBE takes WITH (price = 1).")
		case o.List || err != nil || !(v >= s.LeastEpsilon()) || math.IsInf(v, 1):
			return sqlerr.New(sqlerr.InvalidParam, "price cannot be %s", o.Values[0].Text).At(int(o.Values[0].Pos)).WithHint("The least is %g.", s.LeastEpsilon())
		}
		if err := s.MayAsk("price", v); err != nil {
			return err.At(int(o.Values[0].Pos))
		}
		c.price = v
	}
	defer c.Under()()
	_, of, err := c.ask(ctx, &session.Statement{Session: s, Literals: c.literals, Text: pgsyntax.Condensed(text, ledger.MaxText), OfCube: true}, n.Query)
	if err != nil {
		return err
	}
	p, is := of.(*private.Statement)
	switch {
	case !is:
		return sqlerr.New(sqlerr.InvalidParam, "a cube is over rows of people, and this query reads none").At(int(n.Query.Pos)).WithHint("A query over public tables is free: ask it as often as you like.")
	case len(p.Query.Params) > 0:
		return sqlerr.New(sqlerr.Unsupported, "parameters in CREATE DP CUBE are not supported").WithHint("Write the values.")
	}
	c.Query = p
	return c.check(p)
}

// mostGroups is how many groups a level has at most: others are computed from it, and it is in memory.
const mostGroups = stage.MaxReusableGroups

// check refuses a query that is not one aggregate over public grouping sets.
func (c *Creation) check(p *private.Statement) error {
	at := int(c.Node.Query.Pos)
	leaves := p.Program.Answer.Leaves
	shape := sqlerr.New(sqlerr.Unsupported, "a cube is one SELECT with GROUP BY CUBE").At(at).
		WithHint("Write SELECT a, b, count(*) FROM ... GROUP BY CUBE (a, b), without HAVING, ORDER BY, LIMIT and windows.")
	if len(leaves) != 1 || leaves[0].Parts == nil || len(p.PublicStatements) > 0 || p.InBackend != nil {
		return shape
	}
	n, is := leaves[0].At.(*plan.Aggregate)
	twice := sqlerr.New(sqlerr.Unsupported, "a cube has no level twice").At(at).WithHint("Name each column of GROUP BY once.")
	switch {
	case !is, len(n.Sets) < 2, len(n.Aggs) == 0, len(p.Stages) > len(leaves[0].Parts):
		return shape
	case len(p.Stages) < len(leaves[0].Parts):
		return twice
	}
	for root := p.Program.Answer.Root; root != plan.Rel(n); root = plan.Inputs(root)[0] {
		if _, is := root.(*plan.Project); !is {
			return shape
		}
	}
	for _, g := range n.Aggs {
		if g.Distinct || !slices.Contains([]plan.AggFunc{plan.CountRows, plan.Count, plan.Sum, plan.Avg}, g.Fn) {
			name := g.Name()
			if g.Distinct {
				name += "(DISTINCT ...)"
			}
			return sqlerr.New(sqlerr.Unsupported, "a cube has no %s", name).At(g.Pos).WithHint("A cube has count(*), count(x), sum(x) and avg(x). Ask for others by a SELECT of their own.")
		}
	}
	for i, st := range p.Stages {
		a := st.An
		switch {
		case st.As != i:
			return twice
		case len(st.Inputs) > 0:
			return shape
		case a.Joined != nil || a.Pairs != nil:
			return sqlerr.New(sqlerr.Unsupported, "a cube over rows that belong to several people is not supported").At(at).WithHint("Ask by a SELECT with GROUP BY CUBE.")
		case !a.Groups.Public:
			return undeclared(a).At(at)
		case a.Groups.Count > min(mostGroups, uint64(p.Spooling(st).Items)): //nolint:gosec // not negative
			return sqlerr.New(sqlerr.TooComplex, "a level of the cube has more than %d groups", min(mostGroups, p.Spooling(st).Items)).At(at).WithHint("Group by fewer columns, or by coarser ones.")
		}
	}
	return nil
}

// undeclared refuses groups that noise would choose.
func undeclared(a *sensitivity.Analysis) *sqlerr.Error {
	var names []string
	for _, k := range a.Keys {
		if name := a.VisibleName(k.Col); name != "" && name != plan.Anonymous && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return sqlerr.New(sqlerr.Unsupported, "the groups of a cube are public, and the values of what it is grouped by do not follow from the policy").
			WithHint("Group by columns whose values the policy lists, or by constants, as in CASE WHEN x < 10 THEN 'low' ELSE 'high' END.")
	}
	return sqlerr.New(sqlerr.Unsupported, "the groups of a cube are public, and the values of %s are not all listed in the policy", strings.Join(names, ", ")).
		WithHint("Name them in a condition, as WHERE x IN ('a', 'b'), or ask the owner of the data to list the values of the column.")
}

// Run implements session.Kind: it makes the cube, or for EXPLAIN says what that would take.
func (c *Creation) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := c.Session
	if err := s.Engine.Settle(ctx); err != nil && c.explained == nil {
		return nil, s.Uncharged(ctx, err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	if err := c.prepare(ctx); err != nil { // a SET, a reload or another window may have come between Parse and Execute
		return nil, s.Planned(ctx, err)
	}
	if c.explained != nil {
		return c.explain(ctx)
	}
	if err := s.NotStopped(); err != nil {
		return nil, err
	}
	release, err := s.Engine.Models.Cubes().Hold(ctx, c.Node.Name.Text, s.Analyst.Name)
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	defer release()
	defer c.Under()()
	c.Query.Keep = c.keep
	c.kept = false
	asked, err := c.Query.Run(ctx, nil)
	switch {
	case err != nil:
		return nil, err
	case !c.kept: // the policy was changed meanwhile
		return nil, sqlerr.New(sqlerr.Unsupported, "the query of the cube reads no rows of people any more").WithHint("Nothing was spent. Ask again.")
	}
	return &answer.Answer{Tag: "CREATE DP CUBE", Notice: asked.Notice, Warnings: asked.Warnings}, nil
}

// keep stores the cube that was released. It is durable before anything of it is shown.
func (c *Creation) keep(ctx context.Context, r *private.Run) error {
	s := c.Session
	levels, err := r.Levels(ctx)
	if err == nil {
		err = s.Engine.Models.Cubes().Keep(context.WithoutCancel(ctx), s.Analyst.Name, c.Node.Name.Text, &mlext.Cube{
			Statement: pgsyntax.Print(c.Node.Query), Made: s.Engine.Now().UTC(), Price: c.price, Epoch: s.World.Catalogs.Epoch(), Levels: levels})
	}
	if c.kept = err == nil; c.kept {
		return nil
	}
	s.Engine.Log.Error("a cube could not be kept", append([]any{"analyst", s.Analyst.Name, "cube", c.Node.Name.Text}, server.Logged(err)...)...)
	return sqlerr.New(sqlerr.ResourceFailure, "the cube could not be kept").
		WithHint("What was released is stored as answers: SELECT with the same GROUP BY costs nothing more until they expire. The owner's log has the cause.").WithCause(err)
}

// explain is EXPLAIN of the query under the cube's price, with what the cube has.
func (c *Creation) explain(ctx context.Context) (*answer.Answer, error) {
	s := c.Session
	defer c.Under()()
	st := c.Query.Staged.Statement
	st.Explain = c.explained
	ans, err := (&explain.Statement{Statement: st, Of: c.Query}).Run(ctx, nil)
	if err != nil {
		return nil, err
	}
	groups := uint64(0)
	for _, st := range c.Query.Stages {
		groups += st.An.Groups.Count
	}
	head := []sqltype.Value{fmt.Sprintf("Cube %s: %d levels with %d groups, charged once. Later questions for a level are free", c.Node.Name.Text, len(c.Query.Stages), groups)}
	if len(ans.Rows) > 0 && len(ans.Rows[0]) > 1 {
		head = append(head, ans.Rows[0][1:]...)
	}
	rows := [][]sqltype.Value{head}
	var refused *sqlerr.Error
	switch err := s.Engine.Models.Cubes().Free(ctx, c.Node.Name.Text, s.Analyst.Name); {
	case errors.As(err, &refused):
		words := refused.Message + ". " + refused.Hint
		row := []sqltype.Value{"Refused: " + words}
		if s.Intervals {
			row = append(row, answer.Part{Key: "Refused", Text: words})
		}
		rows = append(rows, row)
	case err != nil:
		return nil, s.ModelsFailed(ctx, err)
	}
	ans.Rows = append(rows, ans.Rows[min(1, len(ans.Rows)):]...)
	return ans, nil
}

// drop is DROP DP CUBE.
type drop struct {
	session *session.Session
	node    *pgsyntax.DropCube
}

// Columns implements session.Kind.
func (*drop) Columns() []answer.Column { return nil }

// Run implements session.Kind.
func (d *drop) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := d.session
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	if err := s.NotFrozen(ctx); err != nil {
		return nil, err
	}
	ok, err := s.Engine.Models.Cubes().Drop(ctx, d.node.Name.Text, s.Analyst.Name)
	switch {
	case err != nil:
		return nil, s.ModelsFailed(ctx, err)
	case !ok && !d.node.IfExists:
		return nil, sqlerr.New(sqlerr.UndefinedObject, "cube %q does not exist", d.node.Name.Text).At(int(d.node.Name.Pos)).WithHint("SELECT cube FROM dpsql.cubes lists those that there are.")
	}
	return &answer.Answer{Tag: "DROP DP CUBE"}, nil
}
