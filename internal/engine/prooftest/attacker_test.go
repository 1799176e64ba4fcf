package prooftest

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/attacker"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

var updateAttacker = flag.Bool("update-attacker", false, "write the table of docs/threat-model.md")

const (
	attackerLevel   = 1e-6 // of the one-sided test
	attackerConfirm = 1e-4 // of the second test, on new draws, that a surprising result must pass: a false alarm has a probability below 1e-10 a game
	attackerPrice   = 0.4  // of one statement
)

// attackerEffort is how hard the attacker searches: DPSQL_ATTACKER for `make test-attacker`, DPSQL_LONG for a short run.
func attackerEffort(t *testing.T) attacker.Search {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := attacker.Search{Statements: 3, Rand: rand.New(rand.NewPCG(seed, 18)), Log: t.Logf}
	switch {
	case os.Getenv("DPSQL_ATTACKER") != "":
		o.Population, o.Generations, o.Draws, o.Last = 24, 12, 100, 3000
	case os.Getenv("DPSQL_LONG") != "":
		o.Population, o.Generations, o.Draws, o.Last = 8, 3, 40, 600
	default:
		t.Skip("make test-attacker")
	}
	return o
}

// attackerTables are what the attacker knows of a patient of the clinic.
func attackerTables(t *testing.T, target int) []attacker.Table {
	t.Helper()
	enginetest.Wild.Open(t, funcs.Postgres)
	raw := naive(t, "clinic_"+enginetest.Wild.Name)
	known := func(from, unit string, numbers string, names ...string) attacker.Table {
		out := attacker.Table{From: from, Unit: unit, Target: strconv.Itoa(target)}
		for _, n := range names {
			c := attacker.Column{Name: n, Number: strings.Contains(numbers, n)}
			for _, own := range []string{"=", "<>"} {
				got := raw(fmt.Sprintf("select distinct quote_literal(%s) from %s where %s is not null and %s %s %d and %[1]s::text <> 'NaN' order by 1 limit 4", n, from, n, unit, own, target))
				for _, r := range got.rows {
					v := r[0]
					if c.Number {
						v = strings.Trim(v, "'")
					}
					c.Values = append(c.Values, v)
				}
			}
			out.Columns = append(out.Columns, c)
		}
		return out
	}
	return []attacker.Table{
		known("patients", "patient_id", "city_id weight account", "gender", "race", "active", "smoker", "city_id", "weight", "account", "ward"),
		known("encounters e join patients p using (patient_id)", "patient_id", "days medications cost free", "kind_id", "days", "medications", "cost", "diag", "readmitted", "free", "gender", "race"),
	}
}

// attackedWorld is dpsql before one database. Its engine is opened anew after so many draws, whichever world it is, so that what is left of the budget tells nothing.
type attackedWorld struct {
	t     *testing.T
	c     enginetest.Clinic
	d     dialect.Dialect
	s     *session.Session
	draws int
}

const drawsOfEngine = 500

func (w *attackedWorld) ask(attack []string) (out []attacker.Seen, err error) {
	if w.draws%drawsOfEngine == 0 {
		if w.s != nil {
			_ = w.s.Engine.Close()
		}
		w.s = enginetest.ClinicSession(w.t, w.c, w.d, "epsilon: 20,", "epsilon: 1000,")
		enginetest.Set(w.t, w.s, "dpsql.fresh", "on")
		enginetest.Set(w.t, w.s, "dpsql.price", fmt.Sprint(attackerPrice))
		enginetest.Set(w.t, w.s, "dpsql.notices", "full")
	}
	w.draws++
	for _, sql := range attack {
		out = append(out, w.see(sql))
		last := w.see("select * from dpsql.last")
		for _, r := range last.Rows {
			out[len(out)-1].Notes = append(out[len(out)-1].Notes, strings.Join(r, " "))
		}
	}
	return out, nil
}

// see is all that the analyst is told of one statement.
func (w *attackedWorld) see(sql string) attacker.Seen {
	p, err := enginetest.Prepare(w.s, sql)
	if err != nil {
		return attacker.Seen{Notes: []string{everything(err)}}
	}
	a, err := p.Run(context.Background(), nil)
	if err != nil {
		if sqlerr.ID(err) == sqlerr.BudgetExhausted.ID {
			w.t.Fatal(err)
		}
		return attacker.Seen{Notes: []string{everything(err)}}
	}
	rows, err := a.All(context.Background())
	if err != nil {
		return attacker.Seen{Notes: []string{everything(err)}}
	}
	out := attacker.Seen{Keys: len(p.Columns()) - 1, Notes: []string{a.Tag, a.Notice, a.Mark, fmt.Sprint(p.Columns())}}
	for _, r := range rows {
		var texts []string
		for i, v := range r {
			texts = append(texts, enginetest.Spelled(v, p.Columns()[i].Type))
		}
		out.Rows = append(out.Rows, texts)
	}
	return out
}

