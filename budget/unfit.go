package budget

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Unfit says, for the owner, where an order fitted to a price would hold at least a tenth more statements of it than this filter's own, which stays as long as its window, or where there is one window only the ledger, does; "" where none would.
func (f *Filter) Unfit(price float64, renews bool) string {
	g, err := NewFilter(Params{f.Epsilon, f.Delta, price, f.Accountant})
	if err != nil {
		return ""
	}
	holds := func(f *Filter) int64 {
		return f.StatementsLeft(dp.Loss{}, f.Usual(price))
	}
	kept, fitted := holds(f), holds(g)
	if fitted <= kept+kept/10 {
		return ""
	}
	was := fmt.Sprintf("the Renyi order %.2f, fitted to query.price %g", f.Order, f.QueryEpsilon)
	if f.Order == 0 {
		was = "no Renyi order, for which the budget had no room when it was first charged"
	}
	if renews {
		return fmt.Sprintf("this window keeps %s, by which the whole budget holds %d statements at price %g; the next one's order %.2f will hold %d", was, kept, price, g.Order, fitted)
	}
	return fmt.Sprintf("the ledger keeps %s, by which the whole budget holds %d statements at price %g; the order %.2f of a new ledger would hold %d", was, kept, price, g.Order, fitted)
}
