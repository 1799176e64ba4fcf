package owner

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// Budget is what an owner is shown of a ledger: what was promised, spent and is left, window and lifetime together.
type Budget struct {
	People   string      `json:"people"`
	Lifetime Lifetime    `json:"lifetime"`
	Frozen   []Freeze    `json:"frozen"`
	Datasets []DatasetOf `json:"data_sets"`
}

// Lifetime is the epsilon of all charged windows.
type Lifetime struct {
	Epsilon *float64 `json:"epsilon"` // null: none, on purpose, or a budget for ever
	Spent   float64  `json:"spent_epsilon"`
	Delta   float64  `json:"spent_delta"`
	Windows int      `json:"charged_windows"`
}

// Freeze is one that holds.
type Freeze struct {
	Analyst string    `json:"analyst"` // "": everybody
	By      string    `json:"by"`
	Since   time.Time `json:"since"`
}

// DatasetOf is one data set's budget in the present window.
type DatasetOf struct {
	Dataset    string     `json:"data_set"`
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Accountant string     `json:"accountant"`
	Order      *float64   `json:"order"` // null: the pure sum alone
	Per        string     `json:"per,omitempty"`
	Start      *time.Time `json:"window_start"`
	Renews     *time.Time `json:"renews_at"`
	SoFar      SoFar      `json:"so_far"`
	Accounts   []Account  `json:"accounts"` // the data set's, then the roles' and the analysts' by name
}

// SoFar is the odometer: all answers of the window up to now are (epsilon, delta)-DP, whenever one looks.
type SoFar struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Account is one balance. A null is no number: the pure side has ended, or there is no Renyi side.
type Account struct {
	Analyst    string   `json:"analyst,omitempty"` // "": the data set, or a role
	Role       string   `json:"role,omitempty"`
	PureSpent  *float64 `json:"pure_spent"`
	PureRoom   float64  `json:"pure_room"`
	RenyiSpent *float64 `json:"renyi_spent"`
	RenyiRoom  *float64 `json:"renyi_room"`
	DeltaSpent float64  `json:"delta_spent"`
	DeltaRoom  float64  `json:"delta_room"`
	Statements int64    `json:"statements"`
	Failures   int64    `json:"failures"`
	Ended      bool     `json:"ended"` // by the lifetime
}

// Report says what a ledger holds.
func Report(a ledger.Accounts) Budget {
	b := Budget{Frozen: []Freeze{}, People: a.People, Lifetime: Lifetime{Spent: a.Lifetime.Spent, Delta: a.Lifetime.SpentDelta, Windows: a.Lifetime.Windows}}
	if a.Lifetime.Limited {
		b.Lifetime.Epsilon = &a.Lifetime.Epsilon
	}
	for _, f := range a.Frozen {
		b.Frozen = append(b.Frozen, Freeze(f))
	}
	for _, d := range a.Datasets {
		out := DatasetOf{Dataset: d.Dataset, Epsilon: d.Filter.Epsilon, Delta: d.Filter.Delta, Accountant: d.Filter.Accountant, Per: d.Per}
		if d.Filter.Order != 0 {
			out.Order = &d.Filter.Order
		}
		if d.Per != "" {
			out.Start, out.Renews = &d.Window.Start, &d.Window.Renews
		}
		out.SoFar.Epsilon, out.SoFar.Delta = d.Filter.Odometer(d.Account.Spent, 1)
		out.Accounts = append(out.Accounts, account("", d.Account, out.Order != nil))
		for _, name := range slices.Sorted(maps.Keys(d.Roles)) {
			of := account("", d.Roles[name], out.Order != nil)
			of.Role = name
			out.Accounts = append(out.Accounts, of)
		}
		for _, name := range slices.Sorted(maps.Keys(d.Analysts)) {
			out.Accounts = append(out.Accounts, account(name, d.Analysts[name], out.Order != nil))
		}
		b.Datasets = append(b.Datasets, out)
	}
	return b
}

func account(name string, a ledger.Account, renyi bool) Account {
	out := Account{Analyst: name, PureRoom: a.Rooms.Pure, DeltaSpent: a.Spent.Delta, DeltaRoom: a.Rooms.Delta, Statements: a.Statements, Failures: a.Failures, Ended: a.Ended}
	if !math.IsInf(a.Spent.Pure, 1) {
		out.PureSpent = &a.Spent.Pure
	}
	if renyi {
		out.RenyiSpent, out.RenyiRoom = &a.Spent.Renyi, &a.Rooms.Renyi
	}
	return out
}

// Print writes the report for people.
func (b Budget) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) } // Flush tells the error
	for _, d := range b.Datasets {
		say("data set %s: epsilon %.4g, delta %.4g, %s", d.Dataset, d.Epsilon, d.Delta, d.Accountant)
		if d.Per != "" {
			say(" per %s, this window from %s to %s UTC", d.Per, d.Start.Format(time.DateTime), d.Renews.Format(time.DateTime))
		} else {
			say(", for ever")
		}
		say("\n  who\tepsilon spent\tof\tRenyi spent\tof\tdelta spent\tof\tstatements\tfailures\n")
		for _, a := range d.Accounts {
			who := a.Analyst
			switch {
			case a.Role != "":
				who = "role " + a.Role
			case who == "":
				who = "(everybody)"
			}
			say("  %s\t%s\t%.4g\t%s\t%s\t%.4g\t%.4g\t%d\t%d\n", who, orDash(a.PureSpent, "ended"), a.PureRoom, orDash(a.RenyiSpent, "-"), orDash(a.RenyiRoom, "-"),
				a.DeltaSpent, a.DeltaRoom, a.Statements, a.Failures)
		}
		say("  all answers so far, whenever one looks: epsilon %.4g at delta %.4g\n", d.SoFar.Epsilon, d.SoFar.Delta)
	}
	switch l := b.Lifetime; {
	case l.Epsilon != nil:
		say("lifetime of %s: epsilon %.4g, used %.4g (delta %.4g) by %d charged windows\n", b.People, *l.Epsilon, l.Spent, l.Delta, l.Windows)
	default:
		say("lifetime of %s: no limit; used epsilon %.4g (delta %.4g) by %d charged windows\n", b.People, l.Spent, l.Delta, l.Windows)
	}
	for _, f := range b.Frozen {
		who := f.Analyst
		if who == "" {
			who = "everybody"
		}
		say("frozen: %s since %s UTC, by %s\n", who, f.Since.UTC().Format(time.DateTime), f.By)
	}
	if len(b.Frozen) == 0 {
		say("frozen: nobody\n")
	}
	return w.Flush()
}

func orDash(x *float64, none string) string {
	if x == nil {
		return none
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g", *x))
}
