package prooftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/generate"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// try says what is wrong with a statement; nil if it is refused, or right. turn says which of the clinics are asked this time: the one without the heaviest unit
// always, and of those with odd rows and without any, and of the other neighbours, one.
func (tr *trials) try(s *generate.Statement, turn int, count bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	ctx := context.Background()
	note := func(what string) {
		if count {
			tr.count[what]++
		}
	}
	p, err := enginetest.Prepare(tr.roomy, s.Text())
	if err != nil {
		note("refused")
		if count {
			tr.why[reason(err)]++
		}
		return refusedWell(err)
	}
	if p.Analysis().Agg == nil {
		note("public")
		return nil
	}
	note("accepted")
	if len(p.Staged().Stages) > 1 {
		note("several stages")
	}
	if count {
		for n := range s.Nodes {
			tr.nodes[n]++
		}
	}
	what, err := tr.oracle(ctx, p, s)
	if note(what); err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	for _, d := range enginetest.Dialects {
		session := tr.before[d]
		enginetest.Set(tr.t, session, "dpsql.max_groups", strconv.Itoa([]int{1, 4}[turn%2]))
		p, err := enginetest.Prepare(session, s.Text())
		if err != nil {
			if note("refused on " + d.String()); refusedWell(err) != nil {
				return err
			}
			continue
		}
		if d == funcs.DuckDB && turn%2 == 1 && count && os.Getenv("DPSQL_LONG") == "" { // it takes most of the time
			continue
		}
		err = tr.neighbours(p, d, turn)
		if d == funcs.DuckDB && err != nil && strings.Contains(err.Error(), "INTERNAL Error") && tr.failsAlike(p, d) {
			note("plans that DuckDB fails at")
			continue
		}
		if err != nil {
			return fmt.Errorf("neighbours on %s: %w", d, err)
		}
		note("compared on " + d.String())
		if d == funcs.Postgres {
			if err := tr.variants(p, s, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func reason(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.ID + ": " + e.Message
	}
	return err.Error()
}

// refusedWell: as a user error.
func refusedWell(err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID == sqlerr.Internal.ID {
		return fmt.Errorf("refused as nobody should be: %w", err)
	}
	return nil
}

// variants: texts of the same meaning have the same unit, bounds, groups and charge.
func (tr *trials) variants(p *enginetest.Prepared, s *generate.Statement, note func(string)) error {
	was, err := claimsText(p)
	if err != nil {
		return err
	}
	for _, v := range generate.Variants {
		text := s.Variant(v)
		if text == s.Text() {
			continue
		}
		other, err := enginetest.Prepare(p.Session, text)
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", v, err, text)
		}
		is, err := claimsText(other)
		if err != nil {
			return err
		}
		if is != was {
			return fmt.Errorf("%s: claims\n%s, were\n%s\n%s", v, is, was, text)
		}
		note(string(v))
	}
	return nil
}

// claimsText is what is claimed of a statement, and what it costs.
func claimsText(p *enginetest.Prepared) (string, error) {
	var out []string
	for _, st := range p.Staged().Stages {
		a := st.An
		mp, err := st.Price()
		if sqlerr.ID(err) == sqlerr.NoiseTooLarge.ID { // refused, and so must the other texts be
			out = append(out, err.Error())
			continue
		}
		if err != nil {
			return "", err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "unit %s, %d rows, groups: public %t, %d, %d a unit, capped %t; price %v", a.Unit, a.MaxRows, a.Groups.Public, a.Groups.Count, a.Limit.PerUnit, a.Limit.Capped, mp.Price)
		var measures []string
		for _, m := range a.Measures {
			measures = append(measures, fmt.Sprintf("%s in [%d, %d] steps of %s, %d a group", m.Name(), m.Lo, m.Hi, m.Grid, m.PerGroup))
		}
		slices.Sort(measures)
		for _, k := range a.Keys {
			fmt.Fprintf(&b, "; key %s of unit %t, public %t", k.Type, k.OfUnit, k.Public)
		}
		out = append(out, b.String()+"\n"+strings.Join(measures, "\n"))
	}
	slices.Sort(out)
	return strings.Join(out, "\n"), nil
}

// TestGenerated: random statements are refused, or their un-noised answer is PostgreSQL's, they hold what is claimed of them on neighbouring databases, fail on
// none, and texts of the same meaning are claimed and charged alike. GENERATE_SEED begins another sequence, GENERATE_STATEMENTS says how long it is.
func TestGenerated(t *testing.T) {
	tr := newTrials(t)
	seed, n, until := uint64(20261122), 200, time.Duration(0)
	if os.Getenv("DPSQL_LONG") != "" {
		seed, n, until = rand.Uint64(), 1<<30, 10*time.Minute
	}
	if s, err := strconv.ParseUint(os.Getenv("GENERATE_SEED"), 10, 64); err == nil {
		seed = s
	}
	if s, err := strconv.Atoi(os.Getenv("GENERATE_STATEMENTS")); err == nil {
		n = s
	}
	start, failed, made := time.Now(), map[string]bool{}, 0
	for i := range uint64(n) {
		if until > 0 && time.Since(start) > until || len(failed) >= 25 {
			break
		}
		made++
		tape := generate.Record(rand.New(rand.NewPCG(seed, i)).IntN)
		err := tr.try(generate.New(tape.Draw, statementTables()), int(i), true)
		if err == nil {
			continue
		}
		kind := failure(err)
		if failed[kind] {
			tr.count["failed again"]++
			continue
		}
		failed[kind] = true
		least := generate.Shrink(tape.Choices, 400, func(tape *generate.Tape) bool {
			err := tr.try(generate.New(tape.Draw, statementTables()), int(i), false)
			return err != nil && failure(err) == kind
		})
		s := generate.New((&generate.Tape{Choices: least}).Draw, statementTables())
		t.Errorf("seed %d, statement %d: %s\n%v", seed, i, s.Text(), tr.try(s, int(i), false))
	}
	tr.enough(made)
	t.Logf("%d statements in %s: %s", made, time.Since(start).Round(time.Second), counted(tr.count))
	if testing.Verbose() {
		t.Logf("nodes: %s", counted(tr.nodes))
		t.Logf("refused: %s", counted(tr.why))
	}
}

// enough: what was made is not refused too often, and of all sorts.
func (tr *trials) enough(made int) {
	tr.t.Helper()
	if made < 200 {
		return
	}
	for what, percent := range map[string]int{"accepted": 28, "equal to PostgreSQL": 15, "compared on postgres": 27, "compared on duckdb": 10, string(generate.Tautology): 25, string(generate.Swapped): 8,
		string(generate.Named): 12, string(generate.Wrapped): 25} {
		if tr.count[what]*100 < made*percent {
			tr.t.Errorf("%s: %d of %d statements, it should be %d%%", what, tr.count[what], made, percent)
		}
	}
	for _, node := range []string{"group by", "having", "filter", "inner join", "left join", "comma", "derived table", "aggregates within a person", "distinct", "set operation", "windows within a person", "exists", "in, of the unit",
		"scalar subquery", "case", "nullif", "sum", "avg", "count(distinct unit)", "moment", "order by", "condition more in ON"} {
		if tr.nodes[node] == 0 {
			tr.t.Errorf("no accepted statement has %s", node)
		}
	}
	if most := 80; len(tr.nodes) < most {
		tr.t.Errorf("accepted statements have %d sorts of nodes, not %d", len(tr.nodes), most)
	}
}

// TestGeneratedBites: each of these bugs in what is printed is found among a few statements.
func TestGeneratedBites(t *testing.T) {
	tr := newTrials(t)
	for _, bug := range []struct {
		name, find, with string
		quick            bool
	}{
		{"clamps of counts dropped", `CASE WHEN ("g"."p\d+") > \d+ THEN \d+ ELSE "g"."p\d+" END`, "$1", true},
		{"cap of groups dropped", ` WHERE "g"."rn" <= \d+`, "", false},
		{"left joins made inner", ` LEFT JOIN `, " INNER JOIN ", false},
		{"rows without a unit kept", `"t1"\."(?:c_)?patient_id" IS NOT NULL`, "TRUE", false},
		{"equalities of units dropped from joins", `ON \(+"t\d+"\."(?:c_)?patient_id" = "t\d+"\."(?:c_)?patient_id"\)+`, "ON TRUE", false},
		{"DISTINCT dropped", `SELECT DISTINCT`, "SELECT", true},
		{"NOT dropped", `\(NOT `, "(", true},
		{"a group's rows of other people", ` GROUP BY 1, 2`, " GROUP BY 2, 1 HAVING count(*) > 1", false},
		{"FILTER dropped", `FILTER \(WHERE `, "FILTER (WHERE TRUE OR ", false},
	} {
		if os.Getenv("DPSQL_LONG") == "" && !bug.quick {
			continue
		}
		pattern := regexp.MustCompile(bug.find)
		found, used := "", 0
		tr.mangle = func(sql string) string {
			out := pattern.ReplaceAllString(sql, bug.with)
			if out != sql {
				used++
			}
			return out
		}
		for i := range uint64(4000) {
			s := generate.New(rand.New(rand.NewPCG(1, i)).IntN, statementTables())
			if used > 200 || found != "" {
				break
			}
			if !tr.mangles(s) {
				continue
			}
			if err := tr.try(s, int(i), false); err != nil && !strings.Contains(err.Error(), "SQLSTATE") {
				found = err.Error()
			}
		}
		if t.Logf("%s: after %d prints: %.100s", bug.name, used, found); found == "" {
			t.Errorf("%s: not found in %d prints", bug.name, used)
		}
	}
}

// mangles: the planted bug changes something in the print of a statement.
func (tr *trials) mangles(s *generate.Statement) bool {
	p, err := enginetest.Prepare(tr.roomy, s.Text())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(p.Staged().Stages, func(one *stage.Stage) bool {
		st, err := sqlgen.Private(one.An, p.Session.Engine.Dialect, 7)
		return err == nil && tr.mangle(st.SQL) != st.SQL
	})
}

// failure is what kind of failure one is, without what differs from one statement to another of the same kind.
func failure(err error) string {
	words := strings.FieldsFunc(strings.SplitN(err.Error(), "\n", 2)[0], func(r rune) bool { return r == ' ' || r == ':' || r == ';' })
	words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "0123456789\"'|(") })
	return strings.Join(words[:min(len(words), 14)], " ")
}

func counted(m map[string]int) string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b string) int { return m[b] - m[a] })
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(out, "\n  ")
}
