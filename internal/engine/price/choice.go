package price

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// weights say how a limit is split: each entry gets its part of the sum.
type weights struct {
	measures, choices []uint64
	lost              []uint64 // what tells a measure's lost mass
	selection         uint64
	take              uint64 // of the whole of each measure that pays for a choice
}

// whole is the weight of a measure that pays for no choice.
const whole = 1000

// weigh splits a statement's price: equal parts for the measures, of which each choice takes its share from those that use it, but for those that only
// follow another measure's; a third for a selection that is extra. What is taken from measures, and what the choice of the cap takes of all, are
// at most mostShare of the price together.
func weigh(a *sensitivity.Analysis, ask Request) weights {
	w := weights{measures: make([]uint64, len(a.Measures)), choices: make([]uint64, len(a.Choices)), lost: make([]uint64, len(a.Measures))}
	parts, paying := uint64(0), uint64(0)
	fromSelection := unitsFromSelection(a)
	for i, m := range a.Measures {
		if i != fromSelection {
			w.measures[i] = whole
			parts++
		}
		if m.Bound != nil && !m.Follows {
			paying++
		}
	}
	if !a.Groups.Public {
		switch {
		case parts == 0 || fromSelection >= 0:
			w.selection = whole
		default:
			w.selection = parts * whole / 2
		}
	}
	if fromSelection >= 0 && a.CanBeClipped(fromSelection) {
		w.lost[fromSelection] = uint64(math.Round(float64(w.selection) * lostShare(a)))
		w.selection -= w.lost[fromSelection]
	}
	switch {
	case a.Joined != nil:
		w.take = whole * scaleShare
	case a.Pairs != nil:
		w.take = uint64(math.Round(whole * flowShare(ask.Epsilon/float64(max(1, parts)), ask.People(a), groups(a))))
	default:
		w.take = whole * choiceShare
	}
	if a.Limit.Cap != nil {
		w.take = min(w.take, uint64(whole*besideCap(float64(paying*whole)/float64(parts*whole+w.selection))))
	}
	rest := w.selection
	if fromSelection >= 0 {
		rest += w.lost[fromSelection]
	}
	for i, m := range a.Measures {
		if m.Bound != nil && !m.Follows {
			w.measures[i] -= w.take
			w.choices[m.Bound.Index] += w.take
		}
		if i != fromSelection && a.CanBeClipped(i) {
			w.lost[i] = uint64(math.Round(whole * lostShare(a)))
			w.measures[i] -= w.lost[i]
		}
		if i != fromSelection {
			rest += w.measures[i] + w.lost[i]
		}
	}
	if c := a.Limit.Cap; c != nil {
		w.choices[c.Index] = rest * w.take / (whole - w.take)
	}
	return w
}

// besideCap is the share s at which all choices take mostShare of the price, if measures that are a part r of it give s, and the choice of the cap takes s of what is
// left and itself: (s r + c)/(1 + c) = mostShare for c = (1 - s r) s/(1 - s), the smaller root of (2 - mostShare) r s^2 - (1 + r) s + mostShare.
func besideCap(r float64) float64 {
	return 2 * mostShare / (1 + r + math.Sqrt((1+r)*(1+r)-4*mostShare*(2-mostShare)*r))
}

// unitsFromSelection is the measure that a selection's noisy numbers of units answer; -1 for none.
func unitsFromSelection(a *sensitivity.Analysis) int {
	for i, m := range a.Measures {
		if !a.Groups.Public && m.Kind == sensitivity.Units {
			return i
		}
	}
	return -1
}

// LeastKept is the part of its rows that a filtered measure is expected to keep at least where it errs less at the bound of all rows than at one of its own, whose choice
// takes a share of its price, and of what telling its lost mass leaves a larger one: Laplace noise goes as one over the price, Gaussian noise as one over its root. Which of them a statement has is not asked of its plan, as that goes by the price.
func LeastKept(a *sensitivity.Analysis, ask Request) float64 {
	w := weigh(a, ask)
	left := 1 - float64(w.take)/float64(whole-slices.Max(append(w.lost, 0)))
	if a.Limit.Norm == sensitivity.L2 || ask.CanHaveL2Scale() {
		return math.Sqrt(left)
	}
	return left
}

func (w weights) sum() uint64 {
	sum := w.selection
	for _, list := range [][]uint64{w.measures, w.choices, w.lost} {
		for _, x := range list {
			sum += x
		}
	}
	return sum
}

