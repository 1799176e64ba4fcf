package ledger

import (
	"math"

	"github.com/dpsql/dpsql/budget"
)

// AccountsOf is Accounts, in which a data set has an account of each of these payers and their roles too, by the quotas that are given: what one who was not
// charged in this window, or whose quota changed since, has spent and has left now. fits is the filter that their policy asks for a window which begins. Payers of a data set that the ledger does not have are left out.
func (l *book) AccountsOf(dataset string, fits *budget.Filter, payers []Payer) (Accounts, error) {
	if err := l.fresh(); err != nil {
		return Accounts{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.time()
	out, err := l.state.accounts(at, dataset, fits)
	d := l.state.find(dataset)
	if err != nil || d == nil {
		return out, err
	}
	d = d.fitted(fits, at)
	for i := range out.Datasets {
		if out.Datasets[i].Dataset != dataset {
			continue
		}
		for _, p := range payers {
			b, err := l.state.balance(d, p.within(d.head.Filter.Epsilon), at)
			if err != nil {
				return out, err
			}
			out.Datasets[i].Analysts[p.Analyst] = b.Analyst
			for _, r := range b.Roles {
				out.Datasets[i].Roles[r.Name] = r.Account
			}
		}
	}
	return out, nil
}

// within cuts quotas of a policy that promises more than the ledger does yet.
func (p Payer) within(epsilon float64) Payer {
	out := Payer{Analyst: p.Analyst, Quota: math.Min(p.Quota, epsilon)}
	for _, r := range p.Roles {
		out.Roles = append(out.Roles, Role{r.Name, math.Min(r.Quota, epsilon)})
	}
	return out
}
