// The race detector runs this file.

package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestSchemaChanges: what the policy rests on is compared in each statement's snapshot. A change that does not matter costs nobody
// an answer; one that takes a key away stops everything, without a charge, until it is back.
func TestSchemaChanges(t *testing.T) {
	ctx := context.Background()
	s := enginetest.SharedServer(t)
	const db = "schema_changes"
	if err := s.CreateDB(db); err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		t.Helper()
		if err := s.Exec(db, sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range enginetest.Tame.Statements() {
		do(sql)
	}
	b, err := postgres.Open(ctx, s.URL(db), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.Postgres), Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	ann := enginetest.NewSession(e, t, "ann")
	n := 0
	next := func() string { n++; return fmt.Sprintf("select count(*) from prescriptions where dose <> %d", n) }
	enginetest.MustTry(t, ann, next())

	// Statistics and rows are no schema.
	do(`analyze`)
	do(`vacuum`)
	do(`insert into cities select * from cities where false`)
	enginetest.MustTry(t, ann, next())

	// An index more: nobody notices, and what was released before answers.
	epoch := e.World.Load().Catalogs.Epoch()
	do(`create index extra on encounters (days)`)
	enginetest.MustTry(t, ann, next())
	if now := e.World.Load().Catalogs.Epoch(); now != epoch {
		t.Errorf("an index changed what answers mean: %s, %s", epoch, now)
	}
	if enginetest.Blamed(t, e) != 0 {
		t.Error("the analyst is blamed")
	}

	// A type of a column that the policy lists: another epoch.
	do(`alter table encounters alter column days type bigint`)
	if _, err := enginetest.Try(ann, "select sum(days) from encounters"); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
		t.Fatalf("%v", err)
	}
	enginetest.MustTry(t, ann, "select sum(days) from encounters")
	if now := e.World.Load().Catalogs.Epoch(); now == epoch {
		t.Error("another type, the same epoch")
	}

	// The key by which prescriptions reach their encounter goes: nothing may be answered.
	do(`do $$ begin execute (select 'alter table encounters drop constraint ' || conname || ' cascade' from pg_constraint where conrelid = 'encounters'::regclass and contype in ('p', 'u')); end $$`)
	if _, err := enginetest.Try(ann, next()); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
		t.Fatalf("%v", err)
	}
	before := len(enginetest.Charges(t, e))
	for range 3 {
		if _, err := enginetest.Try(ann, next()); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
			t.Fatalf("%v", err)
		}
	}
	if after := len(enginetest.Charges(t, e)); after != before {
		t.Errorf("%d charges while nothing is answered", after-before)
	}
	if _, err := enginetest.Try(ann, "explain verbose "+next()); err != nil {
		t.Errorf("EXPLAIN reads no table: %v", err)
	}
	do(`alter table encounters add primary key (encounter_id)`)
	e.Schema.Mu.Lock()
	e.Schema.Tried = time.Time{} // as if the time had passed
	e.Schema.Mu.Unlock()
	enginetest.MustTry(t, ann, next())

	// What a name means: other tables, without keys, under the same names. The rows of pg_catalog that say what the old ones are have
	// not changed.
	do(`alter schema public rename to before`)
	do(`create schema public`)
	for _, table := range neighbourTables {
		do("create table public." + table + " as table before." + table)
	}
	for range 2 {
		if _, err := enginetest.Try(ann, next()); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
			t.Fatalf("tables of the same names were read: %v", err)
		}
	}
	do(`drop schema public cascade`)
	do(`alter schema before rename to public`)
	e.Schema.Mu.Lock()
	e.Schema.Tried = time.Time{}
	e.Schema.Mu.Unlock()
	enginetest.MustTry(t, ann, next())

	// While a training reads: its rows are not trained on, it keeps its charge, there is no model.
	lookedAt(e, time.Now().Add(time.Hour))
	e.Backend = &between{Backend: b, do: func() { do(`alter table encounters alter column days type integer`) }}
	before = len(enginetest.Charges(t, e))
	const train = "TRAIN DP MODEL late USING linear_regression TARGET days AS SELECT days, cost FROM encounters"
	if _, err := enginetest.Try(ann, train); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
		t.Errorf("rows of a schema that changed were trained on: %v", err)
	}
	if after := len(enginetest.Charges(t, e)); after != before+1 {
		t.Errorf("%d charges of a training whose schema changed", after-before)
	}
	if rows, err := enginetest.Try(ann, "SHOW DP MODELS"); err != nil || len(rows) != 0 {
		t.Errorf("there are models: %v, %v", rows, err)
	}
	e.Backend = b
	enginetest.MustTry(t, ann, next())

	// The same behind the comparison: the table is swapped between the snapshot and the statement.
	do(`create table public.swap as select encounter_id, drug, dose, change from prescriptions, generate_series(1, 100)`)
	lookedAt(e, time.Now().Add(time.Hour))
	e.Backend = &swapping{Marker: b, Backend: b, do: func() {
		do(`begin; alter table prescriptions rename to aside; alter table swap rename to prescriptions; commit`)
	}}
	before = len(enginetest.Charges(t, e))
	if _, err := enginetest.Try(ann, next()); sqlerr.ID(err) != sqlerr.SchemaChanged.ID {
		t.Errorf("rows of a table that was not compared were released: %v", err)
	}
	if after := len(enginetest.Charges(t, e)); after != before+1 {
		t.Errorf("%d charges: the rows had been asked for", after-before)
	}
}

var neighbourTables = []string{"patients", "encounters", "prescriptions", "labs", "visits", "cities", "kinds", "rates"}

// swapping does something between the comparison of the schema and the statement, once.
type swapping struct {
	backend.Marker
	backend.Backend
	do func()
}

func (s *swapping) BeginMarked(ctx context.Context, m backend.Mark) (backend.Tx, error) {
	tx, err := s.Marker.BeginMarked(ctx, m)
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return tx, err
}
