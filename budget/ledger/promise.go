package ledger

import (
	"errors"
	"fmt"
	"maps"
)

func (s *state) checkGrant(g *Grant) error {
	d := s.find(g.Dataset)
	switch {
	case d == nil:
		return fmt.Errorf("a grant of data set %q, which has no head", g.Dataset)
	case (g.Analyst == "") == (g.Role == "") || g.By == "" || g.Reason == "":
		return fmt.Errorf("a grant says to whom, by whom and why")
	case !(g.Epsilon > 0 && g.Epsilon <= d.head.Filter.Epsilon):
		return fmt.Errorf("a grant of epsilon %g is not in (0, %g], the data set's total", g.Epsilon, d.head.Filter.Epsilon)
	}
	return nil
}

func (s *state) addGrant(r *Record) {
	d := s.find(r.Grant.Dataset)
	who := r.Grant.to()
	more := granted{windowAt(d.head.Window, r.Time).Start, d.granted(who, r.Time) + r.Grant.Epsilon}
	d.grants = maps.Clone(d.grants) // undo may hold a copy of d
	put(&d.grants, who, more)
}

func (s *state) checkPromise(r *Record) error {
	p := r.Promise
	d := s.find(p.Dataset)
	switch {
	case d == nil:
		return fmt.Errorf("a promise of data set %q, which has no head", p.Dataset)
	case p.By == "" || p.Reason == "":
		return fmt.Errorf("a promise says by whom and why")
	case p.Filter == nil:
		return fmt.Errorf("a promise without a filter")
	case p.Lifetime != nil && d.head.Lifetime == nil:
		return fmt.Errorf("a lifetime where none was promised on purpose")
	case p.Lifetime != nil && !(p.Lifetime.Epsilon >= d.head.Lifetime.Epsilon && p.Lifetime.Epsilon <= maxLifetime):
		return fmt.Errorf("a lifetime of epsilon %g, where %g is promised: a promise can be made larger only", p.Lifetime.Epsilon, d.head.Lifetime.Epsilon)
	case p.Filter.IsSamePromise(d.head.Filter) && (p.Lifetime == nil || sameLifetime(p.Lifetime, d.head.Lifetime)):
		return fmt.Errorf("the ledger already promises this budget. Write a larger budget.epsilon, budget.delta or lifetime into the policy first")
	}
	if err := errors.Join(p.Filter.Validate(), p.Filter.Above(d.head.Filter)); err != nil {
		return err
	}
	if _, _, w := d.at(r.Time); !w.Charged { // nothing counts anew: the first charge of a window asks the lifetime
		return nil
	}
	back := s.undo(r)
	s.addPromise(r)
	after := s.lifetime()
	back()
	if after.Limited && after.Spent > after.Epsilon {
		return fmt.Errorf("%w: with it the charged windows cost epsilon %g, of a lifetime of %g. Raise the lifetime too, or wait for the next window", ErrMismatch, after.Spent, after.Epsilon)
	}
	return nil
}

// addPromise goes on under a larger promise.
//
// Proof: claim: for neighbours P and Q, whatever decides which windows of which data sets are charged, and when and how far their promises are raised, answers among it:
// P(S) <= E_Q[e^E; S] + D. On a path of answers E is the sum of e_w over the charged windows w, (e_w, d_w) the last promise that was made for w on it; D is the largest sum,
// over all paths, of the most that d_w could become as things stood at w's first charge. That is d_w itself where nothing that was answered since decides what w's delta is raised to; the
// sum of d_w on a path would not do. A window alone is (e, d)-DP for the largest promise that could be made for it. Conditions:
//   - (i) each event's loss bounds it given all earlier answers, of whichever window, and the window's charges are admitted by its promise (budget.NewFilter);
//   - (ii) a window keeps its order from before its first answer on: f's is g's (Filter.Above), and no Fit comes later (state.addFit);
//   - (iii) no room of g is smaller than f's (Filter.Above), so what f admitted g admits: all charges of a window are a path that its last promise alone admits, whenever the raise came;
//   - (iv) windows that ended keep f; the one that the raise falls in counts with g in full, which checkPromise asks the lifetime to hold.
//
// (1) Approximate deltas, as in NewFilter's (1), of all windows at once: on every path they add up to at most half of the sum of d_w, so "anything" happens with probability at most D/2. From
// here on only first parts count.
//
// (2) The loss L of all answers is the sum of L_w, of w's answers each given all before it. So P(S) - E_Q[e^E; S] <= E_P[max(0, 1 - e^(E-L))], and as 1 - e^-(x+y) <= max(0, 1 - e^-x) + max(0, 1 - e^-y) that is at
// most the sum over w of E_P[max(0, 1 - e^(e_w - L_w))], however windows of several data sets interleave.
//
// (3) Of one window: where its pure sum is at most e_w this is 0. On the other paths its Renyi sum is at most its own room R(e_w, d_w/2), by whose choice
// 1 - e^(e_w - L_w) <= d_w/2 e^((a-1)(L_w - R)) <= d_w/2 M, M = exp((a-1)(L_w - Renyi sum)) being the supermartingale of NewFilter's (3) at the window's one order a: it is 1 at its first charge, and
// other windows' answers leave it as it is. So its expectation, given what was before that charge, is at most half of the most that d_w could become. Over the windows of a path these add up to at most D/2.
//
// For promises that are chosen before a window's first answer this is composition with parameters chosen as one goes (Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6), also of data sets asked side by side (Haney,
// Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang, "Concurrent composition for interactive differential privacy with adaptive privacy-loss parameters", CCS 2023); neither has promises that are raised by a window's own answers.
func (s *state) addPromise(r *Record) {
	p := r.Promise
	d := s.find(p.Dataset)
	ended := d.windows - d.before()
	if _, _, w := d.at(r.Time); w.Charged {
		ended--
		if d.began == nil && r.Version > 3 {
			d.began = d.head.Filter
		}
	}
	if ended > 0 {
		d.past = append(d.past[:len(d.past):len(d.past)], era{d.head.Filter.Epsilon, d.head.Filter.Delta, ended})
	}
	head := *d.head
	head.Filter = p.Filter
	d.head = &head
	if p.Lifetime == nil {
		return
	}
	for _, other := range s.datasets { // it is the same in all
		head := *other.head
		head.Lifetime = p.Lifetime
		other.head = &head
	}
}
