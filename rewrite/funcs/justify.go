package funcs

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// justified has justify_hours, justify_days and justify_interval. An interval of 10^9 days or 10^8 years and more is NULL.
func justified() []*Func {
	var out []*Func
	room := "abs(EXTRACT(day FROM {x})) < 1000000000 AND abs(EXTRACT(year FROM {x})) < 100000000"
	for name, f := range map[string]func(sqltype.Interval) sqltype.Interval{"justify_hours": justifyHours, "justify_days": justifyDays, "justify_interval": justifyAll} {
		out = append(out, row(Function, name, oids(span), span, true, forms{pg: "CASE WHEN " + room + " THEN " + name + "({x}) END", why: "DuckDB does not bring intervals to days and months"}).
			eval(of1(func(x sqltype.Interval) (sqltype.Value, error) {
				if outside := func(n, most int64) bool { return n >= most || n <= -most }; outside(int64(x.Days), 1_000_000_000) || outside(int64(x.Months/12), 100_000_000) {
					return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
				}
				return f(x), nil
			})))
	}
	return out
}

func justifyHours(x sqltype.Interval) sqltype.Interval {
	x.Days += int32(x.Micros / microsPerDay) //nolint:gosec // of an int64 it is below 2^27
	x.Micros %= microsPerDay
	return oneSignHours(x)
}

func oneSignHours(x sqltype.Interval) sqltype.Interval {
	switch {
	case x.Days > 0 && x.Micros < 0:
		x.Micros += microsPerDay
		x.Days--
	case x.Days < 0 && x.Micros > 0:
		x.Micros -= microsPerDay
		x.Days++
	}
	return x
}

// InMonths is an interval with its days brought to months of 30 days, as PostgreSQL's justify_days does it.
func InMonths(x sqltype.Interval) sqltype.Interval { return justifyDays(x) }

func justifyDays(x sqltype.Interval) sqltype.Interval {
	x.Months += x.Days / 30
	x.Days %= 30
	switch {
	case x.Months > 0 && x.Days < 0:
		x.Days += 30
		x.Months--
	case x.Months < 0 && x.Days > 0:
		x.Days -= 30
		x.Months++
	}
	return x
}

// justifyAll is interval_justify_interval: days and time are brought to one sign with the months before the days are with the time.
func justifyAll(x sqltype.Interval) sqltype.Interval {
	x.Days += int32(x.Micros / microsPerDay) //nolint:gosec // of an int64 it is below 2^27
	x.Micros %= microsPerDay
	x.Months += x.Days / 30
	x.Days %= 30
	switch {
	case x.Months > 0 && (x.Days < 0 || x.Days == 0 && x.Micros < 0):
		x.Days += 30
		x.Months--
	case x.Months < 0 && (x.Days > 0 || x.Days == 0 && x.Micros > 0):
		x.Days -= 30
		x.Months++
	}
	return oneSignHours(x)
}
