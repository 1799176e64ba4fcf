package ledger

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsql/dpsql/budget"
)

// Payer is whom a charge counts against beside the data set: an analyst, and those of the analyst's roles that have a budget. Quotas are epsilons of the data set's: the
// share that one is of each side follows from the promise that holds when it is asked.
type Payer struct {
	Analyst string  `json:"analyst"`
	Share   float64 `json:"quota,omitempty"`         // in records before version 4, in place of Quota: that share, in (0, 1]
	Quota   float64 `json:"quota_epsilon,omitempty"` // in (0, the data set's]
	Roles   []Role  `json:"roles,omitempty"`         // by name, each once
}

// Role is a group of analysts with a budget.
type Role struct {
	Name  string  `json:"name"`
	Quota float64 `json:"quota_epsilon"` // in (0, the data set's]
}

// payee is one that has an account: an analyst, or a role.
type payee struct {
	role bool
	name string
}

// quota is an epsilon, or before version 4 a share.
type quota struct{ epsilon, share float64 }

// payees are all that a charge counts against, with their quotas: the analyst first.
func (p *Payer) payees() iter.Seq2[payee, quota] {
	return func(yield func(payee, quota) bool) {
		if !yield(payee{name: p.Analyst}, quota{p.Quota, p.Share}) {
			return
		}
		for _, r := range p.Roles {
			if !yield(payee{true, r.Name}, quota{epsilon: r.Quota}) {
				return
			}
		}
	}
}

func (p *Payer) same(q *Payer) bool {
	return p.Analyst == q.Analyst && p.Share == q.Share && p.Quota == q.Quota && slices.Equal(p.Roles, q.Roles)
}

// check refuses quotas that are none of this filter's.
func (p *Payer) check(version int, f *budget.Filter) error {
	if p.Analyst == "" {
		return fmt.Errorf("a charge without an analyst")
	}
	if version < 4 {
		if !(p.Share > 0 && p.Share <= 1) || p.Quota != 0 || p.Roles != nil {
			return fmt.Errorf("a charge of version %d with the share %g, or with another quota", version, p.Share)
		}
		return nil
	}
	if p.Share != 0 {
		return fmt.Errorf("a charge of version %d with a share", version)
	}
	for who, q := range p.payees() {
		if !(q.epsilon > 0 && q.epsilon <= f.Epsilon) {
			return fmt.Errorf("a charge with the quota %g of %s, of epsilon %g", q.epsilon, who.name, f.Epsilon)
		}
	}
	for i, r := range p.Roles {
		if r.Name == "" || i > 0 && r.Name <= p.Roles[i-1].Name {
			return fmt.Errorf("a charge whose roles are not in order, or without a name")
		}
	}
	return nil
}

// rooms are those of a quota with what was granted beside it, at most the whole, under the promise that holds.
//
// Proof: claim: a quota of epsilon e under a total of E, with g granted in the window, has at most the share (e + g)/E of each of the filter's rooms (pure, Renyi, delta), and never more than all of them. It is a bound on one account beside the data set's own, which admit asks
// too; so it is no promise, and rooms that were too large would cost another analyst's part, not anybody's privacy. (1) An epsilon: plusDown(e, g) is at most e + g, the lesser of that and E is within the filter, and Filter.Quota gives the share of each room, rounded down. Filter is the one in
// force, so a quota whose total was raised since its policy was read keeps its epsilon. (2) A share (records before version 4): share + g/E is rounded twice, each by at most half a unit in the last place of the sum (that of the quotient is no larger, since the sum is not smaller), so two
// steps down are not above the exact sum; Filter.Rooms rounds down.
func (h *Head) rooms(q quota, more float64) (budget.Rooms, error) {
	if q.share == 0 {
		return h.Filter.Quota(math.Min(h.Filter.Epsilon, plusDown(q.epsilon, more)))
	}
	share := q.share
	if more > 0 {
		share = math.Min(1, math.Nextafter(math.Nextafter(share+more/h.Filter.Epsilon, 0), 0))
	}
	return h.Filter.Rooms(share)
}

// plusDown is the sum of two positive numbers, rounded down.
func plusDown(a, b float64) float64 {
	sum := a + b
	if was := sum - a; (a-(sum-was))+(b-was) < 0 { // what rounding took away (Knuth's two-sum) is below 0: it rounded up
		return math.Nextafter(sum, 0)
	}
	return sum
}

// within cuts quotas of a policy that promises more than the ledger does yet.
func (p Payer) within(epsilon float64) Payer {
	out := Payer{Analyst: p.Analyst, Quota: math.Min(p.Quota, epsilon)}
	for _, r := range p.Roles {
		out.Roles = append(out.Roles, Role{r.Name, math.Min(r.Quota, epsilon)})
	}
	return out
}
