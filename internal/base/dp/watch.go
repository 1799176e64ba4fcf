package dp

import "fmt"

// Watch is a count that is looked at again and again, by the sparse vector technique: one unit raises it by at most PerUnit rows and lowers it nowhere. An alert is a look at which the count with noise reaches
// the threshold with noise. Count and threshold are each raised by a geometric number of this Scale: the count anew at each look, the threshold anew after each alert. After Alerts alerts it ends.
type Watch struct {
	PerUnit   uint64 `json:"per_unit"`  // rows
	Threshold uint64 `json:"threshold"` // rows
	Alerts    uint64 `json:"alerts"`
	Scale     Scale  `json:"scale"` // in rows
}

// MaxAlerts limits the alerts of one watch.
const MaxAlerts = 1000

// Name is the event's stable name in the ledger.
func (Watch) Name() string { return "sparse_vector" }

// Validate refuses what no mechanism can have run.
func (e Watch) Validate() error {
	if err := firstError((Sensitivity{PerGroup: e.PerUnit, Groups: 1}).Validate(), e.Scale.Validate()); err != nil {
		return err
	}
	if e.Threshold >= MaxChoiceUnits || e.Alerts == 0 || e.Alerts > MaxAlerts || e.Scale.Num/e.Scale.Den >= MaxChoiceScale {
		return fmt.Errorf("dp: a watch of threshold %d, %d alerts and scale %g is out of range", e.Threshold, e.Alerts, e.Scale.Float())
	}
	return nil
}
