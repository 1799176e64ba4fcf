package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// spooledStatements have more than one group, all but the last some on disk.
var spooledStatements = []string{
	"select city_id, count(*) from patients group by 1",
	"select city_id, count(*), avg(weight), dp_error(avg(weight)) from patients group by 1 order by 3 desc, 1",
	"select city_id, count(*) from patients group by 1 order by 1 desc limit 2 offset 1",
	"select city_id, count(*) / 1000 from patients group by 1 order by 2 fetch first 1 row with ties",
	"select city_id * 2, sum(weight) + 1 from patients group by city_id having count(*) > 0 order by city_id",
	"select city_id, count(*) from patients group by 1 having sum(weight) < -1000000",
	"select distinct count(*) / 1000, 'x' from patients group by city_id",
	"select count(*), sum(n), min(c), array_agg(c order by c desc), count(distinct n / 1000) from (select city_id c, count(*) n from patients group by 1) t",
	"select n / 1000, count(*) from (select city_id c, count(*) n from patients group by 1) t group by rollup (1) order by 1",
	"select city_id, rank() over (order by city_id desc), sum(count(*)) over () from patients group by 1",
	"select c.name, n from cities c left join (select city_id, count(*) n from patients group by 1) t on t.city_id = c.id order by 1, 2",
	"select city_id, count(*) from patients group by 1 union all select city_id, -sum(weight) from patients group by 1 order by 1, 2",
	"select gender, ward, count(*), sum(weight) from patients group by 1, 2",
	"select ward, gender, kind_id, readmitted, count(*) from encounters join patients using (patient_id) group by 1, 2, 3, 4 order by 5, 4, 3, 2, 1",
	"select gender, count(*) from patients group by rollup (1)",
	"select kind_id, count(*) from encounters where days > (select avg(d) from (select gender, count(*) d from patients group by 1) t) group by 1",
	"select ward, median(weight), count(distinct city_id) from patients group by 1",
}

// sameAnswer: no rows are the same as none.
func sameAnswer(a, b [][]sqltype.Value) bool { return len(a)+len(b) == 0 || reflect.DeepEqual(a, b) }

