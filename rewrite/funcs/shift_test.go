package funcs

import (
	"math/rand"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// someInterval has months that bring days of different months onto one another, and days from the ends of months to those of the timestamps.
func someInterval(rng *rand.Rand) sqltype.Interval {
	iv := sqltype.Interval{Months: int32(rng.Intn(29) - 14), Micros: int64(rng.Intn(49)-24) * 3600 * second}
	toEnd := []int32{0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 334} // from the end of a month to that of December
	switch days := toEnd[rng.Intn(len(toEnd))] + int32(rng.Intn(5)-2); rng.Intn(3) {
	case 0:
		iv.Days = days
	case 1:
		iv.Days = 37 - days // to the 24th of November
	}
	return iv
}

// TestShiftable: an interval can be added to every timestamp between shiftable's two, and not to those beside them. In a zone it can be added to those
// whose wall clock is within the margins. Months change the order of timestamps, so that the days around both ends are gone through by the hour.
func TestShiftable(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var zones []*time.Location
	for _, name := range []string{"UTC", "Pacific/Honolulu", "Pacific/Kiritimati", "Europe/Berlin", "America/New_York"} {
		l, err := location(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, l)
	}
	const hour = 3600 * second
	inverted := 0
	for i := range 1500 {
		iv := someInterval(rng)
		lo, hi, ok := shiftable(iv, "+")
		if !ok {
			t.Fatalf("%+v: nothing", iv)
		}
		good := func(m sqltype.Micros, l *time.Location) bool {
			_, side, err := shiftMicros(m, iv, l)
			return side == 0 && err == nil
		}
		for d := sqltype.Micros(0); d < 6*microsPerDay; d += hour {
			if !good(lo+d, time.UTC) || !good(hi-d, time.UTC) {
				t.Fatalf("%+v: %d hours from the ends [%d, %d] it leaves the range", iv, d/hour, lo, hi)
			}
			if d > 0 && d < disorder && (lo-d >= firstMicros && good(lo-d, time.UTC) || hi+d < endMicros && good(hi+d, time.UTC)) {
				inverted++
			}
		}
		if lo > firstMicros && good(lo-1, time.UTC) || hi < endMicros-1 && good(hi+1, time.UTC) {
			t.Errorf("%+v: there are more than [%d, %d]", iv, lo, hi)
		}
		if i%5 > 0 {
			continue
		}
		l := zones[rng.Intn(len(zones))]
		margin := sqltype.Micros(2 * microsPerDay)
		if iv.Months != 0 {
			margin += disorder
		}
		for d := margin; d < margin+5*microsPerDay; d += hour {
			for _, wall := range []sqltype.Micros{lo + d, hi - d} {
				m, err := unlocal(wall, l)
				if err != nil || !good(m, l) {
					t.Fatalf("%+v in %s: wall clock %d, %d hours from the end, leaves the range: %v", iv, l, wall, d/hour, err)
				}
			}
		}
	}
	if inverted < 4 {
		t.Errorf("%d timestamps were put into another order at the ends: the test finds nothing", inverted)
	}
}

// TestShiftRange: the interval of a sum with a constant interval holds every sum, also of the last days of months with a time.
func TestShiftRange(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	inverted := 0
	for range 1000 {
		iv := someInterval(rng)
		from := sqltype.Micros(int64(rng.Intn(1500)))*microsPerDay + sqltype.Micros(rng.Intn(48))*1800*second
		to := from + sqltype.Micros(rng.Intn(200))*1800*second
		for _, op := range []string{"+", "-"} {
			f := &Func{Name: op, Const: []int{1}}
			r := shiftRange(f, stamp, iv)([]*num.Interval{num.Ints(int64(from), int64(to)), nil}, nil)
			if r == nil {
				t.Fatalf("%s %+v: no range", op, iv)
			}
			at := func(m sqltype.Micros) decimal.Decimal {
				v, err := moved(m, iv, op, time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				return one(int64(v.(sqltype.Micros)))
			}
			lo, hi := at(from), at(to)
			for m := from; m <= to; m += 1800 * second {
				v := at(m)
				if v.LessThan(r.Lo) || v.GreaterThan(r.Hi) {
					t.Fatalf("%d %s %+v = %s, not in %+v of [%d, %d]", m, op, iv, v, r, from, to)
				}
				if v.LessThan(lo) || v.GreaterThan(hi) {
					inverted++
				}
			}
		}
	}
	if inverted < 100 {
		t.Errorf("%d sums lie beyond those of the ends: the test finds nothing", inverted)
	}
}
