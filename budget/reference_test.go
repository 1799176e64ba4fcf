package budget

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

type reference struct {
	Orders []float64
	Curves []struct {
		Type      string
		Parameter float64
		RDP       []float64
	}
	Conversions []struct{ Rho, Delta, Epsilon, Order float64 }
	Selections  []struct {
		Epsilon, Delta float64
		L0             uint64
		HardThreshold  uint64 `json:"hard_threshold"`
	}
}

func readReference(t *testing.T) reference {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Curves) == 0 || len(r.Conversions) == 0 || len(r.Selections) == 0 {
		t.Fatal("the reference is empty")
	}
	return r
}

// encloses checks a value of 12 digits.
func (x enclosure) encloses(want, rel float64) bool {
	return x.lo <= want*(1+1e-11) && want*(1-1e-11) <= x.hi && x.hi-x.lo <= rel*want
}

func TestReferenceCurves(t *testing.T) {
	ref := readReference(t)
	for _, c := range ref.Curves {
		for i, a := range ref.Orders {
			want := c.RDP[i]
			switch c.Type {
			case "laplace":
				if got := continuousLaplace(a, exactly(c.Parameter)); !got.encloses(want, 1e-9) {
					t.Errorf("laplace %g at %g: %v, want %v", c.Parameter, a, got, want)
				}
			case "pure_eps_worst_case":
				// Above, it may be up to the pure loss where e^((a-1) epsilon) overflows.
				if got := randomizedResponse(a, exactly(c.Parameter)).hi; got < want*(1-1e-11) || got > want*(1+1e-9) && a < 300 {
					t.Errorf("randomized response %g at %g: %v, want %v", c.Parameter, a, got, want)
				}
			case "gaussian":
				f := &Filter{Order: a}
				got := f.gaussianRenyi(dp.Sensitivity{PerGroup: 1, Groups: 1}, dp.Scale{Num: uint64(c.Parameter), Den: 1})
				if got < want || got > want*(1+1e-11) {
					t.Errorf("gaussian %g at %g: %v, want %v", c.Parameter, a, got, want)
				}
			}
		}
	}
}

// At the best order for a Gaussian of loss a rho, the room of the converted epsilon is that loss. The reference gives
// orders to 6 digits; at the optimum the room is flat in the order.
func TestReferenceConversions(t *testing.T) {
	for _, c := range readReference(t).Conversions {
		room := renyiRoom(c.Order, c.Epsilon, c.Delta)
		if want := c.Order * c.Rho; math.Abs(room.lo-want) > 1e-6*want || room.hi-room.lo > 1e-12*(1+c.Epsilon) {
			t.Errorf("rho %g, delta %g: room %v, want %v", c.Rho, c.Delta, room, want)
		}
	}
}

// Google's optimal selection keeps every group from its hard threshold on; ours keeps a group from 2 T + 1 people on. The
// two agree up to the rounding of T.
func TestReferenceSelections(t *testing.T) {
	for _, c := range readReference(t).Selections {
		b := dp.Scale{Num: uint64(math.Round(float64(c.L0) / c.Epsilon * 1000)), Den: 1000}
		got, err := SelectionThreshold(dp.Selection{Groups: c.L0, Scale: b, Delta: c.Delta})
		if err != nil {
			t.Fatal(err)
		}
		if d := int64(2*got+1) - int64(c.HardThreshold); d < -3 || d > 3 {
			t.Errorf("epsilon %g, delta %g, l0 %d: certain from %d, want about %d", c.Epsilon, c.Delta, c.L0, 2*got+1, c.HardThreshold)
		}
	}
}
