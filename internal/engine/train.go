package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// facts are the columns of what is told of a model.
var facts = []answer.Column{{Name: "property", Type: sqltype.Text}, {Name: "value", Type: sqltype.Text}}

// training is TRAIN DP MODEL, bound and calibrated: all of it follows from the statement, the policy and the settings.
type training struct {
	session   *Session
	node      *pgsyntax.Train
	world     *world
	under     settings
	values    sqltype.Settings
	filter    *budget.Filter // that loss was taken by
	plan      *mlext.Training
	analysis  *sensitivity.Analysis
	features  []sqlgen.Feature
	gaps      []sqlgen.Gap // of its query
	event     dp.Event
	loss      dp.Loss
	otherwise string // what the other way of charging would take
	split     sensitivity.Split
	sources   []mlext.Source
	key       ledger.Hash
	replan    func(*mlext.Spec) (*mlext.Training, error) // the same training under other options
	explain   bool
	together  bool // explained beside those explained before
	verbose   bool // explained in full
}

// Columns implements kind.
func (t *training) Columns() []answer.Column { return facts }

// prepareTrain checks everything that can be checked before anything is spent.
func prepareTrain(ctx context.Context, s *Session, n *pgsyntax.Train, explain bool) (*training, error) {
	spec, err := mlext.Read(n)
	if err != nil {
		return nil, err
	}
	t := &training{session: s, node: n, world: s.world, under: s.now, values: s.values, explain: explain}
	if spec.Split > 0 {
		t.split = sensitivity.Split{Salt: rand.Text(), Fraction: spec.Split}
	}
	features, target, rows, err := t.bindRows(ctx, n, spec)
	if err != nil {
		return nil, err
	}
	if spec.Epsilon == 0 && spec.Noise() == 0 && spec.Price == 0 {
		spec.Price = s.now.epsilon
	}
	if err := maySpend(s, spec); err != nil {
		return nil, err
	}
	if spec.Delta == 0 && !spec.Pure {
		if spec.Delta = s.world.policy.Budget.Delta / 20; spec.Delta == 0 {
			if err := spec.NoDelta(); err != nil {
				return nil, err
			}
		}
	}
	t.replan = func(spec *mlext.Spec) (*mlext.Training, error) {
		return mlext.Plan(spec, features, target, rows, populationOf(s, spec, t.analysis.Unit))
	}
	plan := func(ctx context.Context, spec *mlext.Spec) (*mlext.Training, error) {
		return calibrated(ctx, s, spec, features, target, rows, t.analysis.Unit)
	}
	t.filter = s.filter
	if spec.Price > 0 {
		err = t.planForPrice(ctx, spec, plan)
	} else if t.plan, err = plan(ctx, spec); err == nil {
		if err = mayTrainWith(s, "epsilon", t.plan.Epsilon); err == nil { // of a noise multiplier it is known now
			err = t.price()
		}
	}
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "train\n%s\n%s\n%s\n%+v", s.analyst.Name, s.world.catalogs.Epoch(), reuse.Canonical(t.analysis), pgsyntax.Print(n))
	copy(t.key[:], h.Sum(nil))
	return t, nil
}

// prepareAgain makes it what its statement means now.
func (t *training) prepareAgain(ctx context.Context) error {
	again, err := prepareTrain(ctx, t.session, t.node, t.explain)
	if err != nil {
		return err
	}
	again.together, again.verbose = t.together, t.verbose
	*t = *again
	return nil
}

// maySpend refuses an epsilon or a price that is out of the analyst's limits.
func maySpend(s *Session, spec *mlext.Spec) error {
	switch {
	case spec.Price > 0:
		return mayTrainWith(s, "price", spec.Price)
	case spec.Noise() > 0:
		return nil
	}
	return mayTrainWith(s, "epsilon", spec.Epsilon)
}

func mayTrainWith(s *Session, what string, x float64) error {
	if least := s.leastEpsilon(); x < least {
		return sqlerr.New(sqlerr.InvalidParam, "%s %g is too small to train with", what, x).WithHint("The least is %g.", least)
	}
	if err := s.mayAsk(what, x); err != nil {
		return err
	}
	return nil
}

// populationOf is how many units a training is calibrated for.
func populationOf(s *Session, spec *mlext.Spec, of dp.Unit) float64 {
	n := float64(s.world.policy.Population.Of(of))
	if spec.Split > 0 {
		n *= spec.Split
	}
	return n
}

