package funcs

import (
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// moved adds an interval to a date, timestamp or time, or takes it away: months first (a day that the month does not have is its
// last), then days, both on the wall clock of the zone, then the time.
func moved(v sqltype.Value, iv sqltype.Interval, op string, l *time.Location) (sqltype.Value, error) {
	if c, ok := v.(sqltype.Clock); ok {
		if op == "-" {
			return sqltype.Clock(floorMod(int64(c)-iv.Micros, microsPerDay)), nil
		}
		return sqltype.Clock(floorMod(int64(c)+iv.Micros, microsPerDay)), nil
	}
	if x, ok := v.(sqltype.Days); ok {
		m, ok := micros(x, sqltype.Micros(0)).(sqltype.Micros)
		if !ok || m == sqltype.InstantInfinity-1 {
			return nil, dateRange()
		}
		v = m
	}
	x, ok := v.(sqltype.Micros)
	if !ok || infinite(x) {
		return v, nil
	}
	if op == "-" {
		if iv.Months == -1<<31 || iv.Days == -1<<31 || iv.Micros == -1<<63 {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
		}
		iv = sqltype.Interval{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}
	}
	m, side, err := shiftMicros(x, iv, l)
	if side != 0 {
		return nil, stampRange()
	}
	return m, err
}

// shiftMicros says by side whether the sum, or a step on the way to it, is before (-1) or behind (1) all timestamps.
func shiftMicros(m sqltype.Micros, iv sqltype.Interval, l *time.Location) (out sqltype.Micros, side int, err error) {
	step := func(move func(civil) time.Time) int {
		c := civilOf(local(m, l))
		t := move(c)
		switch y := t.Year(); { // beyond these the microseconds overflow
		case y < -4713:
			return -1
		case y > 294276:
			return 1
		}
		wall := sqltype.Micros((t.Unix()-epochSeconds)*second + c.micros)
		if s := sideOf(wall); s != 0 {
			return s
		}
		m, err = unlocal(wall, l)
		return 0
	}
	if iv.Months != 0 {
		side = step(func(c civil) time.Time {
			total := int64(c.y)*12 + int64(c.mon-1) + int64(iv.Months)
			y, mon := floorDiv(total, 12), int(floorMod(total, 12))+1
			last := time.Date(int(y), time.Month(mon)+1, 0, 0, 0, 0, 0, time.UTC).Day()
			return time.Date(int(y), time.Month(mon), min(c.d, last), 0, 0, 0, 0, time.UTC)
		})
	}
	if iv.Days != 0 && side == 0 && err == nil {
		side = step(func(c civil) time.Time { return time.Unix(c.t.Unix()+int64(iv.Days)*86400, 0).UTC() })
	}
	if side != 0 || err != nil {
		return 0, side, err
	}
	out = m + sqltype.Micros(iv.Micros)
	if overflows(int64(m), iv.Micros, int64(out)) {
		if m > 0 {
			return 0, 1, nil
		}
		return 0, -1, nil
	}
	return out, sideOf(out), nil
}

// disorder is how far apart timestamps may be whose order months change.
const disorder = 4 * microsPerDay

func sideOf(m sqltype.Micros) int {
	switch {
	case m < firstMicros:
		return -1
	case m >= endMicros:
		return 1
	}
	return 0
}

// shiftable are timestamps between which an interval can be added without an error; not ok if none are known.
//
// Proof: days and time move all timestamps alike, and months move days in their order, but the 28th to 31st may all become one day, of whose moments the time of
// day alone tells the order. So two timestamps are put into the wrong order only if they are less than disorder apart. Bisection finds neighbours of which one leaves the range and the
// other does not; whoever else is on the wrong side of that edge is less than disorder from it. Within a day all are moved alike: what leaves the range there is found by bisection again.
func shiftable(iv sqltype.Interval, op string) (lo, hi sqltype.Micros, ok bool) {
	if op == "-" {
		iv = sqltype.Interval{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}
	}
	side := func(m sqltype.Micros) int {
		_, s, _ := shiftMicros(m, iv, time.UTC)
		return s
	}
	first := func(a, b sqltype.Micros, good func(sqltype.Micros) bool) sqltype.Micros { // the first one from a on, b if none
		for a < b {
			mid := sqltype.Micros(floorDiv(int64(a), 2)+floorDiv(int64(b), 2)) + a&b&1
			if good(mid) {
				b = mid
			} else {
				a = mid + 1
			}
		}
		return a
	}
	inside := func(m sqltype.Micros) bool { return side(m) >= 0 }
	above := func(m sqltype.Micros) bool { return side(m) > 0 }
	lo, hi = first(firstMicros, endMicros, inside), first(firstMicros, endMicros, above)-1
	if iv.Months != 0 {
		lowest, highest := lo, hi
		for day := sqltype.Micros(-disorder); day <= disorder; day += microsPerDay {
			if a, b := ofDay(lowest + day); a < b {
				if x := first(a, b, inside); x > a {
					lo = max(lo, x)
				}
			}
			if a, b := ofDay(highest + day); a < b {
				if x := first(a, b, above); x < b {
					hi = min(hi, x-1)
				}
			}
		}
	}
	return lo, hi, lo <= hi
}

// ofDay are the first timestamp of a day and the one behind its last.
func ofDay(m sqltype.Micros) (from, to sqltype.Micros) {
	from = m - sqltype.Micros(floorMod(int64(m), microsPerDay))
	return max(from, firstMicros), min(from+microsPerDay, endMicros)
}

func overflows(a, b, sum int64) bool { return (a < 0) == (b < 0) && (sum < 0) != (a < 0) }
