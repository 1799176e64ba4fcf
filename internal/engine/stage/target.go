package stage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TargetAndSize are the statement's target and the size that its asker expects: of the session, or of EXPLAIN's own options.
func (p *Staged) TargetAndSize() (t session.Target, size uint64, err error) {
	t, size = p.Session.Now.Target, p.Session.Now.Size
	if p.Explain != nil {
		if v, ok := p.Explain.Options["target_error"]; ok {
			if t, err = session.ParseTarget("TARGET_ERROR", v); err != nil {
				return t, size, err
			}
		}
		if v, ok := p.Explain.Options["expected_size"]; ok {
			size, err = session.ParseSize("EXPECTED_SIZE", v)
		}
	}
	return t, size, err
}

// SolveForTargetError is a statement's stages, each at the least price that should give the target in each of the output columns that are its aggregates, and how that was found, for each; the stages themselves without a
// target.
//
// Proof: claim: prices, and whether bounds are chosen anew, follow from the statement, the policy, the settings and earlier releases alone. widths reads scales, which are public, and values of releases that this analyst may be given (Ledger.Lookup, relatives); nothing
// else is read. So they are post-processing, chosen adaptively as the filter allows (budget.NewFilter), and reserved before private rows are read as ever: each stage at the whole loss of its own price.
func (p *Staged) SolveForTargetError(ctx context.Context, stages []*Stage, args []sqltype.Value) (out []*Stage, words []string, err error) {
	out, words = slices.Clone(stages), make([]string, len(stages))
	t, size, err := p.TargetAndSize()
	if err != nil || t.Most == 0 || !slices.ContainsFunc(stages, (*Stage).IsCharged) {
		return out, words, err
	}
	if p.Under.Fresh {
		return nil, nil, sqlerr.New(sqlerr.TargetUnknown, "an error of %s is aimed at by an earlier release, which dpsql.fresh leaves alone", t).
			WithHint("SET dpsql.fresh = off, and pay the difference only; or SET dpsql.target_error = off, and dpsql.price.")
	}
	sum := 0.0
	for i, st := range stages {
		switch {
		case !st.IsCharged():
		case st.As != i:
			out[i], words[i] = out[st.As], words[st.As]
		default:
			var price float64
			if out[i], price, words[i], err = p.solveStage(ctx, stages, i, t, size, args); err != nil {
				return nil, nil, err
			}
			sum += price
		}
	}
	return out, words, p.CheckTargetPrice(sum)
}

// CheckTargetPrice refuses a price of all releases, with a target, that this analyst may not ask for, or that is above dpsql.price: nobody pays more than they have set. EXPLAIN, which pays nothing, tells that one (AboveSet).
func (p *Staged) CheckTargetPrice(sum float64) error {
	t, _, err := p.TargetAndSize()
	most := p.Session.Analyst.MaxQueryEpsilon
	switch {
	case err != nil || t.Most == 0:
		return err
	case sum > most*(1+1e-9):
		return sqlerr.New(sqlerr.PriceTooLarge, "an error of %s takes a price of %s for all releases of this statement, and this analyst may ask for %g", t, server.Number(server.RoundUp3(sum)), most).
			WithHint("SET dpsql.target_error to a larger error, ask for one of its releases at a time, or ask the owner for a larger max_query_price.")
	case p.Explain != nil:
		return nil
	}
	if words, cure := p.AboveSet(sum); words != "" {
		return sqlerr.New(sqlerr.PriceTooLarge, "%s", words).WithHint("%s asks at that price, or SET dpsql.target_error to a larger error. Nothing was spent.", cure)
	}
	return nil
}

// AboveSet says that the price for a target is above dpsql.price, and the setting that allows it; "" where it is not.
func (p *Staged) AboveSet(sum float64) (words, cure string) {
	t, _, err := p.TargetAndSize()
	set := p.Session.Now.Epsilon
	if err != nil || t.Most == 0 || sum <= set*(1+1e-9) {
		return "", ""
	}
	price := server.Number(min(server.RoundUp3(sum), p.Session.Analyst.MaxQueryEpsilon))
	return fmt.Sprintf("an error of %s takes price %s, and dpsql.price is %s", t, price, server.Number(set)), "SET dpsql.price = " + price
}

