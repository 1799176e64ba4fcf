package ledger

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// someEvents has one event of each kind that a ledger holds.
func someEvents() Events {
	s, b := dp.Sensitivity{PerGroup: 10, Groups: 4}, dp.Scale{Num: 41, Den: 8}
	sel := dp.Selection{Groups: 4, Scale: b, Threshold: 600, Delta: 1e-9}
	return Events{
		dp.Choice{Edges: 30, Slope: dp.Scale{Num: 7, Den: 1}, Scale: b},
		dp.AboveThreshold{Edges: 31, Threshold: 17, Scale: b}, dp.AboveThreshold{Edges: 1, Scale: b},
		dp.Laplace{Sensitivity: s, Scale: b}, dp.Gaussian{Sensitivity: s, Scale: b},
		dp.Clipped{Noise: dp.LaplaceNoise, Least: 1, Groups: []uint64{1}, Ratio: b},
		dp.Clipped{Noise: dp.GaussianNoise, Least: dp.MaxSensitivity, Groups: []uint64{1, 2, 64}, Ratio: b},
		dp.Picks{Sensitivity: s, Scale: b}, dp.Clipped{Noise: dp.PickNoise, Least: 2, Groups: []uint64{5, 10}, Ratio: b},
		sel, dp.OneOf{Selections: []dp.Selection{sel, {Groups: 1, Scale: b, Threshold: 500, Delta: 1e-10}}},
		dp.Selection{Noise: dp.GaussianNoise, Groups: 4, Scale: b, Threshold: 90, Delta: 1e-9},
		dp.SmoothScale{Steps: 65, Scale: b, Margin: 5000, Delta: 1e-9},
		dp.Training{Method: "dp_sgd", Epsilon: 1, Delta: 1e-7},
		dp.Composed{Method: "dp_sgd", Multiplier: 3, Rate: 0.1, Steps: 400}, dp.Composed{Method: "objective_perturbation", Multiplier: 900, Rate: 1, Steps: 1, Shift: 0.1, Determinants: 0.02},
		dp.Watch{PerUnit: 3, Threshold: 1000, Alerts: 2, Scale: b},
	}
}

// TestEventsRoundTrip: every kind of event is read back equal, in its order, and to the same bytes; none is missing in the test.
func TestEventsRoundTrip(t *testing.T) {
	in := someEvents()
	kinds := map[string]bool{}
	for _, ev := range in {
		kinds[ev.Name()] = true
	}
	if len(kinds) != len(eventTypes) {
		t.Errorf("%d kinds of events, a ledger holds %d", len(kinds), len(eventTypes))
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Events
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("%+v\nwas\n%+v", out, in)
	}
	if again, err := json.Marshal(out); err != nil || string(again) != string(text) {
		t.Errorf("%s, %v\nwas\n%s", again, err, text)
	}
}

