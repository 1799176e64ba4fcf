package dp

import (
	"encoding/json"
	"math"
	"testing"
)

var okWatch = Watch{PerUnit: 3, Threshold: 1000, Alerts: 2, Scale: Scale{41, 8}}

// TestWatchValidate: each part alone that is zero or out of range makes the event invalid.
func TestWatchValidate(t *testing.T) {
	for _, change := range []func(*Watch){
		func(e *Watch) { *e = Watch{} }, func(e *Watch) { e.PerUnit = 0 }, func(e *Watch) { e.PerUnit = MaxSensitivity + 1 }, func(e *Watch) { e.Threshold = MaxChoiceUnits }, func(e *Watch) { e.Threshold = math.MaxUint64 },
		func(e *Watch) { e.Alerts = 0 }, func(e *Watch) { e.Alerts = MaxAlerts + 1 }, func(e *Watch) { e.Scale = Scale{} }, func(e *Watch) { e.Scale.Den = 0 }, func(e *Watch) { e.Scale = Scale{MaxChoiceScale, 1} },
	} {
		e := okWatch
		change(&e)
		if e.Validate() == nil {
			t.Errorf("%+v is taken", e)
		}
	}
	if err := okWatch.Validate(); err != nil {
		t.Error(err)
	}
}

// TestWatchJSON: what is written is read back equal, by names that a ledger keeps.
func TestWatchJSON(t *testing.T) {
	const want = `{"per_unit":3,"threshold":1000,"alerts":2,"scale":{"num":41,"den":8}}`
	text, err := json.Marshal(okWatch)
	if err != nil || string(text) != want || okWatch.Name() != "sparse_vector" {
		t.Errorf("%s: %s, %v", okWatch.Name(), text, err)
	}
	var back Watch
	if err := json.Unmarshal(text, &back); err != nil || back != okWatch {
		t.Errorf("%+v, %v", back, err)
	}
}