// part is one weight's part of the limit.
func (w weights) part(l budget.Limit, n uint64) budget.Limit {
	den := w.sum()
	common, rest := den, n
	for rest != 0 {
		common, rest = rest, common%rest
	}
	return l.Part(n/common, den/common) // 1/3 is 1/3, however it came about
}

// choiceShare is the part of its price that a measure gives for the choice of its bound, mostShare that of all choices in a statement's price. docs/accuracy.md tells how they were found.
const (
	choiceShare = 0.12
	mostShare   = 0.40
)

// fewGroups are so few that a bound is taken one candidate higher than where its choice ended, unless that was at the first: what is lost beyond it is more uncertain then than its noise.
const fewGroups = 12

// Settled are the edges that serve where choices by threshold ended at these: they follow from what was released, and from public facts. Each is lifted; and a sum that has a range ends where its number of rows does: at the least edge that holds
// so many rows of the range. That serves too where too few people have anything but the centre to choose by: rare events have a rate.
func (p *Quote) Settled(a *sensitivity.Analysis, ended Chosen) Chosen {
	out := slices.Clone(ended)
	for i, c := range a.Choices {
		out[i] = AppliedEdge(a, out[i], p.CandidateCount(c))
	}
	for i, c := range a.Choices {
		if most, ok := p.endOfRange(a, c, out); ok && (out.HasTooFewPeople(c) || out[i] > most) {
			out[i] = most
		}
	}
	return out
}

// endOfRange is the least edge of a sum's choice that holds its range times the bound on its rows, chosen or declared; false: it has none.
func (p *Quote) endOfRange(a *sensitivity.Analysis, c *sensitivity.Choice, chosen Chosen) (int, bool) {
	if c.Rows == nil && c.Most > 0 && c.Measure >= 0 && a.Limit.Norm == sensitivity.NoNorm {
		return int(p.CandidateCount(c)) - 1, true //nolint:gosec // at most dp.MaxEdges
	}
	if c.Rows == nil || chosen.HasTooFewPeople(c.Rows) {
		return 0, false
	}
	sum, count := &a.Measures[c.Measure], &a.Measures[c.Rows.Measure]
	_, rows := p.Edge(c.Rows, chosen)
	hi, lo := bits.Mul64(sum.MostOfRow()*sum.Subdivision, rows) // below 2^63
	if hi >= count.Subdivision {
		return 0, false
	}
	most, rest := bits.Div64(hi, lo, count.Subdivision)
	if rest > 0 {
		most++
	}
	at, _ := slices.BinarySearch(c.Edges, most)
	return min(at, int(p.CandidateCount(c))-1), true //nolint:gosec // at most dp.MaxEdges
}

// AppliedEdge is the edge that is taken where a choice by threshold ended at one of so many: it follows from that and from public facts.
func AppliedEdge(a *sensitivity.Analysis, at int, edges uint64) int {
	if at <= 0 || !IsLifted(a) {
		return at
	}
	return min(at+1, int(edges)-1) //nolint:gosec // at most dp.MaxEdges
}

// IsLifted reports a statement of few groups, whose bounds are taken one candidate higher than where choices ended.
func IsLifted(a *sensitivity.Analysis) bool { return groups(a) <= fewGroups }

// flowShare is the part of a measure's price that the choice of a flow's cap takes. It follows from public facts only: the price, the population that the policy declares or assumes, and the number of
// groups. With few people it is dearer to miss a cap than to have a tenth more noise. The numbers are measured ones (docs/accuracy.md).
func flowShare(epsilon float64, population int64, groups float64) float64 {
	const least, most = 0.05, 0.45
	share := 2 * math.Pow(math.Max(1, float64(population)*epsilon), -0.23)
	return math.Min(most, math.Max(least, share/math.Sqrt(math.Min(16, groups))))
}

// UnknownGroups is how many groups a statement is expected to have where they are not public.
const UnknownGroups = 25

// groups is how many groups' noise one bound decides about, from public facts.
func groups(a *sensitivity.Analysis) float64 {
	const most = 100
	if !a.Groups.Public {
		return UnknownGroups
	}
	return math.Min(most, math.Max(1, float64(a.Groups.Count)))
}

