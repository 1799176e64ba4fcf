package baseline

import (
	"math"
	"testing"
)

// TestFlexByHand: beta is 0.5/ln(2e7) at epsilon 1 and delta 1e-7, 0.02975: at often 100 distance 0 is the worst, 201, as 1/beta = 33.6 is less than 100; at often 10 it is k = 23: 67 exp(-0.684).
func TestFlexByHand(t *testing.T) {
	close(t, "often 100", FlexSelfJoin(100, 1, 1e-7), 2*201*math.Ln2, 1e-9)
	close(t, "often 10", FlexSelfJoin(10, 1, 1e-7), 2*67*math.Exp(-23*0.5/math.Log(2e7))*math.Ln2, 1e-9)
	close(t, "epsilon 2 at often 100", FlexSelfJoin(100, 2, 1e-7), 201*math.Ln2, 1e-9)
}
