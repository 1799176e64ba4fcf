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
	"github.com/dpsql/dpsql/internal/policy"
)

// Budget is what an owner is shown of a ledger: what was promised, spent and is left, window and lifetime together.
type Budget struct {
	People   string      `json:"people"`
	Lifetime Lifetime    `json:"lifetime"`
	Frozen   []Freeze    `json:"frozen"`
	Stopped  []Stop      `json:"stopped"`
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

// Stop is an analyst who had too many resource failures in a window, until dpsql unfreeze.
type Stop struct {
	Analyst string    `json:"analyst"`
	Dataset string    `json:"data_set"`
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
	Ends       *time.Time `json:"window_end"`
	Renews     *time.Time `json:"renews_at"` // the window's end, unless the lifetime holds no further window
	SoFar      SoFar      `json:"so_far"`
	Note       string     `json:"note,omitempty"` // an order that does not fit the policy's usual price
	Accounts   []Account  `json:"accounts"`       // the data set's, then the roles' and the analysts' by name
}

// SoFar is the odometer: all answers of the window up to now are (epsilon, delta)-DP, whenever one looks.
type SoFar struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Account is one balance. A null is no number: the pure side has ended, there is no Renyi side, or the policy does not know whose it is.
type Account struct {
	Analyst     string     `json:"analyst,omitempty"` // "": the data set, or a role
	Role        string     `json:"role,omitempty"`
	Roles       []string   `json:"roles,omitempty"` // of an analyst, those whose budgets bind too
	Used        float64    `json:"used"`            // the part of the own budget that is spent: of epsilon or of delta, the larger
	UsedEpsilon *float64   `json:"used_epsilon"`    // where Used is of delta: the part of epsilon that is spent
	NoDelta     bool       `json:"no_delta"`        // the delta of a statement that selects groups does not fit
	Quota       *float64   `json:"quota"`           // epsilon by the policy; the data set's is its total
	Granted     float64    `json:"granted"`
	PureSpent   *float64   `json:"pure_spent"`
	PureRoom    float64    `json:"pure_room"`
	PureLeft    *float64   `json:"pure_left"`
	RenyiSpent  *float64   `json:"renyi_spent"`
	RenyiRoom   *float64   `json:"renyi_room"`
	RenyiLeft   *float64   `json:"renyi_left"`
	DeltaSpent  float64    `json:"delta_spent"`
	DeltaRoom   float64    `json:"delta_room"`
	DeltaLeft   float64    `json:"delta_left"` // what is left is the least of the own, the roles' and the data set's
	Statements  int64      `json:"statements"`
	More        int64      `json:"statements_left"` // at the usual price
	Failures    int64      `json:"failures"`
	Ended       bool       `json:"ended"` // by the lifetime
	Renews      *time.Time `json:"renews_at"`
}

// Report says what a ledger holds, and what the policy of one of its data sets gives to whom.
func Report(a ledger.Accounts, p *policy.Policy) Budget {
	b := Budget{Frozen: []Freeze{}, Stopped: []Stop{}, People: a.People, Lifetime: Lifetime{Spent: a.Lifetime.Spent, Delta: a.Lifetime.SpentDelta, Windows: a.Lifetime.Windows}}
	if a.Lifetime.Limited {
		b.Lifetime.Epsilon = &a.Lifetime.Epsilon
	}
	for _, f := range a.Frozen {
		b.Frozen = append(b.Frozen, Freeze(f))
	}
	for _, s := range a.Stopped {
		b.Stopped = append(b.Stopped, Stop(s))
	}
	for _, d := range a.Datasets {
		out := DatasetOf{Dataset: d.Dataset, Epsilon: d.Filter.Epsilon, Delta: d.Filter.Delta, Accountant: d.Filter.Accountant, Per: d.Per}
		if d.Filter.Order != 0 {
			out.Order = &d.Filter.Order
		}
		if d.Per != "" {
			out.Start, out.Ends = &d.Window.Start, &d.Window.Renews
			if !d.Window.Last {
				out.Renews = out.Ends
			}
		}
		out.SoFar.Epsilon, out.SoFar.Delta = d.Began.Odometer(d.Account.Spent)
		if d.Dataset == p.Dataset {
			out.Note = d.Filter.Unfit(p.Query.Epsilon, d.Per != "")
		}
		out.Accounts = accountsOf(d, p)
		for i := range out.Accounts {
			out.Accounts[i].Renews = out.Renews
		}
		b.Datasets = append(b.Datasets, out)
	}
	return b
}

// accountsOf are the data set's, the roles' and the analysts'. The policy is one data set's: of another it tells no quota.
func accountsOf(d ledger.DatasetAccounts, p *policy.Policy) (out []Account) {
	usual := d.Filter.Usual(d.Filter.QueryEpsilon)
	show := func(quota *float64, of ledger.Account, within ...ledger.Account) Account {
		left, more := of.Left, of.StatementsLeft(usual)
		for _, w := range within {
			left.Pure, left.Renyi, left.Delta = min(left.Pure, w.Left.Pure), min(left.Renyi, w.Left.Renyi), min(left.Delta, w.Left.Delta)
			more = min(more, w.StatementsLeft(usual))
		}
		one := Account{Used: of.Used(), Quota: quota, Granted: of.Granted, PureRoom: of.Rooms.Pure, DeltaSpent: of.Spent.Delta, DeltaRoom: of.Rooms.Delta, DeltaLeft: left.Delta,
			Statements: of.Statements, More: more, Failures: of.Failures, Ended: of.Ended}
		one.NoDelta = d.Dataset == p.Dataset && of.Rooms.Delta > 0 && of.Left.Delta < p.Query.Delta
		if epsilon, delta := of.Parts(); delta > epsilon {
			one.UsedEpsilon = &epsilon
		}
		if !math.IsInf(of.Spent.Pure, 1) {
			one.PureSpent, one.PureLeft = &of.Spent.Pure, &left.Pure
		}
		if d.Filter.Order != 0 {
			one.RenyiSpent, one.RenyiRoom, one.RenyiLeft = &of.Spent.Renyi, &of.Rooms.Renyi, &left.Renyi
		}
		return one
	}
	mine := d.Dataset == p.Dataset
	out = append(out, show(&d.Filter.Epsilon, d.Account))
	for _, name := range slices.Sorted(maps.Keys(d.Roles)) {
		var quota *float64
		if i := slices.IndexFunc(p.Roles, func(r policy.Role) bool { return r.Name == name }); mine && i >= 0 {
			quota = &p.Roles[i].Epsilon
		}
		one := show(quota, d.Roles[name], d.Account)
		one.Role = name
		out = append(out, one)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Analysts)) {
		var quota *float64
		within, roles := []ledger.Account{d.Account}, []string(nil)
		if a, ok := p.Analyst(name); mine && ok {
			quota = &a.Epsilon
			for _, r := range a.Roles {
				within, roles = append(within, d.Roles[r.Name]), append(roles, r.Name)
			}
		}
		one := show(quota, d.Analysts[name], within...)
		one.Analyst, one.Roles = name, roles
		out = append(out, one)
	}
	return out
}