// solveStage is stage i at its least price, and that; 0 where a release keeps the target.
func (p *Staged) solveStage(ctx context.Context, stages []*Stage, i int, t session.Target, size uint64, args []sqltype.Value) (*Stage, float64, string, error) {
	st := stages[i]
	if st.An.HasTrees() {
		return nil, 0, "", sqlerr.New(sqlerr.TargetUnknown, "how far an order statistic or a choice of values is from the truth depends on where the values are, so no price is known at which this statement has an error of %s", t).
			WithHint("SET dpsql.target_error = off; EXPLAIN tells of each dpsql.price how many rows in rank a statistic errs by.")
	}
	named := p.NamedOf(i)
	if len(named) == 0 {
		return nil, 0, "", sqlerr.New(sqlerr.TargetUnknown, "%s, so none has an error of %s", p.unnamed(), t).
			WithHint("SELECT the aggregate itself as a column, or SET dpsql.target_error = off.")
	}
	st, w, err := p.widthsOfEither(ctx, st, t, size, named, args)
	if err != nil {
		return nil, 0, "", err
	}
	out, from := *st, w.from
	if w.kept {
		out.Priced, out.Request.Epsilon, out.Kept, out.KeptOf = nil, w.price, w.reused, w.of
		return &out, 0, fmt.Sprintf("a 95%% error of at most %s, %s", t, from), nil
	}
	if out.Request.Epsilon, err = p.leastPrice(st, t, w); err != nil {
		return nil, 0, "", err
	}
	if out.Priced, out.Again = nil, w.fresh; w.fresh {
		from += ". It is asked anew, since a top-up does not narrow what bounds cut"
	}
	if little, err := w.hasNoisyChoices(out.Request.Epsilon); err != nil || little {
		if err != nil {
			return nil, 0, "", err
		}
		w.errors = w.freshErrors
		if out.Request.Epsilon, err = p.leastPrice(st, t, w); err != nil {
			return nil, 0, "", err
		}
		out.Again = true
		from += ". It is asked anew, since bounds and groups were chosen at a far smaller price"
	}
	if out.Aimed, err = p.aimed(st, w, out.Request.Epsilon); err != nil {
		return nil, 0, "", err
	}
	return &out, out.Request.Epsilon, fmt.Sprintf("a 95%% error of at most %s, %s", t, from), nil
}

// aimed are the errors by which a price was found.
func (p *Staged) aimed(st *Stage, w *Widths, epsilon float64) (out []Expected, err error) {
	list, err := w.errors(epsilon)
	for i, n := range list {
		out = append(out, Expected{n.name, RoundedErrorText(st.An, w.named[i].Formula, n.width), Finite(n.width)})
	}
	return out, err
}

// NamedOf are the output columns that are aggregates of stage i, or of another that is the same release.
func (p *Staged) NamedOf(i int) (named []NamedAggregate) {
	for _, st := range p.Stages {
		if st.As == i {
			named = append(named, NamedAggregates(p.Program, st.An)...)
		}
	}
	return named
}

// unnamed says what an error cannot be of.
func (p *Staged) unnamed() string {
	if len(p.Stages) == 1 {
		return "no output column of this statement is an aggregate"
	}
	return "a release of this statement has no output column that is its aggregate"
}

// Narrowed brings two prices together, down to so small a ratio: at the lower one something is not, from the higher one on it is.
func Narrowed(low, high, ratio float64, is func(price float64) (bool, error)) (below, above float64, err error) {
	for high/low > ratio {
		mid := math.Sqrt(low * high)
		switch ok, err := is(mid); {
		case err != nil:
			return 0, 0, err
		case ok:
			high = mid
		default:
			low = mid
		}
	}
	return low, high, nil
}

// leastPrice searches the prices that this analyst may ask for, to three digits.
func (p *Staged) leastPrice(st *Stage, t session.Target, w *Widths) (float64, error) {
	low, high := st.Request.Least, p.Session.Analyst.MaxQueryEpsilon
	if ok, err := w.Within(low); err != nil || ok {
		return low, err
	}
	ok, err := w.Within(high)
	if err != nil {
		return 0, err
	}
	if ok {
		_, found, err := Narrowed(low, high, 1.004, w.Within)
		return min(high, server.RoundUp3(found)), err
	}
	no := sqlerr.New(sqlerr.PriceTooLarge, "an error of %s takes a larger price than this analyst may ask for, which is %g", t, high)
	const most = 1000
	if ok, err = w.Within(most); err != nil {
		return 0, err
	}
	if !ok {
		return 0, no.WithHint("SET dpsql.target_error to a larger error, or ask over larger groups.")
	}
	_, found, err := Narrowed(high, most, 1.004, w.Within)
	if err != nil {
		return 0, err
	}
	return 0, no.WithHint("It takes about %s; SET dpsql.target_error to a larger error, or ask the owner for a larger max_query_price.", server.Number(server.RoundUp3(found)))
}