// calibrated calibrates a training, which may take seconds: in a turn of the analyst's, and abandoned when the client cancels.
func calibrated(ctx context.Context, s *Session, spec *mlext.Spec, features []mlext.Feature, target mlext.Feature, rows int, of dp.Unit) (*mlext.Training, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, s.uncharged(ctx, err)
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
				s.engine.log.Error("a training could not be planned", "analyst", s.analyst.Name, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				made <- result{nil, sqlerr.New(sqlerr.Internal, "internal error").WithHint("The proxy's log has the cause.")}
			}
		}()
		p, err := mlext.Plan(spec, features, target, rows, population)
		if err == nil {
			err = p.Predictable(mostPredicted)
		}
		made <- result{p, err}
	}()
	select {
	case r := <-made:
		if r.err != nil && ctx.Err() != nil {
			return nil, s.uncharged(ctx, ctx.Err())
		}
		return r.plan, r.err
	case <-ctx.Done():
		return nil, s.uncharged(ctx, ctx.Err())
	}
}

// card are the facts of a training.
func (t *training) card() [][]sqltype.Value {
	p := t.plan
	rows := [][]sqltype.Value{
		{"model", p.Spec.Name}, {"kind", p.Spec.Model}, {"method", p.Method}, {"target", p.Of.Name}, {"unit", string(t.analysis.Unit)},
		{"rows of a unit", fmt.Sprintf("at most %d", p.Rows)}, {"features", fmt.Sprint(len(p.Features))}, {"epsilon", number(p.Epsilon)}, {"delta", number(p.Delta)},
		{"price", number(t.paid())},
	}
	for _, f := range p.Facts {
		rows = append(rows, []sqltype.Value{f.Name, f.Value})
	}
	missing := "rows with a missing value are left out"
	if p.Spec.Fill {
		missing = mlext.MissingMiddle
	}
	if p.Spec.Split > 0 {
		rows = append(rows, []sqltype.Value{"split", fmt.Sprintf("%s of the units, by a hash keyed at its training; EVALUATE takes the others", number(p.Spec.Split))})
	}
	rows = append(rows, []sqltype.Value{"query", pgsyntax.Print(t.node.Query)})
	return append(rows, []sqltype.Value{"missing", missing}, []sqltype.Value{"charge", t.charged(t.loss)}, []sqltype.Value{"policy", s8(t.world.catalogs.Epoch())})
}

func s8(s string) string { return s[:min(len(s), 12)] }

// Run implements kind: it trains, or for EXPLAIN says what training would take.
func (t *training) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := t.session
	if err := s.engine.settle(ctx); err != nil && !t.explain {
		return nil, s.uncharged(ctx, err)
	}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if limit := s.world.policy.Limits.StatementTime; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
	}
	var ans *answer.Answer
	var heard *AuditEvent
	err := s.withOrderRetries(func(bool) error {
		if s.world != t.world || s.now != t.under || s.values != t.values || *s.filter != *t.filter { // a SET, a reload or another window came between Parse and Execute
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
		if t.explain {
			rows, err := t.explained(ctx)
			if !t.verbose {
				rows = brief(rows)
			}
			ans = &answer.Answer{Rows: rows, Tag: "EXPLAIN"}
			return err
		}
		heard = &AuditEvent{Analyst: s.analyst.Name, Statement: t.key, Plan: fmt.Sprintf("train %s by %s\n%s", t.plan.Spec.Model, t.plan.Method, reuse.Canonical(t.analysis)), Order: t.filter.Order, Outcome: Answered}
		var err error
		ans, err = t.runOnce(ctx, heard)
		return err
	})
	if heard != nil {
		s.observeEnd(heard, err)
	}
	return ans, err
}

// runOnce trains at the order that it was priced at.
func (t *training) runOnce(ctx context.Context, heard *AuditEvent) (*answer.Answer, error) {
	s := t.session
	if err := s.notStopped(); err != nil {
		return nil, err
	}
	spec := t.plan.Spec
	release, err := s.engine.models.Hold(ctx, spec.Name, s.analyst.Name, spec.Replace)
	if err != nil {
		return nil, s.modelsFailed(ctx, err)
	}
	defer release()
	if err := t.train(ctx, heard); err != nil {
		return nil, err
	}
	ans := &answer.Answer{Rows: t.card(), Tag: "TRAIN DP MODEL", Notice: t.notice()}
	ans.Warnings = append(newOmitted(s, t.analysis), warningsOf(s.newGaps(t.gaps))...)
	return ans, nil
}

