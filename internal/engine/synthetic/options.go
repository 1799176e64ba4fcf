package synthetic

import (
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// options are those of WITH.
type options struct {
	price, epsilon, delta float64 // price or epsilon is 0
	rows                  uint64  // max_rows_per_unit; 0: the policy's
}

// read checks the options of WITH.
func read(s *session.Session, n *pgsyntax.Synthesize) (*options, error) {
	o, seen := &options{}, map[string]bool{}
	for _, w := range n.With {
		name := strings.ToLower(w.Name.Text)
		if seen[name] || w.List {
			return nil, sqlerr.New(sqlerr.InvalidParam, "option %s takes one value", name).At(int(w.Name.Pos))
		}
		seen[name] = true
		v := w.Values[0]
		x, err := strconv.ParseFloat(v.Text, 64)
		lo, hi := 1e-6, 1e6
		switch name {
		case "price":
			o.price = x
		case "epsilon":
			o.epsilon = x
		case "delta":
			o.delta, lo, hi = x, 1e-30, 0.1
		case "max_rows_per_unit":
			lo, hi = 1, 1<<20
			if err == nil && x >= lo && x <= hi {
				o.rows = uint64(x)
			}
			if x != math.Trunc(x) {
				return nil, sqlerr.New(sqlerr.InvalidParam, "max_rows_per_unit must be a whole number").At(int(v.Pos))
			}
		default:
			return nil, sqlerr.New(sqlerr.UndefinedObject, "there is no option %q", name).At(int(w.Name.Pos)).WithHint("There are price, epsilon, delta and max_rows_per_unit.")
		}
		if err != nil || !(x >= lo && x <= hi) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "%s cannot be %s", name, v.Text).At(int(v.Pos)).WithHint("It is a number from %g to %g.", lo, hi)
		}
	}
	if o.price > 0 && o.epsilon > 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "a synthetic table has a price or an epsilon, not both").At(int(n.With[0].Name.Pos)).WithHint("Leave epsilon out: it follows from the price.")
	}
	if o.price == 0 && o.epsilon == 0 {
		o.price = s.Now.Epsilon
	}
	if o.delta == 0 {
		if o.delta = s.World.Policy.Budget.Delta / 20; o.delta == 0 {
			return nil, sqlerr.New(sqlerr.InvalidParam, "a synthetic table has Gaussian noise, and the budget has no delta").At(int(n.Pos)).WithHint("Ask the owner for a delta in the policy's budget.")
		}
	}
	return o, nil
}
