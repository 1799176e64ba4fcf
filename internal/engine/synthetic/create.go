package synthetic

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/mlext/synth"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

var facts = []answer.Column{{Name: "property", Type: sqltype.Text}, {Name: "value", Type: sqltype.Text}}

// mostRows is how many rows a synthetic table of so many columns has at most: they are in the proxy's memory while they are queried.
func mostRows(columns int) int { return min(200_000, session.MostSyntheticCells/max(columns, 1)) }

// Creation is CREATE DP SYNTHETIC TABLE, bound and priced: all of it follows from the statement, the policy and the settings.
type Creation struct {
	Session *session.Session
	Node    *pgsyntax.Synthesize
	options *options
	source  *source
	charge  *charge
	key     ledger.Hash
	explain bool
	verbose bool

	literals sqltype.Settings // by which its literals are read
}

// Prepare checks a statement about synthetic tables.
func Prepare(ctx context.Context, s *session.Session, n pgsyntax.Node, statement *pgsyntax.Explain) (session.Kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Synthesize:
		c := &Creation{Session: s, Node: n, literals: s.Values, explain: statement != nil, verbose: statement != nil && explain.IsOn(statement, "verbose")}
		return c, c.prepare(ctx)
	case *pgsyntax.SyntheticTables:
		return &tables{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// Columns implements session.Kind.
func (c *Creation) Columns() []answer.Column { return facts }

// prepare checks everything that can be checked before anything is spent.
func (c *Creation) prepare(ctx context.Context) (err error) {
	s, n := c.Session, c.Node
	if err := pgsyntax.CheckNewName(n.Name.Text); err != nil {
		return err.At(int(n.Name.Pos))
	}
	if strings.Contains(n.Name.Text, ".") {
		return sqlerr.New(sqlerr.InvalidParam, "the name %q of a synthetic table has a dot", n.Name.Text).At(int(n.Name.Pos)).WithHint("Take a name without one: %s.", strings.ReplaceAll(n.Name.Text, ".", "_"))
	}
	if _, taken := s.Catalog.Table("", n.Name.Text); taken {
		return sqlerr.New(sqlerr.DuplicateObject, "there is a table %q, which the synthetic one would hide behind", n.Name.Text).At(int(n.Name.Pos)).WithHint("Take another name, such as %s.", plan.QuoteIdent(n.Name.Text+"_synthetic"))
	}
	if c.options, err = read(s, n); err != nil {
		return err
	}
	if c.source, err = bind(ctx, s, n, c.options.rows, &c.literals); err != nil {
		return err
	}
	balance, err := s.Balance()
	if err != nil {
		return err
	}
	if c.charge, err = charged(s, c.options, c.source, balance); err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "synthetic table\n%s\n%s\n%s\n%+v", s.Analyst.Name, s.World.Catalogs.Epoch(), reuse.Canonical(c.source.analysis), pgsyntax.Print(n))
	copy(c.key[:], h.Sum(nil))
	return nil
}

// Run implements session.Kind: it makes the table, or for EXPLAIN says what making it would take.
func (c *Creation) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := c.Session
	if err := s.Engine.Settle(ctx); err != nil && !c.explain {
		return nil, s.Uncharged(ctx, err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	var ans *answer.Answer
	var event *server.AuditEvent
	err := s.WithOrderRetries(func(bool) (err error) {
		if err := c.prepare(ctx); err != nil { // a SET, a reload, another window or other charges may have come between Parse and Execute
			return s.Planned(ctx, err)
		}
		if c.explain {
			ans, err = c.explained(ctx)
			return err
		}
		event = &server.AuditEvent{Analyst: s.Analyst.Name, Statement: c.key, Plan: fmt.Sprintf("synthetic table of %d columns\n%s", len(c.source.columns), reuse.Canonical(c.source.analysis)), Order: s.Filter.Order, Outcome: server.Answered}
		ans, err = c.runOnce(ctx, event)
		return err
	})
	if event != nil {
		s.ObserveEnd(event, err)
	}
	return ans, err
}

func (c *Creation) runOnce(ctx context.Context, event *server.AuditEvent) (*answer.Answer, error) {
	s, n := c.Session, c.Node
	if err := s.NotStopped(); err != nil {
		return nil, err
	}
	release, err := s.Engine.Models.Tables().Hold(ctx, n.Name.Text, s.Analyst.Name, n.Replace)
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	defer release()
	made, err := c.make(ctx, event)
	if err != nil {
		return nil, err
	}
	ans := &answer.Answer{Tag: "CREATE DP SYNTHETIC TABLE", Notice: c.notice()}
	for _, f := range made.Card {
		ans.Rows = append(ans.Rows, []sqltype.Value{f.Name, f.Value})
	}
	ans.Warnings = slices.Concat(stage.Omitted(c.source.analysis), stage.WarningsOf(s.NewGaps(c.source.gaps)), c.source.unlisted())
	return ans, nil
}

// make charges, reads, measures, and keeps the table.
//
// Proof: (1) all releases are charged durably, in one reservation, before a private row is read; (2) rows are read in one snapshot of the schema that the policy was bound to, and confirmed; (3) what is shown is computed from synth.Measured alone, which is made of the charged releases (Counts.Measure); (4) whatever fails
// afterwards keeps the charge and has one fixed error, the client's own cancel apart; (5) the table is durable before anything of it is shown.
func (c *Creation) make(ctx context.Context, event *server.AuditEvent) (*mlext.Table, error) {
	s := c.Session
	s.Progress.At("waiting for a turn")
	done, err := s.Turn(ctx)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer done()
	counts := c.charge.design.Counts()
	defer counts.Wipe()
	tx, err := s.Engine.Begin(ctx, s.World)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer tx.Close()
	if err := s.CanStore(ctx, 0); err != nil {
		return nil, err
	}
	ids, err := s.Engine.Ledger.ReserveAll(ctx, []ledger.Reservation{c.Reservation()}) // (1) all releases, before a private row is read
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return nil, s.Uncharged(ctx, err)
	case errors.Is(err, ledger.ErrOrder):
		return nil, err
	case err != nil:
		return nil, c.denied(err)
	}
	event.Reservation, event.Price, event.Loss = ids[0], c.charge.price, c.charge.loss
	s.ObserveCharge(*event)
	open := []*session.OpenCharge{{ID: ids[0]}}
	s.Progress.At("reading private rows")
	s.Progress.Charged("price " + server.Number(c.charge.price))
	var made *mlext.Table
	if err = c.count(ctx, tx, counts); err == nil {
		err = tx.Confirm(ctx) // (2) in one snapshot of the schema that the policy was bound to
	}
	tx.Close()
	if err == nil {
		if made, err = c.synthesize(ctx, counts); err == nil {
			err = s.Engine.Models.Tables().Keep(context.WithoutCancel(ctx), s.Analyst.Name, made, c.Node.Replace) // (5) durable before anything of it is shown
		}
	}
	renamed := sqlerr.ID(err) == sqlerr.DuplicateObject.ID // a function of the names that there are; the table is kept
	if err != nil && !renamed {
		defer s.Abandon(ctx, open)
		return nil, s.ResourceFailed(ctx, open, err) // (4) any other failure keeps the charge and has one fixed error
	}
	if err := s.Engine.Ledger.Commit(context.WithoutCancel(ctx), open[0].ID, ledger.Release{Key: c.key, External: true}); err != nil {
		return nil, s.LedgerFailed(err)
	}
	return made, err
}

// Reservation is the charge.
func (c *Creation) Reservation() ledger.Reservation {
	return ledger.Reservation{Payer: c.Session.Payer(), Statement: c.key, Text: pgsyntax.Print(c.Node), Price: c.charge.price, Events: c.charge.events, Loss: c.charge.loss, Filter: c.Session.Filter}
}

// count reads the rows, and counts them.
func (c *Creation) count(ctx context.Context, tx *server.Snapshot, counts *synth.Counts) error {
	src := c.source
	st, err := sqlgen.UnitRows(src.analysis, c.Session.Engine.Dialect, src.features, src.analysis.MaxRows, 0)
	if err != nil {
		return err
	}
	bins := make([]int, len(src.columns))
	defer clear(bins) // the last row's
	return model.ReadRows(ctx, tx.Tx, st, src.counting(counts, bins))
}

// counting makes bins of rows as they are read.
func (src *source) counting(counts *synth.Counts, bins []int) func(unit int64, steps []int64) error {
	return func(unit int64, steps []int64) error {
		for i := range src.columns {
			bins[i] = src.columns[i].bin(steps)
		}
		return counts.Add(unit, bins)
	}
}

// synthesize measures, fits and draws.
func (c *Creation) synthesize(ctx context.Context, counts *synth.Counts) (*mlext.Table, error) {
	s := c.Session
	s.Progress.At("measuring marginals")
	measured, err := counts.Measure(s.Engine.Noise)
	counts.Wipe()
	if err != nil {
		return nil, err
	}
	fitted, err := measured.Fit(func(done, of int) error { // (3) of what was released
		s.Progress.At(fmt.Sprintf("fitting, step %d of %d", done, of))
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	most := mostRows(len(c.source.columns))
	rows := int(math.Round(math.Min(measured.Total, float64(most))))
	made := c.source.table(fitted, rows, synth.NewDraw(rand.Reader))
	made.Name = c.Node.Name.Text
	for _, row := range c.card() {
		made.Card = append(made.Card, mlext.Fact{Name: fmt.Sprint(row[0]), Value: fmt.Sprint(row[1])})
	}
	made.Card = append(made.Card, mlext.Fact{Name: "rows", Value: fmt.Sprint(rows)}, mlext.Fact{Name: "pairs of columns measured", Value: fmt.Sprint(measured.Pairs())})
	if measured.Total > float64(most) {
		made.Card = append(made.Card, mlext.Fact{Name: "rows of the source", Value: fmt.Sprintf("about %.0f; a synthetic table of %d columns has at most %d", measured.Total, len(c.source.columns), most)})
	}
	return made, nil
}

// denied is a table that the budget does not hold.
func (c *Creation) denied(err error) error {
	s := c.Session
	var d *ledger.Denied
	if !errors.As(err, &d) {
		return s.LedgerFailed(err)
	}
	return private.RefusedByBudget(s, d, "this synthetic table at price "+server.Number(c.charge.price), hint(s, c.options, c.source, d.Balance))
}

// notice is what was spent, and what is left.
func (c *Creation) notice() string {
	s := c.Session
	if s.Now.Notices == "off" {
		return ""
	}
	text := fmt.Sprintf("spent: price %s, for a synthetic table of epsilon %s and delta %s", server.Number(c.charge.price), server.Number(c.charge.design.Epsilon(c.options.delta)), server.Number(c.options.delta))
	if b, err := s.Balance(); err == nil {
		text += fmt.Sprintf("; left: %s tables at this charge; %s", server.Statements(b.StatementsLeft(c.charge.loss)), session.UsedNote(b))
	}
	return text
}