// charged are the events of one attack.
func (w *attackedWorld) charged(attack []string) (out []dp.Event) {
	if w.s == nil || w.draws%drawsOfEngine == 0 {
		_, _ = w.ask(attack) // an engine of its own
	}
	before := len(enginetest.Charges(w.t, w.s.Engine))
	if _, err := w.ask(attack); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range enginetest.Charges(w.t, w.s.Engine)[before:] {
		out = append(out, c.Events...)
	}
	return out
}

// carelessProxy notes one rule less than it should. It answers counts of persons, with noise of scale 1/attackerPrice.
type carelessProxy struct {
	name      string
	claim     int  // to how many answers' loss it thinks that its answers amount
	sticky    bool // noise is fixed by the statement, so that asking again is thought to tell nothing
	errors    bool // the database's errors are passed on
	threshold bool // groups are answered: those of two persons or more, by their true number
}

var carelessProxies = []carelessProxy{
	{name: "noise fixed by the statement", claim: 1, sticky: true},
	{name: "errors passed on", claim: 3, errors: true},
	{name: "groups by an exact threshold", claim: 3, threshold: true},
}

func (c carelessProxy) accepts(sql string) bool {
	count := regexp.MustCompile(`^select .*count\(\*\) from patients`).MatchString(sql)
	raises := regexp.MustCompile(`/ \(|ln\(|sqrt\(`).MatchString(sql)
	return count && !strings.Contains(sql, "having") && !strings.Contains(sql, "order by") && c.threshold == strings.Contains(sql, "group by") && c.errors == raises
}

func (c carelessProxy) proxy(t *testing.T, rnd *rand.Rand, target enginetest.Clinic) attacker.Proxy {
	enginetest.Wild.Open(t, funcs.Postgres)
	target.Open(t, funcs.Postgres)
	raw := map[bool]asker{true: naive(t, "clinic_"+enginetest.Wild.Name), false: naive(t, "clinic_"+target.Name)}
	return func(in bool, attack []string) (out []attacker.Seen, err error) {
		salt := rnd.Uint64()
		for _, sql := range attack {
			source := rnd
			if c.sticky {
				h := fnv.New64a()
				_, _ = h.Write([]byte(sql))
				source = rand.New(rand.NewPCG(salt, h.Sum64()))
			}
			if !c.accepts(sql) {
				out = append(out, attacker.Seen{Notes: []string{"refused"}})
				continue
			}
			got := raw[in](sql)
			s := attacker.Seen{}
			if got.err != "" {
				s.Notes = []string{got.err}
			}
			for _, r := range got.rows {
				s.Keys = len(r) - 1
				n, err := strconv.ParseFloat(r[s.Keys], 64)
				if err != nil {
					return nil, err
				}
				if c.threshold && n < 2 {
					continue
				}
				n += (source.ExpFloat64() - source.ExpFloat64()) / attackerPrice
				s.Rows = append(s.Rows, append(r[:s.Keys:s.Keys], fmt.Sprintf("%.3f", n)))
			}
			out = append(out, s)
		}
		return out, nil
	}
}

// attackerRow is a row of the table of docs/threat-model.md.
type attackerRow struct {
	attack, proxy string
	right, tries  int
	optimum       float64
}

// play is one search against a proxy. Its result is tested once more on new draws where it is above the optimum.
func play(t *testing.T, o attacker.Search, tables []attacker.Table, proxy attacker.Proxy, accepts func(string) bool, optimum func(attack []string) float64) (r attacker.Result, best float64, above bool) {
	t.Helper()
	r, err := o.Run(attacker.NewGrammar(o.Rand, tables...), proxy, accepts)
	if err != nil {
		t.Fatal(err)
	}
	best = optimum(r.Attack)
	t.Logf("%d of %d right (%.3f), the optimum is %.3f: %q", r.Right, r.Tries, r.Accuracy(), best, r.Attack)
	if attacker.Chance(r.Right, r.Tries, best) >= attackerLevel {
		return r, best, false
	}
	again, err := o.Test(proxy, r.Attack)
	if err != nil {
		t.Fatal(err)
	}
	return r, best, attacker.Chance(again.Right, again.Tries, best) < attackerConfirm
}

