package model

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// facts are the columns of what is told of a model.
var facts = []answer.Column{{Name: "property", Type: sqltype.Text}, {Name: "value", Type: sqltype.Text}}

// Training is TRAIN DP MODEL, bound and calibrated: all of it follows from the statement, the policy and the settings.
type Training struct {
	Session *session.Session
	Node    *pgsyntax.Train
	world   *server.World
	under   session.Settings
	values  sqltype.Settings

	literals sqltype.Settings // by which its literals are read
	charge   trainingCharge
	Plan     *mlext.Training
	Analysis *sensitivity.Analysis
	Features []sqlgen.Feature
	gaps     []sqlgen.Gap // of its query
	Split    sensitivity.Split
	sources  []mlext.Source
	key      ledger.Hash
	replan   func(*mlext.Spec) (*mlext.Training, error) // the same training under other options
	shown    shownAs
}

// trainingCharge is what a training is charged.
type trainingCharge struct {
	filter    *budget.Filter // that loss was taken by
	event     dp.Event
	loss      dp.Loss
	otherwise string // what the other way of charging would take
}

// shownAs is how a training is explained, and what errors say that its rows are read for.
type shownAs struct {
	purpose  Purpose
	explain  bool
	together bool // beside those explained before
	verbose  bool // in full
}

// Columns implements session.Kind.
func (t *Training) Columns() []answer.Column { return facts }

// prepareTrain checks everything that can be checked before anything is spent.
func prepareTrain(ctx context.Context, s *session.Session, n *pgsyntax.Train, literals sqltype.Settings, explain bool) (*Training, error) {
	spec, err := mlext.Read(n)
	if err != nil {
		return nil, err
	}
	t := &Training{Session: s, Node: n, world: s.World, under: s.Now, values: s.Values, literals: literals, shown: shownAs{explain: explain, purpose: ForTraining}}
	if spec.Split > 0 {
		t.Split = sensitivity.Split{Salt: rand.Text(), Fraction: spec.Split}
	}
	features, target, rows, err := t.BindRows(ctx, n, spec)
	if err != nil {
		return nil, err
	}
	if spec.Epsilon == 0 && spec.Noise() == 0 && spec.Price == 0 {
		spec.Price = s.Now.Epsilon
	}
	if spec.Price > 0 { // else it is known when the training is calibrated
		if err := MayTrainAt(s, spec.Price); err != nil {
			return nil, err
		}
	}
	if spec.Delta == 0 && !spec.Pure {
		if spec.Delta = s.World.Policy.Budget.Delta / 20; spec.Delta == 0 {
			if err := spec.NoDelta(); err != nil {
				return nil, err
			}
		}
	}
	t.replan = func(spec *mlext.Spec) (*mlext.Training, error) {
		return mlext.Plan(spec, features, target, rows, populationOf(s, spec, t.Analysis.Unit))
	}
	plan := func(ctx context.Context, spec *mlext.Spec) (*mlext.Training, error) {
		return Calibrated(ctx, s, spec, features, target, rows, t.Analysis.Unit)
	}
	t.charge.filter = s.Filter
	if spec.Price > 0 {
		err = t.planForPrice(ctx, spec, plan)
	} else if t.Plan, err = plan(ctx, spec); err == nil {
		err = t.price()
	}
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "train\n%s\n%s\n%s\n%+v", s.Analyst.Name, s.World.Catalogs.Epoch(), reuse.Canonical(t.Analysis), pgsyntax.Print(n))
	copy(t.key[:], h.Sum(nil))
	return t, nil
}

// prepareAgain makes it what its statement means now.
func (t *Training) prepareAgain(ctx context.Context) error {
	again, err := prepareTrain(ctx, t.Session, t.Node, t.literals, t.shown.explain)
	if err != nil {
		return t.Session.Planned(ctx, err)
	}
	again.shown.together, again.shown.verbose = t.shown.together, t.shown.verbose
	*t = *again
	return nil
}

// populationOf is how many units a training is calibrated for.
func populationOf(s *session.Session, spec *mlext.Spec, of dp.Unit) float64 {
	n := float64(s.World.Policy.Population.Of(of))
	if spec.Split > 0 {
		n *= spec.Split
	}
	return n
}