// inMemory is a release whose groups are held.
func inMemory(t *testing.T, r *release.Release) *release.Release {
	t.Helper()
	out := &release.Release{Plan: r.Plan, Chosen: r.Chosen, Run: r.Run, Tops: r.Tops}
	if err := r.Each(func(g *release.Group) error {
		out.Groups = append(out.Groups, *g)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// answeredFrom is what a statement answers from stored releases, from disk or from memory.
func answeredFrom(t *testing.T, s *session.Session, sql string, memory bool) (rows [][]sqltype.Value, many int) {
	t.Helper()
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	r, err := private.NewRun(context.Background(), p.Staged(), nil)
	if err == nil {
		if err = r.InOwnSnapshot(context.Background()); err == nil {
			err = r.LookUp(context.Background())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.CloseReleases()
	for i, a := range r.StageRuns {
		if a.As != i {
			continue
		}
		if !a.Free {
			t.Fatalf("%s: its release %d is not stored", sql, i+1)
		}
		if a.Release.IsOnDisk() {
			many++
		}
		if memory {
			held := inMemory(t, a.Release)
			if err := a.Release.Close(); err != nil {
				t.Fatal(err)
			}
			a.Release = held
		}
	}
	if rows, err = enginetest.FinishRun(r, context.Background()); err != nil {
		t.Fatal(err)
	}
	return rows, many
}

// spoolingEngine keeps groups on disk from the second on.
func spoolingEngine(t *testing.T, path string, d dialect.Dialect, now func() time.Time, edits ...string) *server.Engine {
	t.Helper()
	p := enginetest.ClinicPolicyFor(t, d, append([]string{"budget: {epsilon: 20,", "budget: {epsilon: 10000,", "max_query_price: 5", "max_query_price: 20", "query:  {price: 0.5}", "query:  {price: 19, max_groups: 1}"}, edits...)...)
	p.Limits.SpoolGroups = 1
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, d), LedgerPath: path, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestSpooledAnswers: what is computed from groups on disk, row by row, is what is computed from them in memory; it is the same when it is asked again, and after a restart. Who may not ask is refused.
func TestSpooledAnswers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		path := filepath.Join(t.TempDir(), "ledger")
		e := spoolingEngine(t, path, d, nil)
		s := enginetest.NewSession(e, t, "ann")
		first := map[string][][]sqltype.Value{}
		for i, sql := range spooledStatements {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			first[sql] = rows
			disk, many := answeredFrom(t, s, sql, false)
			memory, _ := answeredFrom(t, s, sql, true)
			if !sameAnswer(rows, disk) || !sameAnswer(disk, memory) {
				t.Errorf("%s:\nfirst %v\nagain %v\nfrom memory %v", sql, rows, disk, memory)
			}
			if (many > 0) != (i < len(spooledStatements)-1) {
				t.Errorf("%s: %d releases are on disk", sql, many)
			}
		}
		if _, err := enginetest.Try(enginetest.NewSession(e, t, "clerk"), spooledStatements[0]); sqlerr.ID(err) != sqlerr.UndefinedColumn.ID {
			t.Errorf("who may not see the column: %v", err)
		}
		if err := e.Ledger.Verify(context.Background()); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = spoolingEngine(t, path, d, nil)
		s = enginetest.NewSession(e, t, "bob")
		if n := enginetest.Charged(t, e, func() {
			for _, sql := range spooledStatements {
				if rows, err := enginetest.Try(s, sql); err != nil || !sameAnswer(rows, first[sql]) {
					t.Errorf("after a restart: %s: %v %v, not %v", sql, rows, err, first[sql])
				}
			}
		}); n != 0 {
			t.Errorf("%d charges", n)
		}
	}
}

// TestFinishingMemory: what needs all rows at once is refused above a limit; the release is kept, and answers what does not.
func TestFinishingMemory(t *testing.T) {
	e := spoolingEngine(t, filepath.Join(t.TempDir(), "ledger"), funcs.DuckDB, nil)
	e.World.Load().Policy.Limits.FinishingMemory = 100
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Refused(t, s, "select city_id, rank() over (order by count(*)) from patients group by 1", sqlerr.TooComplex, 1)
	enginetest.Refused(t, s, "select sum(n) from (select city_id, count(*) n from patients group by 1) t group by city_id", sqlerr.TooComplex, 0)
	if n := enginetest.Charged(t, e, func() {
		enginetest.MustTry(t, s, "select sum(n) from (select city_id, count(*) n from patients group by 1) t")
		enginetest.MustTry(t, s, "select city_id, count(*) from patients group by 1 order by 2")
	}); n != 0 {
		t.Errorf("%d charges", n)
	}
}

// TestSpoolReadInParts: rows come as they are asked for; an answer that is closed, or whose asker cancels, ends there, and the next is whole.
func TestSpoolReadInParts(t *testing.T) {
	e := spoolingEngine(t, filepath.Join(t.TempDir(), "ledger"), funcs.DuckDB, nil)
	s := enginetest.NewSession(e, t, "ann")
	const sql = "select ward, gender, kind_id, count(*) from encounters join patients using (patient_id) group by 1, 2, 3 order by 4 desc"
	all := enginetest.MustTry(t, s, sql)
	start := func() *answer.Answer {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		within, cancel := context.WithCancel(context.Background())
		a, err := p.Run(within, nil)
		cancel() // the statement's own context is over before its rows are read
		if err != nil || a.More == nil {
			t.Fatal(a, err)
		}
		return a
	}
	a := start()
	if row, ok, err := a.More.Next(context.Background()); !ok || err != nil || !sameAnswer(append(a.Rows, row), all[:2]) {
		t.Errorf("%v %v %v", row, ok, err)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if rows, err := start().All(context.Background()); err != nil || !sameAnswer(rows, all) {
		t.Errorf("%v %v", rows, err)
	}
}

// noSpace is a ledger beside which nothing can be written.
type noSpace struct {
	ledger.Ledger
	dir   string
	spool bool
}

func (l noSpace) Scratch() string { return l.dir }

func (l noSpace) NewSpool(id int64, release ledger.Hash) (*ledger.Spool, error) {
	if l.spool {
		return nil, errFull
	}
	return l.Ledger.NewSpool(id, release)
}

// TestSpoolFails: where groups cannot be written the statement fails as of any resource, keeps its charge and leaves nothing; a stored one that is gone or changed is never an answer: it is asked anew, once.
func TestSpoolFails(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "ledger")
	e := spoolingEngine(t, path, funcs.DuckDB, func() time.Time { return now })
	s := enginetest.NewSession(e, t, "ann")
	const sql = "select city_id, count(*) from patients group by 1"
	real := e.Ledger
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []ledger.Ledger{noSpace{real, file, false}, noSpace{real, real.Scratch(), true}, enginetest.BrokenLedger{Ledger: real, CommitErr: errors.New("disk full")}} {
		e.Ledger = l
		want := sqlerr.ResourceFailure
		if _, commits := l.(enginetest.BrokenLedger); commits {
			want = sqlerr.LedgerFailure
		}
		enginetest.Refused(t, s, sql, want, 1)
		e.Ledger = real
		if left, err := os.ReadDir(real.Scratch()); err != nil && !os.IsNotExist(err) || len(left) > 0 {
			t.Errorf("it left %v: %v", left, err)
		}
	}
	enginetest.MustTry(t, s, sql)
	old := map[string]bool{}
	for _, change := range []func(was string) string{
		func(was string) string { return strings.Replace(was, was[len(was)-1:], "!", 1) }, func(was string) string { return was[:len(was)/2] }, func(string) string { return "" }, nil,
	} {
		files, err := filepath.Glob(real.Scratch() + "/*")
		files = slices.DeleteFunc(files, func(f string) bool { return old[f] })
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		old[files[0]] = true
		if change == nil {
			err = os.Remove(files[0])
		} else if was, readErr := os.ReadFile(files[0]); readErr != nil {
			err = readErr
		} else {
			err = os.WriteFile(files[0], []byte(change(string(was))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, sql) }); n != want {
				t.Errorf("a broken one: %d charges, not %d", n, want)
			}
		}
	}
	now = now.Add(25 * time.Hour)
	if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, sql) }); n != 1 {
		t.Errorf("%d charges once it has expired", n)
	}
	if left, err := filepath.Glob(real.Scratch() + "/*"); err != nil || len(left) != 1 || old[left[0]] {
		t.Errorf("there are %v", left)
	}
}
