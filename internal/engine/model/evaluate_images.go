package model

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// ImagesEvaluation is EVALUATE of a network over images, which no SQL computes: private rows are read as a training reads them, and counted in the proxy. Its charge is found as a training's is.
type ImagesEvaluation struct {
	*Evaluation
	model  *mlext.Model
	counts *Training
}

// prepareImages checks it.
func prepareImages(ctx context.Context, e *Evaluation, m *mlext.Model) (*ImagesEvaluation, error) {
	i := &ImagesEvaluation{Evaluation: e, model: m}
	return i, i.prepare(ctx)
}

// Columns implements session.Kind.
func (e *ImagesEvaluation) Columns() []answer.Column {
	if e.explain != nil {
		return facts
	}
	return e.Evaluation.Columns()
}

// prepare checks everything that can be checked before anything is spent.
func (e *ImagesEvaluation) prepare(ctx context.Context) error {
	s, n := e.Session, e.Node
	if len(n.By) > 0 {
		return sqlerr.New(sqlerr.Unsupported, "EVALUATE of a cnn has no GROUP BY").At(int(n.By[0].Pos)).WithHint("Evaluate each group by a statement of its own, with WHERE %s = ... in its query.", pgsyntax.QuoteIdent(n.By[0].Text))
	}
	split, err := e.of(e.model)
	if err != nil {
		return err
	}
	price := s.Now.Epsilon
	if e.price > 0 {
		price = e.price
	}
	delta := s.World.Policy.Budget.Delta / 20
	if delta == 0 {
		return sqlerr.New(sqlerr.InvalidParam, "EVALUATE of a cnn needs a delta, and the data set's budget has none").At(int(n.Pos)).WithHint("EXPORT DP MODEL %s AS onnx, and evaluate it elsewhere.", pgsyntax.QuoteIdent(n.Name.Text))
	}
	if err := MayTrainAt(s, price); err != nil {
		return err
	}
	as := &pgsyntax.Train{Pos: n.Pos, Name: n.Name, Model: pgsyntax.Word{Text: e.model.Kind}, Target: pgsyntax.Word{Pos: n.Query.Pos, Text: e.model.Target.Name}, Query: n.Query}
	spec := mlext.Evaluates(as, price, delta)
	t := &Training{Session: s, Node: as, world: s.World, under: s.Now, values: s.Values, literals: e.literals, Split: split, shown: shownAs{purpose: forEvaluation}}
	features, target, rows, err := t.BindRows(ctx, as, spec)
	if err != nil {
		return err
	}
	if split.Salt != "" && string(t.Analysis.Unit) != e.model.Split.Unit {
		return sqlerr.New(sqlerr.InvalidParam, "model %s was trained on a part of other units", e.model.Name).At(int(n.Pos)).WithHint("SPLIT none evaluates it on all.")
	}
	if err := e.model.Fits(features, target); err != nil {
		return err
	}
	t.replan = func(spec *mlext.Spec) (*mlext.Training, error) {
		return e.model.Evaluating(spec, features, target, rows)
	}
	t.charge.filter = s.Filter
	if err := t.planForPrice(ctx, spec, func(_ context.Context, spec *mlext.Spec) (*mlext.Training, error) { return t.replan(spec) }); err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "evaluate\n%s\n%s\n%s\n%+v", s.Analyst.Name, s.World.Catalogs.Epoch(), reuse.Canonical(t.Analysis), pgsyntax.Print(n))
	copy(t.key[:], h.Sum(nil))
	e.counts = t
	return nil
}

