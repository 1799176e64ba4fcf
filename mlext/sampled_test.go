package mlext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestSampledSteps: more steps of samples than whose noise is found soon are refused before it is looked for; of everybody a million are taken.
func TestSampledSteps(t *testing.T) {
	for _, c := range []struct {
		method, with string
		refused      bool
	}{
		{"dp_sgd", fmt.Sprintf("steps = %d", mostSampled+1), true}, {"dp_sgd", "steps = 1000000, noise_multiplier = 5", true}, {"dp_adam", "steps = 1000000, sampling_rate = 0.999", true},
		{"dp_sgd", "steps = 1000000, sampling_rate = 1", false}, {"dp_adam", "steps = 1000000", false}, {"dp_gd", "steps = 1000000", false},
	} {
		sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING svm METHOD " + c.method + " TARGET y WITH (delta = 1e-6, " + c.with + ") AS SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Read(sts[0].Node.(*pgsyntax.Train))
		if err != nil {
			t.Fatal(err)
		}
		if spec.Epsilon == 0 && spec.Noise() == 0 {
			spec.Epsilon = 1
		}
		_, err = Plan(spec, []Feature{{Name: "x", Hi: 1, To: 1}}, Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}}, 1, 1e6)
		if (err != nil) != c.refused || err != nil && (sqlerr.ID(err) != sqlerr.InvalidParam.ID || !strings.Contains(err.Error(), "too many to find")) {
			t.Errorf("%s, %s: %v", c.method, c.with, err)
		}
	}
}
