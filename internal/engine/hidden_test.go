package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestHiddenGroups: an answer of unknown groups says up to which noisy number of people they are not shown, in a warning, in dpsql.last and in EXPLAIN; where none is shown it says what would show some, which is so.
func TestHiddenGroups(t *testing.T) {
	const sql = "select diag, count(*) from encounters group by 1"
	cure := regexp.MustCompile(`SET dpsql.price = (\S+) and SET dpsql.fresh = on groups of more than (\d+) people are`)
	for _, edits := range [][]string{nil, {"{price: 0.5}", "{price: 0.5, min_people: 10}"}} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append(edits, enginetest.AutoEdits[4:]...)...)
		_, a := enginetest.Ask(t, s, sql)
		_, last := enginetest.Ask(t, s, "select hidden_up_to from dpsql.last")
		most := last.Rows[0][0].(int64)
		warned := enginetest.BesideLost(a.Warnings)
		if len(a.Rows) > 0 || len(warned) != 1 || !strings.Contains(warned[0], fmt.Sprintf("no group is shown, since none has more than %d people", most)) {
			t.Fatalf("%v, hidden up to %d: %q", a.Rows, most, warned)
		}
		if text := enginetest.Explained(t, s, sql); !strings.Contains(text, "Groups chosen: noisy number of units > ") {
			t.Error(text)
		}
		said := cure.FindStringSubmatch(warned[0])
		if said == nil {
			t.Fatalf("no cure: %q", warned)
		}
		if !strings.Contains(warned[0], "RESET dpsql.price and RESET dpsql.fresh afterwards") {
			t.Errorf("what is set stays set: %q", warned)
		}
		enginetest.Set(t, s, "dpsql.price", said[1])
		enginetest.Set(t, s, "dpsql.fresh", "on")
		enginetest.Ask(t, s, sql)
		if _, last = enginetest.Ask(t, s, "select hidden_up_to from dpsql.last"); fmt.Sprint(last.Rows[0][0]) != said[2] {
			t.Errorf("%s: it is %v", said[0], last.Rows[0][0])
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"max_query_price: 5", "max_query_price: 50"}, enginetest.AutoEdits...)...)
	enginetest.Set(t, s, "dpsql.max_groups", "auto") // a price at which the cap is chosen, and no group shown
	said, price := []string(nil), 0.25
	for ; said == nil && price < 10; price *= 1.5 {
		enginetest.Set(t, s, "dpsql.price", fmt.Sprint(price))
		_, a := enginetest.Ask(t, s, "select diag, days, count(*) from encounters group by 1, 2")
		said = regexp.MustCompile(`SET dpsql.max_groups = (\d+), SET dpsql.price = (\S+) and SET dpsql.fresh = on groups of more than (\d+) people are`).FindStringSubmatch(strings.Join(a.Warnings, "\n"))
	}
	if said == nil {
		t.Fatal("no cure where the cap is chosen")
	}
	enginetest.Set(t, s, "dpsql.max_groups", said[1])
	enginetest.Set(t, s, "dpsql.price", said[2])
	enginetest.Set(t, s, "dpsql.fresh", "on")
	enginetest.Ask(t, s, "select diag, days, count(*) from encounters group by 1, 2")
	_, last := enginetest.Ask(t, s, "select hidden_up_to from dpsql.last")
	if most, err := strconv.ParseInt(said[3], 10, 64); err != nil || last.Rows[0][0].(int64) > most {
		t.Errorf("%s: it is %v", said[0], last.Rows[0][0])
	}
	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...)
	enginetest.Set(t, s, "dpsql.price", "5")
	if _, a := enginetest.Ask(t, s, "select days > 0, count(*) from encounters group by 1"); len(enginetest.BesideLost(a.Warnings)) > 0 { // public
		t.Errorf("public groups: %q", a.Warnings)
	}
	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"{price: 0.5}", "{price: 0.5, min_people: 1000}"}, enginetest.AutoEdits[4:]...)...)
	_, a := enginetest.Ask(t, s, "select readmitted, count(*) from encounters group by 1")
	if warned := enginetest.BesideLost(a.Warnings); len(a.Rows) > 0 || len(warned) != 1 || !strings.Contains(warned[0], "999 people") || !strings.Contains(warned[0], "query.min_people") {
		t.Errorf("%v %q", a.Rows, warned)
	}
	if n := s.Last.(*private.LastAnswer).Releases[0].An.MinPeople; n != 1000 { // what intervals of numbers of people go by
		t.Errorf("the analysis hides groups of fewer than %d", n)
	}
}

// TestLateWarnings: rows that are computed as they are read warn at their end.
func TestLateWarnings(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"statement_timeout: 20s", "statement_timeout: 20s\nlimits: {spool_groups: 1}"}, enginetest.AutoEdits[4:]...)...)
	_, a := enginetest.Ask(t, s, "select kind_id, case when kind_id > 1 then 1 / (count(*) - count(*)) end from encounters group by 1")
	if a.More == nil || len(enginetest.BesideLost(a.Warnings)) > 0 {
		t.Fatalf("%v %q", a.More, a.Warnings)
	}
	rows, err := a.All(context.Background())
	if late := a.More.Late(); err != nil || len(rows) < 3 || len(late) != 1 || !strings.Contains(late[0], "division by zero") {
		t.Errorf("%v, %v: %q", rows, err, late)
	}
}