// notCounted stands where epsilons are not added.
const notCounted = "not counted"

// deltaSpent is what a spent delta ends.
const deltaSpent = "statements over unknown groups and with Gaussian noise are no longer answered"

// returns says whether a budget with windows comes back at the window's end.
func (d DatasetOf) returns() string {
	switch {
	case d.Renews != nil:
		return "when it comes back"
	case slices.ContainsFunc(d.Accounts, func(a Account) bool { return a.Ended }):
		return "which the lifetime does not hold"
	}
	return "the last one that the lifetime holds"
}

// Words are a budget's report in words: dpsql budget show prints them, and the owner's page shows them.
type Words struct {
	Datasets []DatasetWords `json:"data_sets"`
	Lifetime string         `json:"lifetime"`
	Stops    []string       `json:"stops"` // who is frozen or stopped
}

// DatasetWords are of one data set. Each of Accounts has a row.
type DatasetWords struct {
	Budget  string     `json:"budget"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Legend  []string   `json:"legend"` // what the columns are, and what all answers cost together
}

// Words says the report for people.
func (b Budget) Words() Words {
	out := Words{Datasets: []DatasetWords{}, Stops: []string{}}
	for _, d := range b.Datasets {
		out.Datasets = append(out.Datasets, d.words())
	}
	windows := "windows, each in full"
	if b.Lifetime.Windows == 1 {
		windows = "window, in full from its first answer on"
	}
	switch l := b.Lifetime; {
	case l.Epsilon != nil:
		out.Lifetime = fmt.Sprintf("of %s: epsilon %.4g, used %.4g (delta %.4g) by %d %s", b.People, *l.Epsilon, l.Spent, l.Delta, l.Windows, windows)
	default:
		out.Lifetime = fmt.Sprintf("of %s: no limit; used epsilon %.4g (delta %.4g) by %d %s", b.People, l.Spent, l.Delta, l.Windows, windows)
	}
	for _, f := range b.Frozen {
		out.Stops = append(out.Stops, fmt.Sprintf("frozen: %s since %s UTC, by %s", Account{Analyst: f.Analyst}.who(), f.Since.UTC().Format(time.DateTime), f.By))
	}
	if len(b.Frozen) == 0 {
		out.Stops = append(out.Stops, "frozen: nobody")
	}
	for _, s := range b.Stopped {
		out.Stops = append(out.Stops, fmt.Sprintf("stopped: %s since %s UTC, after %d statements of data set %s that ran out of a resource: look at the log, then dpsql unfreeze %s", s.Analyst, s.Since.UTC().Format(time.DateTime), ledger.MaxFailures, s.Dataset, s.Analyst))
	}
	return out
}

// muchAhead is by how much larger the epsilon of all answers is than the used part of the budget's, where the legend explains it.
const muchAhead = 1.05

func (d DatasetOf) words() DatasetWords {
	out := DatasetWords{Columns: []string{"who", "used", "quota", "granted", "epsilon spent", "left", "Renyi spent", "left", "delta spent", "left", "statements", "more", "failures"}}
	out.Budget = fmt.Sprintf("epsilon %.4g, delta %.4g, accountant %s, ", d.Epsilon, d.Delta, d.Accountant)
	if d.Per != "" {
		out.Budget += fmt.Sprintf("per %s, this window from %s to %s UTC, %s", d.Per, d.Start.Format(time.DateTime), d.Ends.Format(time.DateTime), d.returns())
	} else {
		out.Budget += "for ever"
	}
	unknown, uncounted, delta := false, false, false
	for _, a := range d.Accounts {
		who := a.who()
		if a.Role == "" && a.Analyst == "" {
			who = "(everybody)"
		}
		unknown, uncounted = unknown || a.Quota == nil, uncounted || a.PureSpent == nil
		used := fmt.Sprintf("%.3g %%", 100*a.Used)
		if a.UsedEpsilon != nil {
			used, delta = used+" of delta", true
		}
		short := func(x float64) string { return fmt.Sprintf("%.4g", x) }
		out.Rows = append(out.Rows, []string{who, used, orDash(a.Quota, "?"), short(a.Granted), orDash(a.PureSpent, notCounted), orDash(a.PureLeft, "-"), orDash(a.RenyiSpent, "-"),
			orDash(a.RenyiLeft, "-"), short(a.DeltaSpent), short(a.DeltaLeft), fmt.Sprint(a.Statements), fmt.Sprint(a.More), fmt.Sprint(a.Failures)})
	}
	say := func(format string, args ...any) { out.Legend = append(out.Legend, fmt.Sprintf(format, args...)) }
	say("used: the part of the own budget that is spent")
	if delta {
		say("of delta: less is spent of epsilon. Where delta is spent, %s, and others are", deltaSpent)
	}
	if d.Order != nil {
		say("Renyi spent: the sum of Renyi losses at order %.4g, which grow slower than the sum of epsilons", *d.Order)
	}
	if uncounted {
		say(notCounted + ": a Gaussian answer has no epsilon to add, so from the first one on Renyi losses alone count")
	}
	say("left: what may still be spent. A statement needs room for its delta, and for its epsilon or its Renyi loss")
	say("more: how many statements at the usual price still fit")
	if unknown {
		say("?: not in this policy")
	}
	if d.Note != "" {
		say("note: %s", d.Note)
	}
	if so := d.SoFar; so.Epsilon < d.Epsilon {
		say("all answers so far together: epsilon %.4g at delta %.4g", so.Epsilon, so.Delta)
		if len(d.Accounts) > 0 && so.Epsilon > muchAhead*d.Accounts[0].Used*d.Epsilon {
			say("That epsilon rises fast with the first answers and slowly with later ones: where used is 100 %%, it is at most %.4g", d.Epsilon)
		}
	} else { // the filter's own promise says more by now than the odometer
		say("all answers together, those to come too: epsilon %.4g at delta %.4g, as the budget promises", d.Epsilon, d.Delta)
	}
	return out
}

// Print writes the report for people.
func (b Budget) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // Flush tells the error
	words := b.Words()
	for i, d := range words.Datasets {
		say("data set %s: %s", b.Datasets[i].Dataset, d.Budget)
		for _, row := range append([][]string{d.Columns}, d.Rows...) {
			say("  %s", strings.Join(row, "\t"))
		}
		for _, line := range d.Legend {
			say("  %s", line)
		}
	}
	say("lifetime %s", words.Lifetime)
	for _, line := range words.Stops {
		say("%s", line)
	}
	return w.Flush()
}

func orDash(x *float64, none string) string {
	if x == nil {
		return none
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g", *x))
}
