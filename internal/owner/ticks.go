package owner

import (
	"time"

	"gonum.org/v1/plot"
)

// times marks moments that people would choose, in UTC, each once: so many that their texts have room beside one another.
type times struct{}

// mostTicks have room in a figure's width.
const mostTicks = 6

// steps are the distances between two marks, below months.
var steps = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 5 * day, 7 * day, 14 * day}

const day = 24 * time.Hour

// Ticks gives the marks between two times in seconds.
func (times) Ticks(low, high float64) (out []plot.Tick) {
	first, last := time.UnixMilli(int64(low*1e3)).UTC(), time.UnixMilli(int64(high*1e3)).UTC()
	mark := func(at time.Time, format string) {
		if !at.Before(first) && !at.After(last) {
			out = append(out, plot.Tick{Value: seconds(at), Label: at.Format(format)})
		}
	}
	for _, step := range steps {
		if last.Sub(first) > (mostTicks-1)*step {
			continue
		}
		format := "2006-01-02"
		switch {
		case step < time.Minute:
			format += "\n15:04:05"
		case step < day:
			format += "\n15:04"
		}
		for at := first.Truncate(step); !at.After(last); at = at.Add(step) {
			mark(at, format)
		}
		return out
	}
	months := 1
	for last.Sub(first) > time.Duration(mostTicks-1)*time.Duration(months)*31*day {
		switch months {
		case 2: // 1, 2, 3, 6, 12, 24 ...
			months = 3
		default:
			months *= 2
		}
	}
	for at := time.Date(first.Year(), 1, 1, 0, 0, 0, 0, time.UTC); !at.After(last); at = at.AddDate(0, months, 0) {
		mark(at, "2006-01-02")
	}
	return out
}
