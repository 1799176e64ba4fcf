package budget

import (
	"strings"
	"testing"
)

// TestUnfit: an order that was fitted to another price, or to a smaller budget, is told with what it costs; one that fits, or is next to it, is not.
func TestUnfit(t *testing.T) {
	raised := func(f *Filter) *Filter {
		t.Helper()
		g, err := f.Raised(10, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	fitted := newFilter(t, Params{10, 1e-6, 0.1, AccountantRDP})
	for _, c := range []struct {
		filter *Filter
		price  float64
		want   string
	}{
		{fitted, 0.1, ""},
		{fitted, 0.095, ""},
		{newFilter(t, Params{10, 1e-6, 0.5, AccountantRDP}), 0.01, "the Renyi order 10.29, fitted to query.price 0.5, by which the whole budget holds 17171 statements at price 0.01; the order 3.98 of a new ledger would hold 29673"},
		{raised(newFilter(t, Params{1, 1e-6, 0.1, AccountantRDP})), 0.1, "the Renyi order 64.00, fitted to query.price 0.1, by which the whole budget holds 110 statements at price 0.1; the order 4.05 of a new ledger would hold 311"},
		{raised(newFilter(t, Params{0.1, 1e-6, 0.1, AccountantRDP})), 0.1, "no Renyi order, for which the budget had no room when it was first charged, by which the whole budget holds 100 statements at price 0.1; the order 4.05 of a new ledger would hold 311"},
		{newFilter(t, Params{10, 1e-6, 0.5, AccountantPure}), 0.01, ""},
	} {
		if got := c.filter.Unfit(c.price, false); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("order %g at price %g: %q, want %q", c.filter.Order, c.price, got, c.want)
		}
		kept, _, _ := strings.Cut(c.want, "; ")
		if got := c.filter.Unfit(c.price, true); (got == "") != (c.want == "") || !strings.Contains(got, kept) || c.want != "" && !strings.Contains(got, "the next one's order") {
			t.Errorf("order %g at price %g, of a window: %q", c.filter.Order, c.price, got)
		}
	}
}