// stopping is -ln of about twice the probability that a choice by threshold goes on beyond a bound that nobody is beyond, where no group but one has noise; to go four times as far it has to do so at four edges, each of
// which ends it with a probability of its own: 0.25% of all draws do.
const stopping = 4.4

// choice calibrates a choice by threshold: a bound is raised while the number of people beyond it exceeds the threshold.
//
// From b to b' one gains at most (people beyond b) (b'-b) and pays for it with noise that is larger by (b'-b) times its size in each group. So the threshold is the size of the noise in all groups together, per unit of the
// bound, wherever on the scale the bound is; where that is less than what the choice's own noise needs in order to stop in time, it is that. The interval tells what is lost beyond.
func choice(a *sensitivity.Analysis, c *sensitivity.Choice, ask Request, p *Quote, l budget.Limit) (dp.AboveThreshold, error) {
	usable, perStep, err := candidates(a, c, ask, p)
	if err != nil {
		return dp.AboveThreshold{}, err
	}
	scale, err := ask.Filter.ThresholdScale(l)
	if err != nil {
		return dp.AboveThreshold{}, tooMuch(err)
	}
	noise := math.Min(math.Sqrt(groups(a))*perStep, mostOfPeople*float64(max(0, ask.People(a))))
	ev := dp.AboveThreshold{Edges: uint64(usable), Threshold: uint64(math.Ceil(math.Max(stopping*scale.Float(), noise))), Scale: scale} //nolint:gosec // positive
	ev.Margin = uint64(math.Ceil(margin(a, c) * scale.Float()))
	if err := ev.Validate(); err != nil {
		return ev, tooMuch(err)
	}
	return ev, nil
}

// HiddenOutliers is about how many people a choice by threshold may leave beyond its bound, the most of any choice: if they have far more than all others, no interval holds what they have. 0: no bound is chosen so.
func (p *Quote) HiddenOutliers() (n uint64) {
	for i := range p.Choices {
		n = max(n, p.HiddenBy(i))
	}
	return n
}

// seen, in scales of a choice's noise, is by how many more people than its threshold there must be beyond a bound so that the choice is likely to see them: at the threshold itself noise ends it at each edge as often as not. TestFewSeen measures it.
const seen = 3

// HiddenBy is about how many people choice i may leave beyond its bound; 0: it is not by threshold.
func (p *Quote) HiddenBy(i int) uint64 {
	ev, ok := p.event(i).(dp.AboveThreshold)
	if !ok {
		return 0
	}
	return ev.Threshold + uint64(math.Ceil(seen*ev.Scale.Float())) // far below 2^53
}

// margin, in scales of the choice, is by how many more people than its threshold there must be to choose the bound of a sum. That bound is dozens of candidates up: where people are hardly more than the threshold, noise ends the
// choice at one far below. With five scales that is at most 1 of 10 of the draws that pass, and finish.IsFarBeyondBound sees most of them by what was released: of a sum of one sign, where a unit is in one group or under an L1 norm, nearly all, so two will do. Of a sum of both signs the classes of its lost mass tell it, where people have hundreds of times the bound: with three no interval of docs/accuracy.md's few people missed. Else a unit's vector keeps up to the root of their number times its norm, so there Beyond has no such rule.
func margin(a *sensitivity.Analysis, c *sensitivity.Choice) float64 {
	switch {
	case c.Measure < 0 || !a.Measures[c.Measure].IsSumBounded():
		return 0
	case groups(a) > fewGroups || a.Limit.PerUnit > 1 && a.Limit.Norm != sensitivity.L1 || a.Measures[c.Measure].HasOwnChoice:
		return 5
	case a.Measures[c.Measure].LostSides() > 1:
		return 3
	default:
		return 2
	}
}

// mostOfPeople is the part of all people that a threshold is at most because of noise: more would leave nothing of a statement over a small part of them.
const mostOfPeople = 0.02

// candidates are the edges, the first ones, that a choice is among, and by how much a step of the bound raises the noise of a group.
func candidates(a *sensitivity.Analysis, c *sensitivity.Choice, ask Request, p *Quote) (usable int, perStep float64, err error) {
	usable, perStep = drawable(a, c, p)
	if usable == 0 {
		return 0, 0, tooMuch(errors.New("price: no edge's noise can be drawn"))
	}
	if !holdsRow(a, c, c.Edges[usable-1]) {
		return 0, 0, tooMuch(errors.New("price: no noise can be drawn for one row of the declared range"))
	}
	return usable, perStep, nil
}

