package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestRehearseAsAsked: what a rehearsal says is free or charged, and how much, is what the same session is charged: answers that are computed from other questions' releases, statements that are asked anew, top-ups.
func TestRehearseAsAsked(t *testing.T) {
	script := []string{
		"select kind_id, count(*), sum(cost) from encounters group by 1",
		"select kind_id, count(*) from encounters group by 1",            // fewer columns
		"select count(*) from encounters where kind_id = 2",              // one group
		"select count(*) from encounters where kind_id = 2 and days > 3", // another condition
		"set dpsql.fresh = on",                                           //
		"select kind_id, count(*) from encounters group by 1",            // asked anew
		"select kind_id, count(*), sum(cost) from encounters group by 1", // once more
		"set dpsql.fresh = off",                                          //
		"set dpsql.price = 0.9",                                          //
		"select kind_id, count(*), sum(cost) from encounters group by 1", // topped up
		"select kind_id, count(*) from encounters group by 1",            // by that
		"set dpsql.price = 2",                                            //
		"select smoker, city_id > 2, count(*), count(distinct city_id) from patients group by 1, 2", // chosen groups
		"set dpsql.price = 0.5", //
		"select smoker, city_id > 2, count(*) from patients group by 1, 2", // of them
		"select median(days) from encounters",                              // a tree, which is released anew
		"set dpsql.price = 0.55",                                           //
		"select median(days) from encounters",                              // not for a tenth more
		"select kind_id, avg(c) from (select kind_id, days > 3 as d, count(*) as c from encounters group by 1, 2) x group by 1", // computed from released rows
		"set dpsql.bounding = elastic",
		"select count(*) from encounters a join encounters b on a.diag = b.diag", // charged
		"set dpsql.bounding = auto",
		"select count(*) from encounters a join encounters b on a.diag = b.diag", // by that, though truncate would be asked anew
		"select count(*) from encounters a join encounters b on a.kind_id = b.kind_id",
		"create dp cube c as select gender, ward, count(*) from patients group by cube (gender, ward) with (price = 1)",
		"set dpsql.price = 4",                            //
		"select ward, count(*) from patients group by 1", // of the cube, at any price
	}
	edits := append(enginetest.DeclaredKeys[:len(enginetest.DeclaredKeys):len(enginetest.DeclaredKeys)], "epsilon: 20,", "epsilon: 1000,")
	free, computed := rehearsedAsAsked(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), enginetest.Tame.Open(t, funcs.DuckDB), enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...), script)
	want := []bool{false, true, true, false, false, false, false, true, false, true, false, true, false, false, true, false, false, true}
	if !slices.Equal(free, want) || !slices.Equal(computed, []bool{false, true, true, false, false, false, false, true, false, true, false, false, false, false, false, false, false, false}) {
		t.Errorf("free %v, computed %v", free, computed)
	}
}