// free refuses a name that is taken.
func (t *training) free(ctx context.Context) error {
	s, spec := t.session, t.plan.Spec
	if err := s.engine.models.Free(ctx, spec.Name, s.analyst.Name, spec.Replace); err != nil {
		return s.modelsFailed(ctx, err)
	}
	return nil
}

// train charges, reads, trains and keeps the model.
//
// Proof: (1) the whole training is charged durably before a private row is read; (2) rows are read in one snapshot of the schema that the policy was bound to, and confirmed; (3) whatever fails afterwards keeps the charge and has one fixed error, the client's own cancel
// apart; (3') that noisy gradients diverged is a function of what they release, so it is told; (4) the model, which is (epsilon, delta)-DP for units of at most Rows rows (mlext.Training), is durable before anything of it is shown.
func (t *training) train(ctx context.Context, heard *AuditEvent) error {
	s := t.session
	s.progress.At("waiting for a turn")
	done, err := s.turn(ctx)
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer done()
	rows, err := t.plan.Collect()
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer rows.Wipe()
	if s.engine.collects != nil {
		s.engine.collects(rows)
	}
	rows.Within(t.within())
	tx, err := s.engine.begin(ctx, s.world)
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer tx.Close()
	ids, err := s.engine.ledger.ReserveAll(ctx, []ledger.Reservation{t.reservation()}) // (1) the whole is charged before a private row is read
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return s.uncharged(ctx, err)
	case errors.Is(err, ledger.ErrOrder):
		return err
	case err != nil:
		return t.denied(ctx, err)
	}
	heard.Reservation, heard.Price, heard.Loss = ids[0], t.paid(), t.loss
	s.observeCharge(*heard)
	open := []*openCharge{{ids[0]}}
	s.progress.At("reading private rows")
	s.progress.Charged("price " + number(t.paid()))
	if err = t.read(ctx, tx.Tx, rows); err == nil {
		err = tx.confirm(ctx) // (2) in one snapshot of the schema that the policy was bound to
	}
	tx.Close()
	if err == nil {
		var model *mlext.Model
		if model, err = t.plan.Train(rows, s.engine.noise, t.watch(ctx)); err == nil {
			err = t.keep(ctx, model) // (4) the model is durable before anything of it is shown
		}
	}
	diverged := errors.Is(err, mlext.ErrDiverged) // (3') a function of released gradients, so it is told
	renamed := sqlerr.ID(err) == sqlerr.DuplicateObject.ID && !diverged
	if err != nil && !diverged && !renamed {
		defer s.abandon(ctx, open)
		return s.resourceFailed(ctx, open, err) // (3) any other failure keeps the charge and has one fixed error
	}
	if err := s.engine.ledger.Commit(context.WithoutCancel(ctx), open[0].id, ledger.Release{Key: t.key, External: true}); err != nil {
		return s.ledgerFailed(err)
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
func (t *training) keep(ctx context.Context, m *mlext.Model) error {
	m.Sources = t.sources
	if m.Card = nil; t.split.Salt != "" {
		m.Split = &mlext.Split{Unit: string(t.analysis.Unit), Salt: t.split.Salt, Fraction: t.split.Fraction}
	}
	for _, row := range t.card() {
		m.Card = append(m.Card, mlext.Fact{Name: fmt.Sprint(row[0]), Value: fmt.Sprint(row[1])})
	}
	return t.session.engine.models.Keep(context.WithoutCancel(ctx), t.session.analyst.Name, m, t.plan.Spec.Replace)
}

// watch keeps the step of the training, and ends it when the client does.
func (t *training) watch(ctx context.Context) func(done, of int) error {
	return func(done, of int) error {
		step := "training " + t.plan.Spec.Name
		if of > 0 { // a fixed number; how many steps a solver takes is the data's
			step += fmt.Sprintf(", step %d of %d", done, of)
		}
		t.session.progress.At(step)
		return ctx.Err()
	}
}

// notice is what was spent, and what is left.
func (t *training) notice() string {
	s := t.session
	if s.now.notices == "off" {
		return ""
	}
	text := fmt.Sprintf("spent: price %s, for a training of epsilon %s and delta %s", number(t.paid()), number(t.plan.Epsilon), number(t.plan.Delta))
	if b, err := s.engine.ledger.Balance(s.payer()); err == nil && b.Filter.Order == t.filter.Order {
		text += fmt.Sprintf("; left: %s trainings at this charge; %s", statements(b.StatementsLeft(t.loss)), usedNote(b))
	}
	if s.now.notices == "full" {
		text += "\ncharge: " + t.charged(t.loss)
	}
	return text
}