// Run implements session.Kind.
func (e *ImagesEvaluation) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := e.Session
	if err := s.Engine.Settle(ctx); err != nil && e.explain == nil {
		return nil, s.Uncharged(ctx, err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	var ans *answer.Answer
	var event *server.AuditEvent
	err := s.WithOrderRetries(func(bool) error {
		again, err := prepareEvaluate(ctx, s, e.Node, e.explain, e.Ask) // the model, a SET, a reload or other charges may have changed since Parse
		if err != nil {
			return s.Planned(ctx, err)
		}
		now, ok := again.(*ImagesEvaluation)
		if !ok {
			return sqlerr.New(sqlerr.Unsupported, "model %s has become another while it was evaluated", e.model.Name).WithHint("Ask again.")
		}
		*e = *now
		if e.explain != nil {
			rows, err := e.explained()
			ans = answer.Properties(rows, s.Intervals)
			return err
		}
		t := e.counts
		event = &server.AuditEvent{Analyst: s.Analyst.Name, Statement: t.key, Plan: fmt.Sprintf("evaluate %s\n%s", e.model.Kind, reuse.Canonical(t.Analysis)), Order: t.charge.filter.Order, Outcome: server.Answered}
		list, err := e.evaluate(ctx, event)
		if err != nil {
			return err
		}
		if t.Split.Salt != "" {
			list = slices.Insert(list, 0, mlext.Fact{Name: "people", Value: part(t.Split)})
		}
		ans = &answer.Answer{Tag: "EVALUATE DP MODEL", Notice: named(t.notice(), list)}
		for _, f := range list {
			ans.Rows = append(ans.Rows, []sqltype.Value{f.Name, f.Value})
		}
		ans.Warnings = append(stage.Omitted(t.Analysis), stage.WarningsOf(s.NewGaps(t.gaps))...)
		return nil
	})
	if event != nil {
		s.ObserveEnd(event, err)
	}
	return ans, err
}

// evaluate charges, reads, counts and releases.
//
// Proof: (1) the release is charged durably before a private row is read; (2) rows are read in one snapshot of the schema that the policy was bound to, and confirmed; (3) what is told is computed of mlext.Tally's one release, which is (epsilon, delta)-DP for units of at most Rows rows; (4) whatever fails afterwards keeps the charge and has one fixed error, the client's own cancel apart;
// (5) nothing is shown before the charge is committed.
func (e *ImagesEvaluation) evaluate(ctx context.Context, event *server.AuditEvent) ([]mlext.Fact, error) {
	s, t := e.Session, e.counts
	if err := s.NotStopped(); err != nil {
		return nil, err
	}
	s.Progress.At("waiting for a turn")
	done, err := s.Turn(ctx)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer done()
	tally, err := t.Plan.Tally(e.model)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer tally.Wipe()
	st, err := sqlgen.UnitRows(t.Analysis, s.Engine.Dialect, t.Features, t.Analysis.MaxRows, 0)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	tx, err := s.Engine.Begin(ctx, s.World)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	defer tx.Close()
	if err := s.CanStore(ctx, 0); err != nil {
		return nil, err
	}
	charge := t.Reservation()
	charge.Text = pgsyntax.Condensed(pgsyntax.Print(e.Node), ledger.MaxText)
	ids, err := s.Engine.Ledger.ReserveAll(ctx, []ledger.Reservation{charge}) // (1) before a private row is read
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return nil, s.Uncharged(ctx, err)
	case errors.Is(err, ledger.ErrOrder):
		return nil, err
	case err != nil:
		return nil, e.denied(err)
	}
	event.Reservation, event.Price, event.Loss = ids[0], t.paid(), t.charge.loss
	s.ObserveCharge(*event)
	open := []*session.OpenCharge{{ID: ids[0]}}
	s.Progress.At("reading private rows")
	s.Progress.Charged("price " + server.Number(t.paid()))
	if err = ReadRows(ctx, tx.Tx, st, tally.Add); err == nil {
		err = tx.Confirm(ctx) // (2) in one snapshot of the schema that the policy was bound to
	}
	tx.Close()
	var list []mlext.Fact
	if err == nil {
		list, err = tally.Release(s.Engine.Noise) // (3) one release, of which all is computed
	}
	if err != nil {
		defer s.Abandon(ctx, open)
		return nil, s.ResourceFailed(ctx, open, err) // (4) any failure keeps the charge and has one fixed error
	}
	if err := s.Engine.Ledger.Commit(context.WithoutCancel(ctx), open[0].ID, ledger.Release{Key: t.key, External: true}); err != nil { // (5)
		return nil, s.LedgerFailed(err)
	}
	return list, nil
}

// denied is an evaluation that the budget does not hold, with the price that passes.
func (e *ImagesEvaluation) denied(err error) error {
	s, t := e.Session, e.counts
	var d *ledger.Denied
	if !errors.As(err, &d) {
		return s.LedgerFailed(err)
	}
	return refusedEvaluation(t, d)
}

// explained is what evaluating would take.
func (e *ImagesEvaluation) explained() ([][]sqltype.Value, error) {
	s, t := e.Session, e.counts
	balance, err := s.Balance()
	if err != nil {
		return nil, err
	}
	rows := [][]sqltype.Value{
		{"model", e.model.Name}, {"price", server.Number(t.paid())}, {"epsilon", server.Number(t.Plan.Epsilon)}, {"delta", server.Number(t.Plan.Delta)},
		{"unit", string(t.Analysis.Unit)}, {"rows of a unit", fmt.Sprintf("at most %d", t.Plan.Rows)}, {"noise multiplier", fmt.Sprintf("%.6g", t.Plan.Composed.Multiplier)},
		{"computed", "by dpsql, of the rows as a training reads them; asked again it is charged again"}, {"charge", t.charged(t.charge.loss)},
	}
	for _, w := range append(stage.Omitted(t.Analysis), stage.WarningsOf(t.gaps)...) {
		rows = append(rows, []sqltype.Value{"warning", w})
	}
	rows = append(rows, []sqltype.Value{"left", server.Statements(balance.StatementsLeft(t.charge.loss)) + " evaluations at this charge"})
	if err := balance.Denies(t.charge.loss); err != nil {
		var refused *sqlerr.Error
		if err := e.denied(err); !errors.As(err, &refused) || refused.ID != sqlerr.BudgetExhausted.ID && refused.ID != sqlerr.LifetimeEnded.ID {
			return nil, err
		}
		rows = append(rows, []sqltype.Value{"refused", refused.Message + ". " + refused.Hint})
	}
	return rows, nil
}

// refusedEvaluation names the largest price that the balance which refused it admits.
func refusedEvaluation(t *Training, d *ledger.Denied) error {
	hint := "No smaller price of this evaluation passes now; more budget is the owner's to give."
	if low := t.Session.LeastEpsilon(); t.passesAt(d.Balance, low) {
		high := t.Plan.Spec.Price
		for range 20 {
			if mid := (low + high) / 2; t.passesAt(d.Balance, mid) {
				low = mid
			} else {
				high = mid
			}
		}
		if x := server.RoundDown3(low); t.passesAt(d.Balance, x) {
			low = x
		}
		hint = fmt.Sprintf("WITH (price = %s) passes now.", server.Number(low))
	}
	return private.RefusedByBudget(t.Session, d, "this evaluation at price "+server.Number(t.paid()), hint)
}

// passesAt says whether the evaluation would be admitted at another price.
func (t *Training) passesAt(b ledger.Balance, price float64) bool {
	other, spec := *t, t.Plan.Spec.Calibrated()
	spec.Price = price
	err := other.planForPrice(context.Background(), spec, func(_ context.Context, spec *mlext.Spec) (*mlext.Training, error) { return t.replan(spec) })
	return err == nil && b.CanAdmit(other.charge.loss)
}
