package dp

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

var okSmooth = SmoothScale{Steps: 65, Scale: Scale{520, 1}, Margin: 9000, Delta: 1e-8}

// TestJoinsValidate: each part alone that is zero, out of range or NaN makes the event invalid.
func TestJoinsValidate(t *testing.T) {
	bad := []Event{SmoothScale{}}
	for _, change := range []func(*SmoothScale){
		func(e *SmoothScale) { e.Steps = 0 }, func(e *SmoothScale) { e.Steps = MaxSensitivity + 1 }, func(e *SmoothScale) { e.Scale = Scale{} }, func(e *SmoothScale) { e.Scale.Den = 0 },
		func(e *SmoothScale) { e.Margin = MaxScale + 1 }, func(e *SmoothScale) { e.Delta = 0 }, func(e *SmoothScale) { e.Delta = 1 }, func(e *SmoothScale) { e.Delta = math.NaN() }, func(e *SmoothScale) { e.Delta = -1e-9 },
	} {
		e := okSmooth
		change(&e)
		bad = append(bad, e)
	}
	for _, e := range bad {
		if e.Validate() == nil {
			t.Errorf("%s %+v is taken", e.Name(), e)
		}
	}
	if err := okSmooth.Validate(); err != nil {
		t.Errorf("%+v: %v", okSmooth, err)
	}
}

// TestJoinsJSON: what is written is read back equal, by names that a ledger keeps.
func TestJoinsJSON(t *testing.T) {
	for _, c := range []struct {
		ev         Event
		into       any
		name, text string
	}{
		{okSmooth, new(SmoothScale), "smooth_scale", `{"steps":65,"scale":{"num":520,"den":1},"margin":9000,"delta":1e-8}`},
	} {
		text, err := json.Marshal(c.ev)
		if err != nil || string(text) != c.text || c.ev.Name() != c.name {
			t.Errorf("%s: %s, %v", c.ev.Name(), text, err)
		}
		if err := json.Unmarshal(text, c.into); err != nil || !reflect.DeepEqual(reflect.ValueOf(c.into).Elem().Interface(), c.ev) {
			t.Errorf("%s: %+v, %v", text, c.into, err)
		}
	}
}