// TestSearchingAttacker: an attacker who searches for statements, and has a classifier guess from all that is seen whether a person is in the data, is right no more often than the charged losses allow, and of careless proxies
// more often than they think. Beside it everybody's bit is reconstructed from counts over random subsets, by a linear program.
func TestSearchingAttacker(t *testing.T) {
	o := attackerEffort(t)
	var rows []attackerRow
	targets := []struct {
		unit    int
		without enginetest.Clinic
	}{{neighbour.Heavy, enginetest.Without[0]}, {neighbour.Plain, enginetest.Without[1]}}
	for _, c := range carelessProxies {
		t.Run(c.name, func(t *testing.T) {
			o := o
			if o.Log = t.Logf; c.sticky {
				o.Statements = 32 // which are free
			}
			laplace := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: uint64(1 / attackerPrice * 2), Den: 2}}
			r, best, above := play(t, o, attackerTables(t, neighbour.Plain)[:1], c.proxy(t, o.Rand.(*rand.Rand), enginetest.Without[1]), c.accepts, func([]string) float64 {
				return optimum(t, slices.Repeat([]dp.Event{laplace}, c.claim))
			})
			if !above {
				t.Error("the attack learns nothing from the careless proxy, so it proves nothing")
			}
			rows = append(rows, attackerRow{"search", c.name, r.Right, r.Tries, best})
		})
	}
	for _, d := range enginetest.Dialects {
		for _, target := range targets {
			name := fmt.Sprintf("dpsql before %s, person %d", d, target.unit)
			t.Run(name, func(t *testing.T) {
				o.Log = t.Logf
				worlds := map[bool]*attackedWorld{true: {t: t, c: enginetest.Wild, d: d}, false: {t: t, c: target.without, d: d}}
				read := enginetest.ClinicSession(t, enginetest.Wild, d)
				accepts := func(sql string) bool { _, err := enginetest.Prepare(read, sql); return err == nil }
				proxy := func(in bool, attack []string) ([]attacker.Seen, error) { return worlds[in].ask(attack) }
				r, best, above := play(t, o, attackerTables(t, target.unit), proxy, accepts, func(attack []string) float64 {
					a := &attackedWorld{t: t, c: enginetest.Wild, d: d}
					return optimum(t, a.charged(attack))
				})
				if above {
					t.Error("the attack learns more than was charged")
				}
				rows = append(rows, attackerRow{"search", name, r.Right, r.Tries, best})
			})
		}
	}
	t.Run("reconstruction", func(t *testing.T) { rows = append(rows, reconstruct(t, o.Rand.(*rand.Rand))...) })
	if *updateAttacker && !t.Failed() {
		writeAttackerTable(t, rows)
	}
}

func optimum(t *testing.T, events []dp.Event) float64 {
	t.Helper()
	if len(events) == 0 {
		return 0.5
	}
	best, err := attacker.Optimum(events)
	if err != nil {
		t.Fatal(err)
	}
	return best
}

// reconstructed is how many persons' bits are asked about.
const reconstructed = 64

// reconstruct plays the reconstruction against a proxy that answers as many counts as it is asked, each of loss 1, and against dpsql, whose budget of 0.5 is for all of them. Bits are fair coins of their own, so the number of right
// ones is bounded as in audit.P.
func reconstruct(t *testing.T, rnd *rand.Rand) (out []attackerRow) {
	bits := make([]bool, reconstructed)
	for i := range bits {
		bits[i] = rnd.IntN(2) == 1
	}
	attack := func(questions int, count func(ids []int) (float64, error)) (right int) {
		var subsets [][]bool
		var counts []float64
		for range questions {
			subset := make([]bool, reconstructed)
			var ids []int
			for i := range subset {
				if subset[i] = rnd.IntN(2) == 1; subset[i] {
					ids = append(ids, i)
				}
			}
			n, err := count(ids)
			if err != nil {
				break
			}
			subsets, counts = append(subsets, subset), append(counts, n)
		}
		guess, err := attacker.Reconstruct(subsets, counts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range bits {
			if guess[i] == bits[i] {
				right++
			}
		}
		return right
	}
	const questions = 4 * reconstructed
	right := attack(questions, func(ids []int) (float64, error) {
		n := rnd.ExpFloat64() - rnd.ExpFloat64()
		for _, i := range ids {
			if bits[i] {
				n++
			}
		}
		return n, nil
	})
	if audit.P(reconstructed, reconstructed, right, 1, 0) >= attackerLevel {
		t.Errorf("%d of %d bits: the reconstruction learns nothing from the careless proxy, so it proves nothing", right, reconstructed)
	}
	out = append(out, attackerRow{"reconstruction", "no budget", right, reconstructed, 1 / (1 + math.Exp(-1))})

	s := sickSession(t, bits)
	right = attack(questions, func(ids []int) (float64, error) { return countSick(t, s, ids) })
	if audit.P(reconstructed, reconstructed, right, 0.5, 0) < attackerLevel*attackerConfirm {
		t.Errorf("%d of %d bits of dpsql", right, reconstructed)
	}
	return append(out, attackerRow{"reconstruction", "dpsql, budget 0.5", right, reconstructed, 1 / (1 + math.Exp(-0.5))})
}

// writeAttackerTable writes the results between two lines of docs/threat-model.md.
func writeAttackerTable(t *testing.T, rows []attackerRow) {
	t.Helper()
	const page, begin, end = "../../../docs/threat-model.md", "<!-- attacker -->\n", "<!-- /attacker -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/threat-model.md has no place for the table")
	}
	var b strings.Builder
	b.WriteString("| attack | proxy | right guesses | optimum for what is claimed |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d of %d, %.1f %% | %.1f %% |\n", r.attack, r.proxy, r.right, r.tries, 100*float64(r.right)/float64(r.tries), 100*r.optimum)
	}
	if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
