package price

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// Mechanism is a choice of noise.
type Mechanism string

// The mechanisms that a policy or SET may name: Auto, and each of dp.Mechanisms. A plan has one of the latter.
const (
	Auto     Mechanism = "auto"
	Laplace  Mechanism = Mechanism(dp.LaplaceNoise)
	Gaussian Mechanism = Mechanism(dp.GaussianNoise)
)

// mechanisms has a row for each mechanism that a statement may ask for: its name in prose, the noise of its measures, of vectors of a bounded L2 norm ("": it bounds none) and of its selection, and the event of a measure without a choice. Auto has no event: it asks for none of them.
var mechanisms = map[Mechanism]struct {
	name                   string
	noise, norm, selection dp.NoiseKind
	event                  func(*budget.Filter, dp.Sensitivity, budget.Limit) (dp.Event, error)
}{
	Auto:     {},
	Laplace:  {"Laplace", dp.LaplaceNoise, "", "", laplaceEvent},
	Gaussian: {"Gaussian", dp.GaussianNoise, dp.GaussianNormNoise, dp.GaussianNoise, gaussianEvent},
}

// Compared are the mechanisms of a plan in the order of dp.Mechanisms.
var Compared = func() []Mechanism {
	out := make([]Mechanism, len(dp.Mechanisms))
	for i, k := range dp.Mechanisms {
		out[i] = Mechanism(k)
	}
	return out
}()

// Words are what a policy or SET may name.
func Words() []string {
	out := []string{string(Auto)}
	for _, m := range Compared {
		out = append(out, string(m))
	}
	return out
}

// Name is the mechanism's in prose; "" where no plan has it.
func (m Mechanism) Name() string { return mechanisms[m].name }

// HasL2Scale is that of the mechanism's noise.
func (m Mechanism) HasL2Scale() bool { return mechanisms[m].noise.HasL2Scale() }

// allows reports that a statement that asks for m may have a plan of another mechanism: that one is asked for, or none is.
func (m Mechanism) allows(of Mechanism) bool {
	row, known := mechanisms[m]
	return known && (row.event == nil || m == of)
}

// allowsScale reports that a statement that asks for m may have noise whose scale goes by the L2 norm, or noise whose scale does not.
func (m Mechanism) allowsScale(l2 bool) bool {
	return slices.ContainsFunc(Compared, func(of Mechanism) bool { return m.allows(of) && of.HasL2Scale() == l2 })
}

// AllowsL2Scale reports that a statement that asks for m may have noise whose scale goes by the L2 norm. It has a Renyi loss alone.
func (m Mechanism) AllowsL2Scale() bool { return m.allowsScale(true) }

// PrefersL2Scale reports that a statement that asks for m has such noise where it errs less, if the budget has a price for it: auto takes none where the plain sum of epsilons has more room.
func (m Mechanism) PrefersL2Scale(f *budget.Filter) bool {
	return m.allowsScale(true) && (!m.allowsScale(false) || f.PrefersRenyi())
}

// limited is what of a limit counts for the mechanism.
func (m Mechanism) limited(l budget.Limit) budget.Limit {
	if m.HasL2Scale() {
		return l.RenyiOnly()
	}
	return l
}

func laplaceEvent(f *budget.Filter, s dp.Sensitivity, l budget.Limit) (dp.Event, error) {
	scale, err := f.LaplaceScale(s, l)
	return dp.Laplace{Sensitivity: s, Scale: scale}, err
}

func gaussianEvent(f *budget.Filter, s dp.Sensitivity, l budget.Limit) (dp.Event, error) {
	scale, err := f.GaussianScale(s, l)
	return dp.Gaussian{Sensitivity: s, Scale: scale}, err
}

