package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// The model's accounts: sums over its charges.

// modelQuotas are epsilons, whatever is promised in all; 0: whatever that is by then. modelRoles are the roles, by name.
var (
	modelQuotas = map[string]float64{"ann": 0, "bob": 2, "guest": 0.2, "lab": 4, "ward": 1.5}
	modelRoles  = map[string][]string{"ann": {"lab"}, "bob": {"lab", "ward"}, "guest": nil}
)

type modelGrant struct {
	window  [2]string
	to      payee
	epsilon float64
}

// window names the present window of a data set.
func (m *model) window(h *Head) [2]string {
	return [2]string{h.Dataset, windowName(h.Window, m.time())}
}

// modelFilter is the filter of these parameters.
func modelFilter(p budget.Params) *budget.Filter {
	if f, ok := modelFitted.Load(p); ok {
		return f.(*budget.Filter)
	}
	f, err := budget.NewFilter(p)
	if err != nil {
		panic(err)
	}
	modelFitted.Store(p, f)
	return f
}

var modelFitted sync.Map

// policy is the present data set's head as its policy has it.
func (m *model) policy() Head {
	head := *m.current
	head.Epoch, head.Filter = m.epoch, m.asks[head.Dataset]
	return head
}

// filter is that of the present window: kept since its first charge, or what the policy asks.
func (m *model) filter() *budget.Filter {
	if m.windows[m.window(m.current)] > 0 {
		return m.current.Filter
	}
	return m.asks[m.current.Dataset]
}

// payer is an analyst as the policy has it.
func (m *model) payer(analyst string) Payer {
	p := Payer{Analyst: analyst, Quota: modelQuotas[analyst]}
	if p.Quota == 0 {
		p.Quota = m.current.Filter.Epsilon
	}
	for _, r := range modelRoles[analyst] {
		p.Roles = append(p.Roles, Role{r, modelQuotas[r]})
	}
	return p
}

// account sums a data set's charges in the window of now: those of whom the predicate takes.
func (m *model) account(h *Head, of func(*modelCharge) bool) (spent dp.Loss, statements, failures int64) {
	for _, c := range m.charges {
		if c.dataset == h.Dataset && c.window == m.window(h)[1] && of(c) {
			spent = spent.Plus(c.Loss)
			statements++
			if c.failed {
				failures++
			}
		}
	}
	return spent, statements, failures
}

func all(*modelCharge) bool { return true }

func isOf(who payee) func(*modelCharge) bool {
	return func(c *modelCharge) bool {
		return c.Analyst == who.name && !who.role || who.role && slices.ContainsFunc(c.Roles, func(r Role) bool { return r.Name == who.name })
	}
}

// granted sums what one was given in the present window.
func (m *model) granted(who payee) (sum float64) {
	for _, g := range m.grants {
		if g.window == m.window(m.current) && g.to == who {
			sum += g.epsilon
		}
	}
	return sum
}

// lifetime sums the charged windows; the model's budgets are whole numbers. with adds a data set's present window.
func (m *model) lifetime(with *Head) (spent float64, windows int) {
	for _, epsilon := range m.windows {
		spent += epsilon
	}
	if with != nil && m.windows[m.window(with)] == 0 {
		spent += with.Filter.Epsilon
	}
	return spent, len(m.windows)
}

// ended says whether the lifetime does not hold a data set's present window.
func (m *model) ended(h *Head) bool {
	spent, _ := m.lifetime(h)
	return m.windows[m.window(h)] == 0 && spent > h.Lifetime.Epsilon
}

// modelAccount is one that a charge counts against.
type modelAccount struct {
	scope, role string
	rooms       budget.Rooms
	spent       dp.Loss
}

// accounts are those of a payer, the widest first: rooms are the shares of what is promised now.
func (m *model) accounts(p Payer) ([]modelAccount, error) {
	f := m.filter()
	spent, _, _ := m.account(m.current, all)
	list := []modelAccount{{ScopeDataset, "", budget.Rooms{Pure: f.PureRoom, Renyi: f.RenyiRoom, Delta: f.DeltaRoom}, spent}}
	add := func(scope string, who payee, epsilon float64) error {
		rooms, err := f.Quota(math.Min(f.Epsilon, plusDown(epsilon, m.granted(who))))
		spent, _, _ := m.account(m.current, isOf(who))
		list = append(list, modelAccount{scope, "", rooms, spent})
		return err
	}
	for _, r := range p.Roles {
		if err := add(ScopeRole, payee{true, r.Name}, r.Quota); err != nil {
			return nil, err
		}
		list[len(list)-1].role = r.Name
	}
	return list, add(ScopeAnalyst, payee{name: p.Analyst}, p.Quota)
}