// Widths tells, for each price, whether the errors are small enough.
type Widths struct {
	kept   bool             // by what there is: nothing is charged
	reused *release.Release // that this is computed from another question's release
	of     int64            // its reservation
	price  float64          // of what is kept
	from   string           // the size that they go by

	target      session.Target
	named       []NamedAggregate
	errors      func(epsilon float64) ([]namedError, error) // of the columns at a price; nil: none can be had at it
	release     *release.Release                            // nil: they go by none
	fresh       bool                                        // there is one of the statement's own, which is not topped up
	plan        func(epsilon float64) (*price.Quote, error)
	freshErrors func(epsilon float64) ([]namedError, error) // errors, of a new release with the same bounds
}

// Within says whether the errors at a price are within the target.
func (w *Widths) Within(epsilon float64) (bool, error) {
	list, err := w.errors(epsilon)
	return err == nil && areWithinTarget(w.target, list), err
}

// noisyChoiceRatio is how much smaller than at a new price noise of choices is for which they are made again.
const noisyChoiceRatio = 10

// hasNoisyChoices says that bounds or groups were chosen with so much more noise than at this price that measuring again at them is not what was asked for: a top-up keeps them. It costs at most a ninth more.
func (w *Widths) hasNoisyChoices(epsilon float64) (bool, error) {
	if w.release == nil || len(w.release.Plan.Choices)+len(w.release.Plan.Selections) == 0 || epsilon < noisyChoiceRatio*w.release.Plan.Price {
		return false, nil
	}
	mp, err := w.plan(epsilon)
	if err != nil || len(mp.Choices) != len(w.release.Plan.Choices) || len(mp.Selections) != len(w.release.Plan.Selections) {
		return false, err
	}
	for i, c := range w.release.Plan.Choices {
		if price.ChoiceScale(c) >= noisyChoiceRatio*price.ChoiceScale(mp.Choices[i]) {
			return true, nil
		}
	}
	for i, sel := range w.release.Plan.Selections {
		if sel.Scale.Float() >= noisyChoiceRatio*mp.Selections[i].Scale.Float() {
			return true, nil
		}
	}
	return false, nil
}

// Widths goes by the first of these that is known: a release of the statement, one of which its own is computed, the size that the asker expects, the policy's population.
func (p *Staged) Widths(ctx context.Context, st *Stage, t session.Target, size uint64, named []NamedAggregate, args []sqltype.Value) (*Widths, error) {
	w, paired, err := p.widthsOf(ctx, st, t, named, args)
	once := "Ask once with SET dpsql.target_error = off, at a price that gives a value: the next price follows from that release."
	var silent *sqlerr.Error
	if paired { // it would answer that, free, and tell no size
		once = "Ask once with SET dpsql.target_error = off and SET dpsql.fresh = on, at a price that gives a value: the next price, with SET dpsql.fresh = off, follows from that release."
		if errors.As(err, &silent) && silent.ID == sqlerr.TargetUnknown.ID {
			err = silent.WithHint("%s", once)
		}
	}
	if w != nil || err != nil {
		return w, err
	}
	from := "as dpsql.expected_size says"
	rows := float64(size)
	if size == 0 && p.World.Policy.Population.MostOf(st.An.Units()) > 0 && st.An.Groups.Public && !IsFiltered(st.An) {
		rows, from = p.Session.DeclaredRows(st.An), "as the policy's population says, spread evenly over the groups"
	}
	sized := slices.ContainsFunc(named, func(n NamedAggregate) bool { return isSizeDependent(t, st.An, st.An.Formulas[n.Formula]) })
	if len(st.An.Choices) > 0 { // first of all: no size makes bounds known
		return nil, sqlerr.New(sqlerr.TargetUnknown, "this statement's bounds are chosen when it is asked, so it is not known at which price it has an error of %s", t).WithHint("%s", once)
	}
	if st.An.Clipped && st.An.CanAnyBeClipped() {
		return nil, sqlerr.New(sqlerr.TargetUnknown, "what dpsql.clip cuts is not known before the statement is asked, and so not at which price it has an error of %s", t).WithHint("%s", once)
	}
	if rows == 0 && sized {
		return nil, sqlerr.New(sqlerr.TargetUnknown, "how large this statement's groups are is not known, and so not at which price it has an error of %s", t).
			WithHint("SET dpsql.expected_size to the number of rows that a group has, about. %s", once)
	}
	for _, n := range named {
		f := st.An.Formulas[n.Formula]
		if f.Kind == sensitivity.IsAvg && isDistinctCount(st.An, f) {
			return nil, sqlerr.New(sqlerr.TargetUnknown, "how many distinct values %q is of is not known, and so not at which price it has an error of %s", n.Column, t).
				WithHint("%s", once)
		}
		if t.Relative && !(math.Abs(valueAt(st.An, f, rows)) > 0) {
			return nil, sqlerr.New(sqlerr.TargetUnknown, "how large %q will be is not known, and so not at which price it has an error of %s", n.Column, t).
				WithHint("SET dpsql.target_error to a number in place of a part. Or: %s", once)
		}
	}
	from = fmt.Sprintf("for %v rows a group, %s", max(1, math.Round(rows)), from)
	if !sized {
		rows, from = math.NaN(), "however large its groups are"
	}
	return &Widths{errors: p.errorsAt(st, rows, named), target: t, named: named, from: from}, nil
}