// Calibrated calibrates a training, which may take seconds: in a turn of the analyst's, and abandoned when the client cancels.
func Calibrated(ctx context.Context, s *session.Session, spec *mlext.Spec, features []mlext.Feature, target mlext.Feature, rows int, of dp.Unit) (*mlext.Training, error) {
	done, err := s.Turn(ctx)
	if err != nil {
		return nil, s.Uncharged(ctx, err)
	}
	type result struct {
		plan *mlext.Training
		err  error
	}
	made := make(chan result, 1)
	spec.Until = ctx.Err // else a calibration that nobody waits for goes on
	population := populationOf(s, spec, of)
	go func() {
		defer done()
		defer func() {
			if p := recover(); p != nil { // here it would end the process, and not the session
				s.Engine.Log.Error("a training could not be planned", "analyst", s.Analyst.Name, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				made <- result{nil, sqlerr.New(sqlerr.Internal, "internal error").WithHint("The proxy's log has the cause.")}
			}
		}()
		p, err := mlext.Plan(spec, features, target, rows, population)
		if err == nil {
			err = p.Predictable(catalog.MostPredicted, s.Engine.Dialect.Facts().Products)
		}
		made <- result{p, err}
	}()
	select {
	case r := <-made:
		if r.err != nil && ctx.Err() != nil {
			return nil, s.Uncharged(ctx, ctx.Err())
		}
		return r.plan, r.err
	case <-ctx.Done():
		return nil, s.Uncharged(ctx, ctx.Err())
	}
}

// card are the facts of a training.
func (t *Training) card() [][]sqltype.Value {
	p := t.Plan
	rows := [][]sqltype.Value{
		{"model", p.Spec.Name}, {"kind", p.Spec.Model}, {"method", p.Method}, {"target", p.Of.Name}, {"unit", string(t.Analysis.Unit)},
		{"rows of a unit", fmt.Sprintf("at most %d", p.Rows)}, {"features", fmt.Sprint(len(p.Features))}, {"epsilon", server.Number(p.Epsilon)}, {"delta", server.Number(p.Delta)},
		{"price", server.Number(t.paid())},
	}
	for _, f := range p.Facts {
		rows = append(rows, []sqltype.Value{f.Name, f.Value})
	}
	missing := "rows with a missing value are left out"
	if p.Spec.Fill {
		missing = mlext.MissingMiddle
	}
	if p.Spec.Split > 0 {
		rows = append(rows, []sqltype.Value{"split", fmt.Sprintf("%s of the units, by a hash keyed at its training; EVALUATE takes the others", server.Number(p.Spec.Split))})
	}
	rows = append(rows, []sqltype.Value{"query", pgsyntax.Print(t.Node.Query)})
	return append(rows, []sqltype.Value{"missing", missing}, []sqltype.Value{"charge", t.charged(t.charge.loss)}, []sqltype.Value{"policy", s8(t.world.Catalogs.Epoch())})
}

func s8(s string) string { return s[:min(len(s), 12)] }

// Run implements session.Kind: it trains, or for EXPLAIN says what training would take.
func (t *Training) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := t.Session
	if err := s.Engine.Settle(ctx); err != nil && !t.shown.explain {
		return nil, s.Uncharged(ctx, err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	var ans *answer.Answer
	var event *server.AuditEvent
	err := s.WithOrderRetries(func(bool) error {
		if s.World != t.world || s.Now != t.under || s.Values != t.values || *s.Filter != *t.charge.filter { // a SET, a reload or another window came between Parse and Execute
			if err := t.prepareAgain(ctx); err != nil {
				return err
			}
		} else if err := t.price(); err != nil { // the balance may have changed
			return err
		} else if t.costsMore() {
			if err := t.prepareAgain(ctx); err != nil {
				return err
			}
		}
		if t.shown.explain {
			rows, err := t.explained(ctx)
			if !t.shown.verbose {
				rows = brief(rows)
			}
			ans = answer.Properties(rows, s.Intervals)
			return err
		}
		event = &server.AuditEvent{Analyst: s.Analyst.Name, Statement: t.key, Plan: fmt.Sprintf("train %s by %s\n%s", t.Plan.Spec.Model, t.Plan.Method, reuse.Canonical(t.Analysis)), Order: t.charge.filter.Order, Outcome: server.Answered}
		var err error
		ans, err = t.runOnce(ctx, event)
		return err
	})
	if event != nil {
		s.ObserveEnd(event, err)
	}
	return ans, err
}

// runOnce trains at the order that it was priced at.
func (t *Training) runOnce(ctx context.Context, event *server.AuditEvent) (*answer.Answer, error) {
	s := t.Session
	if err := s.NotStopped(); err != nil {
		return nil, err
	}
	spec := t.Plan.Spec
	release, err := s.Engine.Models.Hold(ctx, spec.Name, s.Analyst.Name, spec.Replace)
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	defer release()
	if err := t.train(ctx, event); err != nil {
		return nil, err
	}
	ans := &answer.Answer{Rows: t.card(), Tag: "TRAIN DP MODEL", Notice: t.notice()}
	ans.Warnings = append(stage.Omitted(t.Analysis), stage.WarningsOf(s.NewGaps(t.gaps))...)
	return ans, nil
}

// free refuses a name that is taken.
func (t *Training) free(ctx context.Context) error {
	s, spec := t.Session, t.Plan.Spec
	if err := s.Engine.Models.Free(ctx, spec.Name, s.Analyst.Name, spec.Replace); err != nil {
		return s.ModelsFailed(ctx, err)
	}
	return nil
}

// train charges, reads, trains and keeps the model.
//
// Proof: (1) the whole training is charged durably before a private row is read; (2) rows are read in one snapshot of the schema that the policy was bound to, and confirmed; (3) whatever fails afterwards keeps the charge and has one fixed error, the client's own cancel
// apart; (3') that noisy gradients diverged is a function of what they release, so it is told; (4) the model, which is (epsilon, delta)-DP for units of at most Rows rows (mlext.Training), is durable before anything of it is shown.
func (t *Training) train(ctx context.Context, event *server.AuditEvent) error {
	s := t.Session
	s.Progress.At("waiting for a turn")
	done, err := s.Turn(ctx)
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer done()
	rows, err := t.Plan.Collect()
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer rows.Wipe()
	if s.Engine.Hooks.Collects != nil {
		s.Engine.Hooks.Collects(rows)
	}
	rows.Within(t.within())
	tx, err := s.Engine.Begin(ctx, s.World)
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer tx.Close()
	if err := s.CanStore(ctx, 0); err != nil {
		return err
	}
	ids, err := s.Engine.Ledger.ReserveAll(ctx, []ledger.Reservation{t.Reservation()}) // (1) the whole is charged before a private row is read
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return s.Uncharged(ctx, err)
	case errors.Is(err, ledger.ErrOrder):
		return err
	case err != nil:
		return t.denied(ctx, err)
	}
	event.Reservation, event.Price, event.Loss = ids[0], t.paid(), t.charge.loss
	s.ObserveCharge(*event)
	open := []*session.OpenCharge{{ID: ids[0]}}
	s.Progress.At("reading private rows")
	s.Progress.Charged("price " + server.Number(t.paid()))
	if err = t.Read(ctx, tx.Tx, rows); err == nil {
		err = tx.Confirm(ctx) // (2) in one snapshot of the schema that the policy was bound to
	}
	tx.Close()
	if err == nil {
		var model *mlext.Model
		if model, err = t.Plan.Train(rows, s.Engine.Noise, t.Watch(ctx)); err == nil {
			err = t.keep(ctx, model) // (4) the model is durable before anything of it is shown
		}
	}
	diverged := errors.Is(err, mlext.ErrDiverged) // (3') a function of released gradients, so it is told
	renamed := sqlerr.ID(err) == sqlerr.DuplicateObject.ID && !diverged
	if err != nil && !diverged && !renamed {
		defer s.Abandon(ctx, open)
		return s.ResourceFailed(ctx, open, err) // (3) any other failure keeps the charge and has one fixed error
	}
	if err := s.Engine.Ledger.Commit(context.WithoutCancel(ctx), open[0].ID, ledger.Release{Key: t.key, External: true}); err != nil {
		return s.LedgerFailed(err)
	}
	if renamed { // a function of the names that there are; the model is kept
		return err
	}
	if diverged {
		return sqlerr.New(sqlerr.InvalidParam, "the training diverged: its parameters are beyond all bounds").WithHint("Take a smaller learning_rate, or fewer steps. What was charged stays charged.")
	}
	return nil
}

// keep stores the model with its card.
func (t *Training) keep(ctx context.Context, m *mlext.Model) error {
	m.Sources = t.sources
	if m.Card = nil; t.Split.Salt != "" {
		m.Split = &mlext.Split{Unit: string(t.Analysis.Unit), Salt: t.Split.Salt, Fraction: t.Split.Fraction}
	}
	for _, row := range t.card() {
		m.Card = append(m.Card, mlext.Fact{Name: fmt.Sprint(row[0]), Value: fmt.Sprint(row[1])})
	}
	return t.Session.Engine.Models.Keep(context.WithoutCancel(ctx), t.Session.Analyst.Name, m, t.Plan.Spec.Replace)
}

// Watch keeps the step of the training, and ends it when the client does.
func (t *Training) Watch(ctx context.Context) func(done, of int) error {
	return func(done, of int) error {
		step := "training " + t.Plan.Spec.Name
		if of > 0 { // a fixed number; how many steps a solver takes is the data's
			step += fmt.Sprintf(", step %d of %d", done, of)
		}
		t.Session.Progress.At(step)
		return ctx.Err()
	}
}

// notice is what was spent, and what is left.
func (t *Training) notice() string {
	s := t.Session
	if s.Now.Notices == "off" {
		return ""
	}
	text := fmt.Sprintf("spent: price %s, for a training of epsilon %s and delta %s", server.Number(t.paid()), server.Number(t.Plan.Epsilon), server.Number(t.Plan.Delta))
	if b, err := s.Engine.Ledger.Balance(s.Payer()); err == nil && b.Filter.Order == t.charge.filter.Order {
		text += fmt.Sprintf("; left: %s trainings at this charge; %s", server.Statements(b.StatementsLeft(t.charge.loss)), session.UsedNote(b))
	}
	if s.Now.Notices == "full" {
		text += "\ncharge: " + t.charged(t.charge.loss)
	}
	return text
}