// TestEventsRefuse: what no mechanism can have run is neither written nor read, nor is a field or a name that nobody knows.
func TestEventsRefuse(t *testing.T) {
	sel := dp.Selection{Groups: 1, Scale: dp.Scale{Num: 1, Den: 1}, Threshold: 30}
	for _, ev := range []dp.Event{
		nil, dp.Choice{}, dp.Clipped{}, dp.Training{Epsilon: 1}, dp.Composed{}, dp.Composed{Method: "dp_sgd", Multiplier: 3, Rate: 1.1, Steps: 1}, dp.Composed{Method: "dp_sgd", Multiplier: 3, Rate: 1}, dp.Composed{Method: "dp_sgd", Multiplier: math.NaN(), Rate: 1, Steps: 1},
		dp.Composed{Method: "dp_sgd", Multiplier: 3, Rate: 1, Steps: 1, Determinants: 1}, dp.Composed{Method: "dp_sgd", Multiplier: 3, Rate: 1, Steps: 1, Shift: -1}, dp.OneOf{}, dp.OneOf{Selections: []dp.Selection{sel}}, // no delta
		dp.SmoothScale{}, dp.SmoothScale{Steps: 65, Scale: sel.Scale, Margin: 9},
		dp.AboveThreshold{}, dp.AboveThreshold{Edges: 31, Threshold: dp.MaxChoiceUnits, Scale: sel.Scale}, dp.AboveThreshold{Edges: 31, Threshold: 17}, &dp.AboveThreshold{},
		dp.Watch{}, dp.Watch{PerUnit: 3, Threshold: 1000, Scale: sel.Scale}, dp.Watch{PerUnit: 3, Alerts: 1}, &dp.Watch{},
		&dp.Choice{}, dp.Clipped{Noise: "none", Least: 1, Groups: []uint64{1}, Ratio: sel.Scale},
	} {
		if text, err := json.Marshal(Events{ev}); err == nil {
			t.Errorf("%+v is written as %s", ev, text)
		}
	}
	text, err := json.Marshal(someEvents())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"no edges":          {`"edges":30`, `"edges":0`},
		"edges left out":    {`"edges":30,`, ``},
		"half an edge":      {`"edges":30`, `"edges":1.5`},
		"an edge below 0":   {`"edges":30`, `"edges":-1`},
		"slope of infinity": {`"slope":{"num":7`, `"slope":{"num":1e400`},
		"a field more":      {`"edges":30`, `"edges":30,"ratio":1`},
		"no slope":          {`"slope":{"num":7,"den":1}`, `"slope":{}`},
		"slope left out":    {`"slope":{"num":7,"den":1},`, ``},
		"no edge to reach":  {`"edges":31`, `"edges":0`},
		"edges are gone":    {`"edges":31,`, ``},
		"too many edges":    {`"edges":31`, `"edges":4097`},
		"threshold below 0": {`"threshold":17`, `"threshold":-1`},
		"half a unit":       {`"threshold":17`, `"threshold":17.5`},
		"threshold of 2^53": {`"threshold":17`, `"threshold":9007199254740992`},
		"a slope beside it": {`"threshold":17`, `"threshold":17,"slope":{"num":1,"den":1}`},
		"scale left out":    {`"threshold":17,"scale":{"num":41,"den":8}`, `"threshold":17`},
		"no scale":          {`"threshold":17,"scale":{"num":41,"den":8}`, `"threshold":17,"scale":{}`},
		"a name's plural":   {`"above_threshold"`, `"above_thresholds"`},
		"a choice's name":   {`"above_threshold"`, `"exponential_choice"`},
		"no noise":          {`"noise":"laplace"`, `"noise":""`},
		"another noise":     {`"noise":"laplace"`, `"noise":"cauchy"`},
		"clip of 0":         {`"least":1,`, `"least":0,`},
		"no groups":         {`"groups":[1],`, `"groups":[],`},
		"groups left out":   {`"groups":[1],`, ``},
		"0 groups":          {`[1,2,64]`, `[1,0,64]`},
		"no selections":     {`"selections":[`, `"selections":[],"more":[`},
		"no steps":          {`"steps":65`, `"steps":0`},
		"a margin below 0":  {`"margin":5000`, `"margin":-1`},
		"another name":      {`"exponential_choice"`, `"exponential_choices"`},
		"swapped names":     {`"exponential_choice"`, `"clipped_noise"`},
		"no alerts":         {`"alerts":2`, `"alerts":0`},
		"alerts left out":   {`"alerts":2,`, ``},
		"rows of 0":         {`"per_unit":3`, `"per_unit":0`},
		"delta of 1":        {`"delta":1e-10`, `"delta":1`},
	} {
		bad := strings.Replace(string(text), c[0], c[1], 1)
		if bad == string(text) {
			t.Fatalf("%s: nothing was changed in %s", name, text)
		}
		var out Events
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("%s is read: %+v", name, out)
		}
	}
}

// TestChosenBoundsAreCharged: a statement with chosen bounds is reserved at the sum of all its events, each of which raises it; a loss that leaves the choice
// out, or any other event, is refused. Another process reads the charge back and finds the chain and the sums right.
func TestChosenBoundsAreCharged(t *testing.T) { both(t, testChosenBoundsAreCharged) }

func testChosenBoundsAreCharged(t *testing.T) {
	path, head := tempPath(t), demoHead(t)
	l := must(openAt(path, head, Options{}))(t)
	limit := head.Filter.Limit(0.1)
	choice := dp.Choice{Edges: 30, Slope: dp.Scale{Num: 20, Den: 1}, Scale: must(head.Filter.ChoiceScale(limit))(t)}
	above := dp.AboveThreshold{Edges: 31, Threshold: 17, Scale: must(head.Filter.ThresholdScale(limit))(t)}
	laplace := must(head.Filter.Clipped(dp.LaplaceNoise, 1, []uint64{1, 2, 4}, limit))(t)
	gauss := must(head.Filter.Clipped(dp.GaussianNoise, 1, []uint64{1, 2, 4}, limit))(t)
	var one dp.OneOf
	for _, groups := range laplace.Groups {
		one.Selections = append(one.Selections, must(head.Filter.Selection("", groups, limit, 1e-9))(t))
	}
	var spent dp.Loss
	for _, events := range []Events{{choice, laplace, one}, {above, laplace, one}, {choice, choice, above, above, laplace, gauss, one}} {
		r := Reservation{Payer: Payer{Analyst: "ann", Quota: 1}, Statement: Hash{4}, Price: 0.5, Events: events, Loss: must(head.Filter.Sum(events))(t)}
		for i := range events {
			less := append(append(Events(nil), events[:i]...), events[i+1:]...)
			bad := r
			bad.Loss = must(head.Filter.Sum(less))(t)
			if !(bad.Loss.Renyi < r.Loss.Renyi) {
				t.Errorf("event %d of %v costs nothing", i, events)
			}
			if _, err := l.Reserve(ctx, bad); err == nil {
				t.Errorf("reserved without a charge for %s", events[i].Name())
			}
		}
		must(l.Reserve(ctx, r))(t)
		spent = spent.Plus(r.Loss)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, path, head, Options{})
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	b := must(l.balance("ann", 1))(t)
	if b.Dataset.Statements != 3 || b.Dataset.Left.Renyi > head.Filter.RenyiRoom-spent.Renyi || math.IsNaN(b.Dataset.Left.Renyi) {
		t.Errorf("%+v after %+v", b.Dataset, spent)
	}
}