// IsFiltered says whether some rows are left out, so the population tells nothing of how many are kept.
func IsFiltered(a *sensitivity.Analysis) bool {
	for _, m := range a.Measures {
		if m.Filter != nil {
			return true
		}
	}
	return !plan.VisitRels(a.Agg.Input, func(r plan.Rel) bool {
		s, scan := r.(*plan.Scan)
		_, filter := r.(*plan.Filter)
		return !filter && (!scan || s.Rows == nil)
	})
}

// isDistinctCount: an aggregate of distinct values, of which the number of rows does not tell how many there are.
func isDistinctCount(a *sensitivity.Analysis, f sensitivity.Formula) bool {
	return slices.ContainsFunc([]int{f.Count, f.Sum}, func(m int) bool { return m >= 0 && a.Measures[m].NeedsOwnScan() })
}

// valueAt is the least magnitude that an aggregate may have in a group of so many rows, by their range: a part of it is within the target then wherever the values are. NaN of others than counts, sums and averages of them.
func valueAt(a *sensitivity.Analysis, f sensitivity.Formula, rows float64) float64 {
	if isDistinctCount(a, f) {
		return math.NaN()
	}
	least := func() float64 {
		m := a.Measures[f.Sum]
		if !m.Declared {
			return math.NaN()
		}
		lo, hi := m.RangeLo.InexactFloat64(), m.RangeHi.InexactFloat64()
		if lo <= 0 && hi >= 0 {
			return 0
		}
		return math.Min(math.Abs(lo), math.Abs(hi))
	}
	switch f.Kind {
	case sensitivity.IsCount:
		return rows
	case sensitivity.IsSum, sensitivity.IsSumFromPair:
		return rows * least()
	case sensitivity.IsAvg:
		return least()
	}
	return math.NaN()
}

// errorsAt are those of a plan at a price, for groups of so many rows.
func (p *Staged) errorsAt(st *Stage, rows float64, named []NamedAggregate) func(float64) ([]namedError, error) {
	return func(epsilon float64) ([]namedError, error) {
		ask := st.Request
		ask.Epsilon = epsilon
		mp, err := price.New(st.An, ask)
		if sqlerr.ID(err) == sqlerr.NoiseTooLarge.ID {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := finish.NewErrors(st.An, mp.Run())
		if err != nil {
			return nil, err
		}
		e = e.Simultaneous(p.ExpectedRows(st.An, nil))
		var out []namedError
		for _, n := range named {
			out = append(out, namedError{n.Column, valueAt(st.An, st.An.Formulas[n.Formula], rows), e.Expected(n.Formula, rows)})
		}
		return out, nil
	}
}

// areWithinTarget compares errors with the target; none do not hold.
func areWithinTarget(t session.Target, list []namedError) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(n namedError) bool { return !isWithinTarget(t, n.width, n.value) })
}

// isWithinTarget compares an error with the target; NaN does not hold.
func isWithinTarget(t session.Target, width, value float64) bool {
	if t.Relative {
		return width <= t.Most*math.Abs(value)
	}
	return width <= t.Most
}
