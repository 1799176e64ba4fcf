package divide_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

// TestOneSign: a sum is one-sided only where no row can take it below 0. PostgreSQL's GREATEST and LEAST leave NULLs out: greatest(x, 0) is never NULL and never negative, but greatest(abs(x), y) is y where x is NULL. amount and exact may be NULL.
func TestOneSign(t *testing.T) {
	for x, sides := range map[string]int{
		"amount": 2, "abs(amount)": 1, "amount * amount": 1,
		"greatest(amount, 0)": 1, "greatest(0, amount, exact)": 1, "greatest(amount, 0, null)": 1, "greatest(null, 0)": 1,
		"greatest(amount, -1)": 2, "greatest(amount, null)": 2, "greatest(null, exact, amount)": 2, // not negative where they are NULL, but else
		"greatest(abs(amount), exact)": 2, "greatest(exact, amount * amount)": 2, // exact where amount is NULL
		"greatest(coalesce(abs(amount), 0), exact)":                      1, // never NULL
		"greatest(coalesce(abs(amount), null), exact)":                   2,
		"greatest(case when exact > 0 then 1 end, amount)":               2,
		"greatest(abs(amount), exact * exact)":                           1, // all of them
		"greatest(abs(amount), null)":                                    1,
		"least(abs(amount), exact * exact)":                              1,
		"least(abs(amount), exact)":                                      2,
		"least(abs(amount), null)":                                       1, // NULL is left out
		"least(amount, null)":                                            2,
		"least(amount, 0)":                                               2,
		"least(greatest(amount, 0), greatest(exact, 0))":                 1,
		"greatest(least(amount, null), exact * exact)":                   2,
		"greatest(least(amount, 0), case when exact is null then 2 end)": 2,
	} {
		opts := options()
		opts.ChooseGroups = true
		_, list, err := dividedIn(neighbour.Clinic+bills+stops+images, "select sum("+x+") from bills", opts)
		if err != nil {
			t.Errorf("%s: %v", x, err)
			continue
		}
		if m := list[0].Measures[0]; m.LostSides() != sides || m.Bound == nil && sides > 1 && x != "least(amount, 0)" {
			t.Errorf("%s: what it loses may have %d signs, not %d", x, m.LostSides(), sides)
		}
	}
}