// What the cap of a flow that is e times as large must save: slopeOfFlow times the choice's own scale, by which a cap that is far off is improbable (one that is x times too large by about x to the minus that), and
// slopeOfGroups times what raising the cap by 1 adds to the noise of all groups but one. A flow's score is a third of what the cap cuts, in caps (flow.Scores). That price is paid for each e-fold from the first edge to a good
// cap, so flowFolds of them cost at most a half of the population; but each leastOfNoise times the choice's scale, without which caps that are far too large are as good as any. Measured on docs/accuracy.md's data.
const (
	slopeOfFlow   = 2.5
	slopeOfGroups = 12
	leastOfNoise  = 1.25
	flowFolds     = 10
)

// flowChoice calibrates the choice of a flow's cap.
func flowChoice(a *sensitivity.Analysis, c *sensitivity.Choice, ask Request, p *Quote, l budget.Limit) (dp.Choice, error) {
	usable, perStep, err := candidates(a, c, ask, p)
	if err != nil {
		return dp.Choice{}, err
	}
	scale, err := ask.Filter.ChoiceScale(l)
	if err != nil {
		return dp.Choice{}, tooMuch(err)
	}
	// A score is the flow in one group that a cap cuts, in the mean over a unit's groups, a unit's part being flowUnit.
	most := flowUnit * float64(max(1, ask.People(a))) / flowFolds // what an e-fold may cost if all of them cost everyone
	more := math.Min(flowUnit*slopeOfGroups*(groups(a)-1)*perStep/float64(a.Limit.PerUnit), most/5)
	slope := math.Max(leastOfNoise*scale.Float(), math.Min(slopeOfFlow*scale.Float()+more, most/2))
	slope = math.Min(slope, dp.MaxChoiceScale/2)
	ev := dp.Choice{Edges: uint64(usable), Slope: dp.Scale{Num: uint64(math.Ceil(16 * slope)), Den: 16}, Scale: scale}
	if err := ev.Validate(); err != nil {
		return ev, tooMuch(err)
	}
	return ev, nil
}

// flowUnit is what a score is for each unit that a flow's cap cuts as much of as it leaves, and up to twice that where it leaves little: in units of a choice, of which one unit more changes it by at most one.
const flowUnit = float64(flow.Down) / noise.ChoiceSteps

// LargestLikelyCap is about the largest cap of a flow that is likely to be found: beyond it the price of its e-folds is more than the score of the first cap, were it to leave next to nothing of all people. +Inf: all are. It follows from public facts.
func LargestLikelyCap(a *sensitivity.Analysis, c *sensitivity.Choice, ev dp.Choice, ask Request) float64 {
	score := float64(ask.People(a)) * float64(flow.Up) / noise.ChoiceSteps
	if reach := float64(c.Edges[0]) * math.Exp(score/ev.Slope.Float()); reach < float64(c.Edges[ev.Edges-1]) {
		return reach
	}
	return math.Inf(1)
}

// Visible lowers the numbers of units by which the cap of groups is chosen, so that no cap is taken at which hardly any group would be shown: the number that decides about an edge is at most that of all people, less peopleShown, plus the
// choice's threshold. So noise compares all people with the one as it compares those in more groups with the other, and no population has to be declared.
//
// Proof: claim: one unit more raises each number by 0 or 1, as noise.Threshold.Choose assumes. (1) It raises the number of all people and of those beyond an edge by 0 or 1. (2) The thresholds are public. (3) The lesser of two such numbers is such a number, and so is the greater of one and 0.
func (p *Quote) Visible(ev dp.AboveThreshold, units []int64) []int64 {
	out := slices.Clone(units)
	for edge := 1; edge < min(len(out), len(p.Selections)); edge++ { // of public groups there is no selection
		more := int64(ev.Threshold) - peopleShown(p.Selections[edge]) //nolint:gosec // below 2^53, (2)
		out[edge] = max(0, min(out[edge], units[0]+more))             // (3) still moved by 0 or 1
	}
	return out
}

// peopleShown is how many people a statement is of at least so that its groups are likely to be shown. With Laplace noise the threshold rises as the cap does, so groups in which people have no more of them are hidden sooner; with Gaussian noise it rises as the root.
func peopleShown(s dp.Selection) int64 {
	people := int64(min(s.Threshold, dp.MaxChoiceUnits)) //nolint:gosec // below 2^53
	if !s.Kind().HasL2Scale() {
		people *= 3
	}
	return people
}

