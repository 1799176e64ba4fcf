package owner

import (
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// Forecast is when a budget ends at its present pace.
type Forecast struct {
	Analyst string     `json:"analyst"` // "": everybody together
	Since   time.Time  `json:"since"`   // the first charge of the window, from which the pace is taken
	Ends    *time.Time `json:"ends"`    // null: later than its window
}

// leastPace is the shortest time that a pace is taken over: a few statements of one minute tell nothing of the day.
const leastPace = 24 * time.Hour

// Forecasts follow from a data set's charges alone: what is spent grows as it did on the average since the first charge of the present window. Who spent nothing has none.
func Forecasts(history []ledger.Spent, d DatasetOf, now time.Time) []Forecast {
	out := []Forecast{}
	for _, a := range d.Accounts {
		if a.Role != "" || a.Used <= 0 {
			continue
		}
		for _, s := range history {
			if d.Start != nil && !s.Window.Equal(*d.Start) || a.Analyst != "" && s.Analyst != a.Analyst {
				continue
			}
			f := Forecast{Analyst: a.Analyst, Since: s.At}
			took := max(now.Sub(s.At), leastPace)
			left := max(0, 1-a.Used) / a.Used * float64(took) // in nanoseconds
			if ends := now.Add(time.Duration(min(left, float64(maxForecast)))); left <= float64(maxForecast) && (d.Ends == nil || ends.Before(*d.Ends)) {
				f.Ends = &ends
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// maxForecast is how far ahead one looks.
const maxForecast = 100 * 365 * 24 * time.Hour