// admits says which scope denies a charge, or "": of those that do, the one that has the least.
func (m *model) admits(t *rapid.T, r Reservation) (scope, role string) {
	if m.ended(m.current) {
		return ScopeLifetime, ""
	}
	list, err := m.accounts(r.Payer)
	if err != nil {
		t.Fatal(err)
	}
	least, f := math.Inf(1), m.filter()
	for _, a := range list {
		left := a.rooms.Left(a.spent)
		if has := min(max(left.Pure/f.PureRoom, left.Renyi/f.RenyiRoom), left.Delta/f.DeltaRoom); !a.rooms.CanAdmit(a.spent, r.Loss) && has < least {
			least, scope, role = has, a.scope, a.role
		}
	}
	return scope, role
}

// raise makes the present data set's promise larger, and perhaps the lifetime.
func (m *model) raise(t *rapid.T, l *opened) {
	to := m.policy()
	filter, err := m.current.Filter.Raised(to.Filter.Epsilon+float64(rapid.IntRange(0, 3).Draw(t, "more")), to.Filter.Delta)
	if err != nil {
		t.Fatal(err)
	}
	to.Filter = modelFilter(budget.Params{Epsilon: filter.Epsilon, Delta: filter.Delta, QueryEpsilon: to.Filter.QueryEpsilon, Accountant: filter.Accountant})
	to.Lifetime = &Lifetime{to.Lifetime.Epsilon + float64(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "longer"))}
	spent, _ := m.lifetime(nil)
	charged := m.windows[m.window(&to)]
	if charged > 0 {
		spent += to.Filter.Epsilon - charged
	}
	fits := charged == 0 || spent <= to.Lifetime.Epsilon
	if same := to.Filter.Epsilon == m.current.Filter.Epsilon && to.Lifetime.Epsilon == m.current.Lifetime.Epsilon; same || !fits {
		if err := l.Raise(ctx, to, "owner", "more"); err == nil {
			t.Fatalf("raised to %+v, lifetime %g", to.Filter, to.Lifetime.Epsilon)
		}
		return
	}
	if err := errors.Join(l.Raise(ctx, to, "owner", "more"), l.SetHead(ctx, to)); err != nil {
		t.Fatal(err)
	}
	m.wrote()
	m.current.Filter, m.asks[to.Dataset] = filter, to.Filter
	for i := range m.heads { // it is the same in all
		m.heads[i].Lifetime = to.Lifetime
	}
	if charged > 0 {
		m.windows[m.window(m.current)] = to.Filter.Epsilon
	}
}

// same compares all accounts of the store with the model's.
func (m *model) same(l *opened) error {
	everybody, n, failures := m.account(m.current, all)
	spent, windows := m.lifetime(nil)
	left := max(0, m.current.Lifetime.Epsilon-spent)
	is := func(a Account, s dp.Loss, n, failures int64) bool {
		return a.Spent == s && a.Statements == n && a.Failures == failures
	}
	for analyst := range modelRoles {
		p := m.payer(analyst)
		b, err := l.Balance(p)
		if err != nil {
			return err
		}
		own, ownN, ownFailures := m.account(m.current, isOf(payee{name: analyst}))
		if !is(b.Dataset, everybody, n, failures) || !is(b.Analyst, own, ownN, ownFailures) || b.Window.Charged != (n > 0) || len(b.Roles) != len(p.Roles) {
			return fmt.Errorf("%s at %v: %+v", analyst, m.time(), b)
		}
		if most := p.Quota + m.granted(payee{name: analyst}); b.Analyst.Rooms.Pure > most {
			return fmt.Errorf("%s may spend %g, of a quota of %g", analyst, b.Analyst.Rooms.Pure, most)
		}
		for i, r := range b.Roles {
			who := payee{true, r.Name}
			s, n, failures := m.account(m.current, isOf(who))
			if most := modelQuotas[r.Name] + m.granted(who); !is(r.Account, s, n, failures) || r.Name != p.Roles[i].Name || r.Rooms.Pure > most || r.Granted != m.granted(who) {
				return fmt.Errorf("role %s of %s at %v, of %g: %+v", r.Name, analyst, m.time(), most, r)
			}
		}
		if b.Lifetime.Spent != spent || b.Lifetime.Windows != windows || b.Lifetime.Left != left || b.Dataset.Ended != m.ended(m.current) ||
			b.Dataset.Ended && b.StatementsLeft(dp.Loss{Pure: 1e-9}) != 0 {
			return fmt.Errorf("lifetime at %v: %+v", m.time(), b)
		}
		if l.Frozen(analyst) != m.isFrozen(analyst) {
			return fmt.Errorf("%s is frozen: %v", analyst, l.Frozen(analyst))
		}
	}
	acc, err := l.Accounts()
	if err != nil {
		return err
	}
	for _, d := range acc.Datasets {
		h := &m.heads[slices.IndexFunc(m.heads, func(h Head) bool { return h.Dataset == d.Dataset })]
		if s, n, failures := m.account(h, all); !is(d.Account, s, n, failures) || d.Account.Ended != m.ended(h) {
			return fmt.Errorf("the owner sees %+v", d)
		}
		for name, a := range d.Roles {
			if s, n, failures := m.account(h, isOf(payee{true, name})); n == 0 || !is(a, s, n, failures) {
				return fmt.Errorf("the owner sees of role %s %+v", name, a)
			}
		}
	}
	return nil
}