// rehearsedAsAsked rehearses a script and then asks it: what is forecast of each statement is what is charged.
func rehearsedAsAsked(t *testing.T, p *policy.Policy, b backend.Backend, s *session.Session, script []string) (free, computed []bool) {
	t.Helper()
	ctx := context.Background()
	r, err := engine.OpenRehearsal(ctx, server.Options{Policy: p, Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	forecasts, err := r.Play(ctx, "ann", strings.Join(script, ";\n"))
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	for i, f := range forecasts {
		if f.Err != nil {
			t.Errorf("%s: %v", f.SQL, f.Err)
			continue
		}
		if f.Class != "private" {
			_, value, _ := strings.Cut(script[i], " = ")
			enginetest.Set(t, s, strings.Fields(script[i])[1], value)
			continue
		}
		before := enginetest.Charges(t, s.Engine)
		enginetest.Ask(t, s, script[i])
		all := enginetest.Charges(t, s.Engine)
		if free, computed = append(free, f.Free), append(computed, f.Computed); f.Free != (len(all) == len(before)) {
			t.Errorf("%s: forecast free %t, %d charges", f.SQL, f.Free, len(all)-len(before))
			continue
		}
		spent := 0.0
		for _, c := range all[len(before):] {
			spent += c.Loss.Renyi
		}
		if !f.Free && math.Abs(f.Loss.Renyi-spent) > 0.01*spent || f.Free != (f.Paid == 0) {
			t.Errorf("%s: forecast price %g and loss %g, charged %g", f.SQL, f.Paid, f.Loss.Renyi, spent)
		}
	}
	return free, computed
}

// A rehearsal has no releases to aim by: what asks for an error is refused there, however often it was asked.
func TestRehearseTarget(t *testing.T) {
	r, err := engine.OpenRehearsal(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Play(context.Background(), "ann", `set dpsql.target_error = '3%'; set dpsql.expected_size = 1000; select count(*) from encounters; select 1;
		set dpsql.target_error = off; select count(*) from encounters`)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if sqlerr.ID(got[2].Err) != sqlerr.TargetUnknown.ID || got[3].Err != nil || got[5].Err != nil || got[5].Free {
		t.Errorf("%+v", got)
	}
}

// TestRehearseSaysWhatItAssumes: an average's interval comes with the number of rows that it is for, and SET dpsql.expected_size gives that number. A statement that reads no private row was not asked before.
func TestRehearseSaysWhatItAssumes(t *testing.T) {
	r, err := engine.OpenRehearsal(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Play(context.Background(), "ann", `select avg(days) from encounters; set dpsql.expected_size = 30000; select avg(cost) from encounters; select 1 from encounters having true`)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "10,000 rows a group", 2: "30000 rows a group"} {
		if len(got[i].Expected) != 1 || !strings.Contains(got[i].Expected[0], want) || got[i].Free {
			t.Errorf("%s: %q", got[i].SQL, got[i].Expected)
		}
	}
	if got[3].Class != "public" || got[3].Free || got[3].Err != nil {
		t.Errorf("%+v", got[3])
	}
}

// TestRehearseWhatIsCharged: what is charged without being a SELECT is forecast as it is charged; what cannot be forecast is said not to be, and no setting.
func TestRehearseWhatIsCharged(t *testing.T) {
	const train = "TRAIN DP MODEL m USING linear_regression TARGET medications WITH (epsilon = 0.7, delta = 1e-9) AS SELECT days, medications FROM encounters"
	const synthetic = "CREATE DP SYNTHETIC TABLE s AS SELECT gender, ward FROM patients WITH (price = 1)"
	const looks = "CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 10 TIMES 3 WITH (price = 2)"
	script := []string{"COPY (SELECT count(*) FROM encounters) TO STDOUT", "BEGIN", "DECLARE c CURSOR FOR SELECT sum(days) FROM encounters", "FETCH ALL FROM c", "COMMIT", train,
		"EVALUATE DP MODEL m ON SELECT days, medications FROM encounters", "PREPARE p AS SELECT avg(days) FROM encounters", "EXECUTE p", "COPY (SELECT days FROM encounters) TO STDOUT", "DELETE FROM encounters", strings.Replace(train, "0.7", "1000", 1), synthetic,
		"SELECT gender, count(*) FROM s GROUP BY 1", "EXPLAIN SELECT ward FROM synthetic.s", "SHOW DP SYNTHETIC TABLES", "DROP DP SYNTHETIC TABLE s", "SELECT * FROM s", looks, "DROP DP WATCH w", "DROP DP SYNTHETIC TABLE of_a_server"}
	r, err := engine.OpenRehearsal(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Play(context.Background(), "ann", strings.Join(script, ";\n"))
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for i, asked := range []string{0: "SELECT count(*) FROM encounters", 2: "SELECT sum(days) FROM encounters", 5: train, 12: synthetic, 18: looks} {
		if asked == "" {
			continue
		}
		enginetest.MustTry(t, s, asked)
		all := enginetest.Charges(t, s.Engine)
		if c := all[len(all)-1]; got[i].Err != nil || got[i].Paid != c.Price || got[i].Loss != c.Loss || got[i].Class != "private" {
			t.Errorf("%s: forecast %+v, charged %+v", asked, got[i], c)
		}
	}
	for i, class := range map[int]string{1: "session", 3: "session", 4: "session", 6: engine.NotRehearsed, 7: "session", 8: engine.NotRehearsed, 13: "public", 14: "public", 15: "session", 16: "session", 19: "session", 20: "session"} {
		if got[i].Class != class || got[i].Err != nil || got[i].Paid != 0 {
			t.Errorf("%s: %+v", script[i], got[i])
		}
	}
	for i, id := range map[int]string{9: sqlerr.RawRows.ID, 10: sqlerr.Unsupported.ID, 11: sqlerr.PriceTooLarge.ID, 17: sqlerr.UndefinedTable.ID} {
		if sqlerr.ID(got[i].Err) != id {
			t.Errorf("%s: %v", script[i], got[i].Err)
		}
	}
}

// TestRehearseFreeIntervals: of a free line a rehearsal says the interval of the release that answers, as EXPLAIN does on a server, whatever the price is now.
func TestRehearseFreeIntervals(t *testing.T) {
	const filled = "select kind_id, count(*), count(distinct patient_id) from encounters group by 1"
	script := []string{
		"set dpsql.price = 0.5", "select count(distinct city_id) from patients", "set dpsql.price = 0.05", "select count(distinct city_id) from patients",
		"set dpsql.price = 0.5", filled, "select count(*) from encounters where kind_id = 2", // computed from one group of it
		"set dpsql.price = 0.9", filled, "set dpsql.price = 0.1", filled, // topped up, and as that left it
		"select gender, count(*) from patients group by 1", "set dpsql.price = 0.06", "select count(*) from patients where gender in ('Male', 'Female')", // from the sum of both groups
		"set dpsql.price = 0.5", "select avg(cost) from encounters", "set dpsql.price = 0.05", "select avg(cost) from encounters",
		"set dpsql.price = 0.5", "select kind_id, sum(free) from encounters group by 1", "set dpsql.price = 0.05", "select kind_id, sum(free) from encounters group by 1",
		"select sum(free) from encounters where kind_id = 2",
	}
	const chosen = "sum depends on the bounds that were chosen"
	r, err := engine.OpenRehearsal(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Play(context.Background(), "ann", strings.Join(script, ";\n"))
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), 7)
	free, before := 0, map[string][]string{}
	for i, f := range got {
		if f.Class == "session" {
			_, value, _ := strings.Cut(script[i], " = ")
			enginetest.Set(t, s, strings.Fields(script[i])[1], value)
			continue
		}
		explained := ""
		for _, row := range enginetest.MustTry(t, s, "explain "+f.SQL) {
			explained += row[0].(string) + "\n"
		}
		enginetest.MustTry(t, s, f.SQL)
		want, depends := "95% interval in the largest group: "+strings.Join(f.Expected, ", ")+"\n", strings.Contains(f.SQL, "avg") || strings.Contains(f.SQL, "sum")
		if f.Free {
			free++
		}
		switch {
		case !f.Free && f.Paid == f.Price || f.Err != nil: // as of any new question
		case depends && f.Computed: // on bounds that a rehearsal does not know
			if !slices.Equal(f.Expected, []string{chosen}) || f.Note != "" {
				t.Errorf("%s: %q, %q", f.SQL, f.Expected, f.Note)
			}
		case depends: // on the data too
			if !slices.Equal(f.Expected, before[f.SQL]) || f.Note != "" {
				t.Errorf("%s: %q, %q, and when it was asked first %q", f.SQL, f.Expected, f.Note, before[f.SQL])
			}
		case !strings.Contains(explained, want):
			t.Errorf("%s: %q is not in\n%s", f.SQL, want, explained)
		}
		before[f.SQL] = f.Expected
	}
	if free != 7 {
		t.Errorf("%d free lines", free)
	}
}
