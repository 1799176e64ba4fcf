package finish

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/dp"
)

// TestUnequalNoises: the bound for many noises of which one outweighs all others is no less than that one's own quantile, and no more than what Chernoff's bound gives away for a single Laplace noise: 95%; of two of
// them it is at least about the root of two times as much; and it is no less than the width by convolution.
func TestUnequalNoises(t *testing.T) {
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	for _, c := range []struct {
		event dp.Event
		most  float64
	}{{dp.Laplace{Sensitivity: s, Scale: dp.Scale{Num: 50, Den: 1}}, 1.96}, {dp.Gaussian{Sensitivity: s, Scale: dp.Scale{Num: 50, Den: 1}}, 1.40}} {
		m, err := mixtureOf(runOf(c.event), nil, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		least := m.quantile(t.Context())
		small := m.terms[0]
		small.weight = 1e-4
		for range mostWide {
			m.terms = append(m.terms, small)
		}
		if have := bounded(0, mixture{}, m); have < least || have > c.most*least+1 {
			t.Errorf("%v: %v, of one alone %v", c.event, have, least)
		}
		if have := bounded(1, m, m); have < least*math.Sqrt2*0.95 || have > 2*c.most*least {
			t.Errorf("%v: of two %v, of one %v", c.event, have, least)
		}
		if have, convolved := bounded(0, mixture{}, m), m.quantile(t.Context()); have < convolved {
			t.Errorf("%v: %v, the convolved sum has %v", c.event, have, convolved)
		}
	}
}