// usualGroups is the number of groups of a unit at which noise is compared where that is chosen too.
const usualGroups = 4

// drawable is how many of a choice's edges have noise that can be drawn, and by how much raising the bound by 1 raises the mean size of one group's noise: in
// bounds of the value, where it is the cap that is chosen.
func drawable(a *sensitivity.Analysis, c *sensitivity.Choice, p *Quote) (edges int, perStep float64) {
	edges = len(c.Edges)
	for i, m := range a.Measures {
		ev, ok := p.Measures[i].(dp.Clipped)
		if !ok || m.Bound != c && a.Limit.Cap != c {
			continue
		}
		switch {
		case c.IsCap():
			perStep = math.Max(perStep, meanSize(ev, 2)-meanSize(ev, 1))
		case i == c.Measure:
			perStep = meanSize(ev, min(usualGroups, ev.Groups[len(ev.Groups)-1]))
		}
		for edges > 0 {
			clip, groups := m.PerGroup, ev.Groups[len(ev.Groups)-1]
			if c.IsCap() {
				if groups = c.Edges[edges-1] * m.Vectors(); m.Bound != nil {
					clip = m.Clip(m.Bound.Edges[0])
				}
			} else {
				clip = m.Clip(c.Edges[edges-1])
			}
			if _, err := ev.At(clip, groups); err == nil && p.canDrawLost(a, i, clip, groups) {
				break
			}
			edges--
		}
	}
	return edges, perStep
}

// holdsRow: the clip at the last candidate holds one row of a sum's declared range. With less of it each person's sum would be cut, by as much as the interval does not say; a declared
// number of rows whose noise cannot be drawn is refused alike.
func holdsRow(a *sensitivity.Analysis, c *sensitivity.Choice, last uint64) bool {
	if c.IsCap() || a.Limit.Norm > 0 || c.By != sensitivity.ByUnits {
		return true
	}
	return !slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool {
		return m.Bound == c && m.IsSumBounded() && m.Declared && m.Clip(last) < m.MostOfRow()
	})
}

// meanSize is the mean of |noise| over the clip, in one group, where a unit is in a number of them.
func meanSize(ev dp.Clipped, groups uint64) float64 {
	g := float64(groups)
	if ev.Noise.HasL2Scale() {
		return ev.Ratio.Float() * math.Sqrt(g) * math.Sqrt(2/math.Pi)
	}
	return ev.Ratio.Float() * g
}

// typical is an event with a law: a clipped one's at some clip, to compare mechanisms by.
func typical(ev dp.Event) dp.Event {
	if c, ok := ev.(dp.Clipped); ok {
		if at, err := c.At(max(c.Least, 1<<10), c.Groups[len(c.Groups)/2]); err == nil {
			return at
		}
	}
	return ev
}

// Chosen is what a statement's choices released: the index of an edge each, or noise.TooFew, where the first edge serves.
type Chosen []int

// HasTooFewPeople reports that there were too few people to choose a bound by, so that nothing can be said of what has it.
func (chosen Chosen) HasTooFewPeople(c *sensitivity.Choice) bool {
	return c != nil && chosen[c.Index] == noise.TooFew
}

// Edge is the edge that was released for a choice.
func (p *Quote) Edge(c *sensitivity.Choice, chosen Chosen) (index int, edge uint64) {
	index = max(0, chosen[c.Index])
	return index, c.Edges[index]
}

// CandidateCount is how many of a choice's edges, the first ones, are candidates.
func (p *Quote) CandidateCount(c *sensitivity.Choice) uint64 {
	if c.By == sensitivity.BySmooth {
		return p.Scale.Edges
	}
	return edgesOf(p.Choices[c.Index])
}

// ChoiceScale is the scale of a choice's noise, in units.
func ChoiceScale(ev dp.Event) float64 {
	switch ev := ev.(type) {
	case dp.Choice:
		return ev.Scale.Float()
	case dp.AboveThreshold:
		return ev.Scale.Float()
	}
	return math.Inf(1)
}

// edgesOf is among how many edges a choice is.
func edgesOf(ev dp.Event) uint64 {
	switch ev := ev.(type) {
	case dp.Choice:
		return ev.Edges
	case dp.AboveThreshold:
		return ev.Edges
	}
	return 0
}