// Request is what a statement may cost and how.
type Request struct {
	Filter     *budget.Filter
	Epsilon    float64            // the price tag
	Least      float64            // the least that a statement may cost
	Most       float64            // the most, 0 where that is not known
	Stages     int                // of how many the price is a part; 0 is 1
	QueryDelta float64            // delta of one selecting statement
	Mechanism  Mechanism          // Auto, or one of Compared
	Population int64              // about how many units there are, as the policy says or assumes
	Kinds      map[dp.Unit]uint64 // the same of each kind of units, where the policy says it of each
}

// People is about how many units a statement's rows belong to: of two kinds the lesser number. A flow between them is at most a cap times either kind's number, so that no score of a cap (flow.Scores) is much larger than the lesser one.
func (ask Request) People(a *sensitivity.Analysis) int64 {
	least := uint64(0)
	for _, u := range a.Units() {
		if n := ask.Kinds[u]; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if least == 0 {
		return ask.Population
	}
	return int64(min(least, 1<<40)) //nolint:gosec // not above 2^40
}

// PerStage is the part of one of so many stages of a statement: they share the price, and the delta of selecting groups, alike.
//
// Proof: of losses that are at most a price tag's, a part's is that of the tag of its price: epsilons are e/n each, and the Renyi loss r(e), which grows at least
// in proportion to e (it is that of continuous Laplace noise, convex from r(0) = 0), is at most r(e)/n at e/n. So n stages lose at most r(e) together.
func (ask Request) PerStage(stages int) Request {
	if n := float64(stages); stages > 1 {
		ask.Epsilon, ask.Least, ask.Most, ask.QueryDelta = ask.Epsilon/n, ask.Least/n, ask.Most/n, ask.QueryDelta/n
		ask.Stages = stages
	}
	return ask
}

// Quote says what will be run, for what price; once bounds are chosen what is left of it is a Run. Choices has one entry a choice of the analysis, in order, but where that is the scale of joined rows, the only one then. Measures has one a measure, in order, but for a
// Units measure that the selection's noisy number answers (UnitsFromSelection); what depends on a choice is a dp.Clipped. The selection comes
// last: one, or where the cap of groups is chosen one for each of its edges.
type Quote struct {
	Price      float64
	Mechanism  Mechanism  // one of Compared; "" where only a selection with Laplace noise or picks are run, or nothing
	Choices    []dp.Event // dp.AboveThreshold, or of flows dp.Choice
	Scale      *Scale     // in place of Choices
	Shares     []float64  // of the price, a choice: for EXPLAIN, as the next three
	Parts      []float64  // a measure
	LostParts  []float64  // what tells its lost mass
	Selected   float64    // the selection
	Measures   []dp.Event
	Lost       []*Lost // a measure: what tells its lost mass; nil: it loses nothing
	Selections []dp.Selection
	// UnitsFromSelection is the measure that the selection's noisy numbers are, or -1.
	UnitsFromSelection int
	Loss               dp.Loss
}

// Events are all events, as the ledger keeps them, in the order in which they are run. Of several selections one will be run.
func (p *Quote) Events() []dp.Event {
	var out []dp.Event
	out = append(out, p.Choices...)
	if p.Scale != nil {
		out = append(out, p.Scale.Event)
	}
	for _, ev := range p.Measures {
		if ev != nil {
			out = append(out, ev)
		}
	}
	for _, l := range p.Lost {
		if l != nil {
			out = append(out, l.Event)
		}
	}
	switch len(p.Selections) {
	case 0:
	case 1:
		out = append(out, p.Selections[0])
	default:
		out = append(out, dp.OneOf{Selections: p.Selections})
	}
	return out
}

// New splits the price. Without anything to measure (public groups only) the plan is empty and costs nothing.
//
// Proof: claim: the loss of all events together is at most the price tag's: if every event has an epsilon part, the sum of the
// epsilons is at most e and that of the Renyi losses at most r(e); otherwise the Renyi losses are. Each event is calibrated to a
// part of the limit, and the parts' numerators add up to the denominator, which is their sum: (1) weigh gives a selection a third where it is extra and something else
// is measured, and the measures equal parts of the rest; then each choice of a bound takes its share out of the parts of the measures that use it but for those that follow another's, which
// keep theirs whole; the choice of the cap adds a part of its own, which makes all others' smaller. budget.Limit.Part rounds down and the calibrations round scales up. (2) The sum is taken
// again by the filter over the events as they will be run, and a sum above the tag is refused. Sequential composition: package
// budget. The number of parts and the sensitivities come from the plan and the policy, so no scale depends on private rows.
func New(a *sensitivity.Analysis, ask Request) (*Quote, error) {
	candidates, err := ask.candidates(a.Limit.Norm)
	if err != nil {
		return nil, err
	}
	best, err := build(a, ask, candidates[0])
	if err != nil || len(best.noisy())+len(best.Selections) == 0 {
		return best, err
	}
	for _, m := range candidates[1:] {
		if other, err := build(a, ask, m); err == nil && logErrors(other) < logErrors(best) {
			best = other
		}
	}
	return best, nil
}

// candidates are the mechanisms that a plan may have, the usual one first: what is asked for, or of auto all that bound vectors of the norm and have a price that is not the dearer. There is at least one.
func (ask Request) candidates(norm sensitivity.Norm) ([]Mechanism, error) {
	l2 := norm == sensitivity.L2
	var out []Mechanism
	unpriced := ""
	for _, m := range Compared {
		switch row := mechanisms[m]; {
		case !ask.Mechanism.allows(m) || l2 && row.norm == "":
		case !m.HasL2Scale() || ask.Filter.Order != 0 && (l2 || ask.Mechanism.PrefersL2Scale(ask.Filter)):
			out = append(out, m)
		case ask.Filter.Order == 0:
			unpriced = row.name
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case l2:
		return nil, sqlerr.New(sqlerr.BadMechanism, "dpsql.bounding = l2 needs Gaussian noise").
			WithHint("SET dpsql.bounding = linf, or dpsql.mechanism = auto under a policy with delta and accountant: rdp.")
	case unpriced != "":
		return nil, sqlerr.New(sqlerr.BadMechanism, "%s noise needs a Renyi budget, which this data set's policy does not have", unpriced).
			WithHint("SET dpsql.mechanism = auto, or ask the owner for budget.delta > 0 and accountant: rdp.")
	}
	return nil, sqlerr.New(sqlerr.Internal, "no plan has the mechanism %q", string(ask.Mechanism))
}

// noisy are the events that carry noise of the mechanism.
func (p *Quote) noisy() []dp.Event {
	var out []dp.Event
	for _, ev := range p.Measures {
		if ev != nil && !isPick(ev) {
			out = append(out, ev)
		}
	}
	return out
}

// HasPicks reports that something is picked.
func (p *Quote) HasPicks() bool {
	return slices.ContainsFunc(p.Measures, func(ev dp.Event) bool { return ev != nil && isPick(ev) })
}

func isPick(ev dp.Event) bool {
	c, clipped := ev.(dp.Clipped)
	_, picks := ev.(dp.Picks)
	return picks || clipped && !c.Noise.IsAdded()
}

// logErrors is the sum of the log variances and of the log square of a selection's threshold: which of two plans with the same measures errs less, each measure and the hidden groups weighing alike.
func logErrors(p *Quote) float64 {
	sum := 0.0
	if n := len(p.Selections); n > 0 {
		sum = 2 * math.Log(float64(p.Selections[n/2].Threshold))
	}
	return sum + logVariances(p.noisy())
}

// logVariances is the sum of the log variances of events.
func logVariances(list []dp.Event) float64 {
	sum := 0.0
	for _, ev := range list {
		d, err := noise.DistributionOf(typical(ev))
		if err != nil {
			return math.Inf(1)
		}
		sum += math.Log(d.Variance())
	}
	return sum
}

// NarrowerNoise is the mechanism that errs least of those that auto did not take for a plan, since they have a Renyi loss alone, and how many times narrower its noise of the same price may be, at bounds that were chosen or, where chosen is nil, at typical ones: the geometric mean over the measures. A person's L2 norm over n groups may be smaller than
// the L1 norm by the root of n. 1: there is no other noise to take.
func NarrowerNoise(a *sensitivity.Analysis, ask Request, of *Quote, chosen Chosen) (best Mechanism, gain float64) {
	gain = 1
	if ask.Filter.Order == 0 || of.Mechanism == "" || of.Mechanism.HasL2Scale() || a.Joined != nil || a.Pairs != nil || len(of.Measures) != len(a.Measures) {
		return "", gain
	}
	for _, m := range Compared {
		if m == of.Mechanism || !m.HasL2Scale() || !ask.Mechanism.allows(m) {
			continue
		}
		if g := gainOf(a, ask, of, m, chosen); best == "" || g > gain {
			best, gain = m, g
		}
	}
	return best, gain
}

// gainOf is NarrowerNoise of one mechanism.
func gainOf(a *sensitivity.Analysis, ask Request, of *Quote, m Mechanism, chosen Chosen) float64 {
	with, norm := *a, 1.0
	if a.Limit.Norm == sensitivity.L1 {
		with.Limit.Norm, norm = sensitivity.L2, math.Sqrt(float64(a.Limit.PerUnit))
	}
	other, err := build(&with, ask, m)
	if err != nil {
		return 1
	}
	was, is := of.noisy(), other.noisy()
	if chosen != nil {
		l, err := of.Resolve(a, chosen)
		g, gerr := other.Resolve(&with, chosen)
		if err != nil || gerr != nil {
			return 1
		}
		was, is = (&Quote{Measures: l.Measures}).noisy(), (&Quote{Measures: g.Measures}).noisy()
	}
	if len(was) == 0 || len(was) != len(is) {
		return 1
	}
	ratio := (logVariances(was) - logVariances(is)) / float64(2*len(was))
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return 1
	}
	return norm * math.Exp(ratio)
}

// build calibrates for one mechanism. Losses are rounded up and so are their sums: where that passes the tag by a rounding, a
// tag smaller by 2^-40 holds it.
func build(a *sensitivity.Analysis, ask Request, mech Mechanism) (*Quote, error) {
	tag := ask.Filter.Limit(ask.Epsilon)
	for _, limit := range []budget.Limit{tag, tag.Part(1<<40-1, 1<<40)} {
		p, err := split(a, ask, mech, limit)
		if err != nil {
			return nil, err
		}
		if (ask.Filter.Order == 0 || p.Loss.Renyi <= tag.Renyi) && (p.Loss.Pure <= tag.Epsilon || math.IsInf(p.Loss.Pure, 1)) {
			return p, nil
		}
	}
	return nil, sqlerr.New(sqlerr.Internal, "the price tag does not hold the statement's events")
}

func split(a *sensitivity.Analysis, ask Request, mech Mechanism, limit budget.Limit) (*Quote, error) {
	p := &Quote{Price: ask.Epsilon, UnitsFromSelection: unitsFromSelection(a), Measures: make([]dp.Event, len(a.Measures)), Lost: make([]*Lost, len(a.Measures))}
	w := weigh(a, ask)
	limit = mech.limited(limit)
	for i, m := range a.Measures {
		if w.lost[i] > 0 {
			var err error
			if p.Lost[i], err = lost(ask.Filter, a, i, w.part(limit, w.lost[i]), mech); err != nil {
				return nil, tooMuch(err)
			}
			p.Mechanism = mech
		}
		if i == p.UnitsFromSelection {
			continue
		}
		ev, err := event(ask.Filter, a, m, w.part(limit, w.measures[i]), mech)
		if err != nil {
			return nil, tooMuch(err)
		}
		if p.Measures[i] = ev; m.Pick == nil {
			p.Mechanism = mech
		}
	}
	if len(a.Choices) == 0 {
		if _, err := p.lostAt(a, nil); err != nil {
			return nil, tooMuch(err)
		}
	}
	if w.selection > 0 {
		kind := mechanisms[mech].selection
		if mech.HasL2Scale() {
			p.Mechanism = mech
		}
		for _, groups := range caps(a) {
			sel, err := ask.Filter.Selection(kind, groups, w.part(limit, w.selection), ask.QueryDelta)
			if err != nil {
				return nil, tooMuch(err)
			}
			p.Selections = append(p.Selections, sel)
		}
	}
	for i, c := range a.Choices {
		part := w.part(limit, w.choices[i])
		switch c.By {
		case sensitivity.ByUnits:
			ev, err := choice(a, c, ask, p, part)
			if err != nil {
				return nil, err
			}
			p.Choices = append(p.Choices, ev)
		case sensitivity.ByFlow:
			ev, err := flowChoice(a, c, ask, p, part)
			if err != nil {
				return nil, err
			}
			p.Choices = append(p.Choices, ev)
		case sensitivity.BySmooth:
			if err := p.scale(a, c, ask, part); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("price: it is not known how a bound is chosen by %q", c.By)
		}
		p.Shares = append(p.Shares, float64(w.choices[i])/float64(w.sum()))
	}
	if sum := float64(w.sum()); sum > 0 {
		for _, part := range w.measures {
			p.Parts = append(p.Parts, float64(part)/sum)
		}
		for _, part := range w.lost {
			p.LostParts = append(p.LostParts, float64(part)/sum)
		}
		p.Selected = float64(w.selection) / sum
	}
	loss, err := ask.Filter.Sum(p.Events())
	if err != nil {
		return nil, err
	}
	p.Loss = loss
	return p, nil
}

// caps are the numbers of groups that one unit may be in: one, or those among which it is chosen.
func caps(a *sensitivity.Analysis) []uint64 {
	switch {
	case a.Limit.Cap != nil:
		return a.Limit.Cap.Edges
	case a.Limit.Norm > 0: // the norm is of all groups
		return []uint64{1}
	}
	return []uint64{a.Limit.PerUnit}
}

func event(f *budget.Filter, a *sensitivity.Analysis, m sensitivity.Measure, l budget.Limit, mech Mechanism) (dp.Event, error) {
	if m.Bound != nil || a.Limit.Cap != nil {
		kind := mechanisms[mech].noise
		switch {
		case m.Pick != nil:
			kind = dp.PickNoise
		case a.Limit.Norm == sensitivity.L2:
			kind = mechanisms[mech].norm
		}
		least := m.PerGroup
		if m.Bound != nil {
			least = m.Clip(m.Bound.Edges[0])
		}
		groups := caps(a)
		if m.Vectors() > 1 {
			groups = slices.Clone(groups)
			for i := range groups {
				groups[i] *= m.Vectors()
			}
		}
		return f.Clipped(kind, least, groups, l)
	}
	s := dp.Sensitivity{PerGroup: m.PerGroup, Groups: a.Limit.PerUnit * m.Vectors()}
	if m.Pick != nil {
		scale, err := f.PicksScale(s, l)
		return dp.Picks{Sensitivity: s, Scale: scale}, err
	}
	return mechanisms[mech].event(f, s, l)
}

func tooMuch(err error) error {
	return sqlerr.New(sqlerr.NoiseTooLarge, "the noise that this statement needs is too large to be drawn").
		WithHint("Ask with a larger dpsql.price, over a narrower range, or for fewer groups.").WithCause(err)
}

// CanHaveL2Scale reports whether a statement may have noise whose scale goes by the L2 norm: it is asked for, or auto may take it.
func (ask Request) CanHaveL2Scale() bool {
	return ask.Filter.Order != 0 && ask.Mechanism.PrefersL2Scale(ask.Filter)
}
