package budget

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Rooms is how much may be spent: pure epsilon, Renyi loss at the filter's order (0: there is no such side) and approximate
// delta. It is a filter's, or a quota's share of it, or what is left of either.
type Rooms struct {
	Pure  float64 `json:"pure"`
	Renyi float64 `json:"renyi"`
	Delta float64 `json:"delta"`
}

// Rooms gives the filter's rooms times a share in (0, 1], rounded down: 1 for the data set.
func (f *Filter) Rooms(share float64) (Rooms, error) {
	if !(share > 0 && share <= 1) {
		return Rooms{}, fmt.Errorf("budget: a share of %g is not in (0, 1]", share)
	}
	return Rooms{Pure: timesDown(f.PureRoom, share), Renyi: timesDown(f.RenyiRoom, share), Delta: timesDown(f.DeltaRoom, share)}, nil
}

// Quota gives the rooms of a quota of epsilon e under the filter's E: the share e/E of each, rounded down; of one that is E all of them, and of the pure one e.
func (f *Filter) Quota(epsilon float64) (Rooms, error) {
	if !(epsilon > 0 && epsilon <= f.Epsilon) {
		return Rooms{}, fmt.Errorf("budget: a quota of epsilon %g is not in (0, %g]", epsilon, f.Epsilon)
	}
	part := func(room float64) float64 {
		switch {
		case room == 0 || epsilon == f.Epsilon:
			return room
		case room == f.Epsilon:
			return epsilon
		}
		return math.Nextafter(math.Nextafter(room*(epsilon/f.Epsilon), 0), 0) // both roundings together are below 1.5 units of the last place
	}
	return Rooms{Pure: part(f.PureRoom), Renyi: part(f.RenyiRoom), Delta: part(f.DeltaRoom)}, nil
}

// CanAdmit reports whether the charge fits on top of what was spent: the deltas and at least one of the two sides have room.
// See NewFilter's proof. A charge that is not valid is not admitted.
func (r Rooms) CanAdmit(spent, charge dp.Loss) bool {
	if spent.Validate() != nil || charge.Validate() != nil {
		return false
	}
	total := spent.Plus(charge)
	if !(total.Delta <= r.Delta) {
		return false
	}
	return total.Pure <= r.Pure || r.Renyi > 0 && total.Renyi <= r.Renyi
}

// Left is what remains of the rooms, rounded down, at least 0.
func (r Rooms) Left(spent dp.Loss) Rooms {
	return Rooms{Pure: lessDown(r.Pure, spent.Pure), Renyi: lessDown(r.Renyi, spent.Renyi), Delta: lessDown(r.Delta, spent.Delta)}
}

// StatementsLeft is how many more charges like this one fit: on the side that holds more, as far as the deltas last;
// math.MaxInt64 if the charge is nothing.
func (r Rooms) StatementsLeft(spent, charge dp.Loss) int64 {
	if spent.Validate() != nil || charge.Validate() != nil || !r.CanAdmit(spent, charge) {
		return 0
	}
	left := r.Left(spent)
	n := fits(left.Pure, charge.Pure)
	if r.Renyi > 0 {
		n = max(n, fits(left.Renyi, charge.Renyi))
	}
	// At least 1: the next one was admitted above, whatever the division's rounding says.
	return max(1, min(n, fits(left.Delta, charge.Delta)))
}

// CanAdmit is Rooms(1).CanAdmit.
func (f *Filter) CanAdmit(spent, charge dp.Loss) bool { return f.whole().CanAdmit(spent, charge) }

// StatementsLeft is Rooms(1).StatementsLeft.
func (f *Filter) StatementsLeft(spent, charge dp.Loss) int64 {
	return f.whole().StatementsLeft(spent, charge)
}

func (f *Filter) whole() Rooms {
	return Rooms{Pure: f.PureRoom, Renyi: f.RenyiRoom, Delta: f.DeltaRoom}
}

func timesDown(x, share float64) float64 {
	if share == 1 || x == 0 {
		return x
	}
	return math.Nextafter(x*share, 0)
}

func lessDown(room, spent float64) float64 {
	if spent == 0 {
		return room
	}
	return math.Max(0, math.Nextafter(room-spent, math.Inf(-1)))
}

func fits(room, charge float64) int64 {
	if charge == 0 {
		return math.MaxInt64
	}
	n := math.Floor(math.Nextafter(room/charge, 0))
	if n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n)
}