// event is the choice's, nil where it is a scale.
func (p *Quote) event(i int) dp.Event {
	if i < len(p.Choices) {
		return p.Choices[i]
	}
	return nil
}

// Candidates are how many edges of each choice are.
func (p *Quote) Candidates() []uint64 {
	var out []uint64
	for _, c := range p.Choices {
		out = append(out, edgesOf(c))
	}
	if p.Scale != nil {
		out = append(out, p.Scale.Edges)
	}
	return out
}

// Fits reports that each choice of the analysis has its event, among edges that it has.
func (p *Quote) Fits(a *sensitivity.Analysis) bool {
	events := len(p.Choices)
	if p.Scale != nil {
		events++
	}
	if events != len(a.Choices) || p.Scale != nil && events != 1 {
		return false
	}
	return !slices.ContainsFunc(a.Choices, func(c *sensitivity.Choice) bool {
		if _, byFlow := p.event(c.Index).(dp.Choice); byFlow != (c.By == sensitivity.ByFlow) {
			return true
		}
		return (c.By == sensitivity.BySmooth) != (p.Scale != nil) || p.CandidateCount(c) > uint64(len(c.Edges))
	})
}

// Resolve is what is run of a plan once the bounds are chosen.
func (p *Quote) Resolve(a *sensitivity.Analysis, chosen Chosen) (*Run, error) {
	if len(chosen) != len(a.Choices) || !p.Fits(a) {
		return nil, errors.New("price: choices do not fit the plan")
	}
	if len(chosen) == 0 {
		run := p.Run()
		var err error
		run.Lost, err = p.lostAt(a, chosen)
		return run, err
	}
	for i, at := range chosen {
		if _, few := p.event(i).(dp.AboveThreshold); at < 0 && (!few || at != noise.TooFew) || at >= 0 && uint64(at) >= p.CandidateCount(a.Choices[i]) {
			return nil, errors.New("price: a choice is not among the edges")
		}
	}
	selections := len(caps(a))
	if a.Groups.Public {
		selections = 0
	}
	if len(p.Measures) != len(a.Measures) || len(p.Selections) != selections {
		return nil, errors.New("price: events do not fit the plan")
	}
	out := &Run{Mechanism: p.Mechanism, Measures: make([]dp.Event, len(p.Measures))}
	var err error
	if out.Lost, err = p.lostAt(a, chosen); err != nil {
		return nil, err
	}
	capAt, groups := 0, caps(a)[0]
	if c := a.Limit.Cap; c != nil {
		capAt, groups = p.Edge(c, chosen)
	}
	for i, m := range a.Measures {
		out.Measures[i] = p.Measures[i]
		ev, ok := p.Measures[i].(dp.Clipped)
		if i != p.UnitsFromSelection && ok != (m.Bound != nil || a.Limit.Cap != nil) {
			return nil, errors.New("price: an event has not the bound that was chosen")
		}
		if ok {
			clip := m.PerGroup
			if m.Bound != nil {
				_, edge := p.Edge(m.Bound, chosen)
				clip = m.Clip(edge)
			}
			at, err := ev.At(clip, groups*m.Vectors())
			if err != nil {
				return nil, err
			}
			out.Measures[i] = at
		}
	}
	if selections > 0 {
		if p.Selections[capAt].Groups != groups {
			return nil, errors.New("price: groups are not selected by the cap that was chosen")
		}
		out.Selection = &p.Selections[capAt]
	}
	return out, nil
}

// Reference is what is run at bounds that stand for all, to say what noise is in multiples of a bound: large ones, at which steps do not show.
func (p *Quote) Reference(a *sensitivity.Analysis) (*Run, Chosen, error) {
	chosen := make(Chosen, len(a.Choices))
	for i, c := range a.Choices {
		most := int(p.CandidateCount(c)) - 1
		if c.IsCap() {
			chosen[i] = most / 2
			continue
		}
		fine := uint64(1)
		if c.Measure >= 0 {
			fine = max(1, a.Measures[c.Measure].Subdivision)
		}
		for chosen[i] < most && c.Edges[chosen[i]] < 1<<10*fine {
			chosen[i]++
		}
	}
	run, err := p.Resolve(a, chosen)
	return run, chosen, err
}
