package citustest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// clinicSession is ann's session before a clinic on the cluster.
func clinicSession(t testing.TB, db string, o postgres.Options) *session.Session {
	t.Helper()
	b, err := postgres.Open(context.Background(), cluster(t).URL(db), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	p := enginetest.ClinicPolicyFor(t, funcs.Postgres, "    unit: encounter_id -> encounters.encounter_id\n    max_rows_per_unit: 6\n    columns:\n",
		"    unit: (patient_id, encounter_id) -> encounters.(patient_id, encounter_id)\n    max_rows_per_unit: 6\n    columns:\n      patient_id: {}\n")
	return enginetest.NewSession(enginetest.EngineOn(t, p, b), t, "ann")
}

// failed wants the one fixed error, and a charge.
func failed(t testing.TB, s *session.Session, do func() error) {
	t.Helper()
	var err error
	n := enginetest.Charged(t, s.Engine, func() { err = do() })
	e := enginetest.Refusal(err)
	if e == nil || e.ID != sqlerr.ResourceFailure.ID || e.Message != "the statement could not be completed" || n != 1 {
		t.Errorf("%v after %d charges, want %s after one", err, n, sqlerr.ResourceFailure.ID)
	}
}

// one reads one value of a server.
func one[T any](t testing.TB, s *pgtest.Server, db, sql string) (v T) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL(db))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// TestWorkerDies: a worker that is killed while it runs a statement is a resource failure, whose charge stays. So is every statement
// until the worker is back. Then statements are answered again, without a restart of dpsql.
func TestWorkerDies(t *testing.T) {
	clinic(t, "dies", neighbour.Inside)
	s := clinicSession(t, "dies", postgres.Options{PoolSize: 3})
	enginetest.MustTry(t, s, "select count(*) from encounters")
	worker := cluster(t).Workers[0]
	// A lock holds the statement on one shard of the worker until it dies.
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, worker.URL("dies"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	shard := one[string](t, cluster(t).Server, "dies", fmt.Sprintf("SELECT 'encounters_' || shardid FROM citus_shards WHERE table_name = 'encounters'::regclass AND nodeport = %d LIMIT 1", worker.Port))
	if _, err := conn.Exec(ctx, "SET citus.enable_manual_changes_to_shards = on; BEGIN; LOCK TABLE "+shard+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	failed(t, s, func() error {
		done := make(chan error)
		go func() {
			_, err := enginetest.Try(s, "select sum(days) from encounters")
			done <- err
		}()
		for one[int](t, worker, "dies", "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%sum(%'") == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if err := worker.StopServer(); err != nil {
			t.Fatal(err)
		}
		return <-done
	})
	failed(t, s, func() error {
		_, err := enginetest.Try(s, "select avg(days) from encounters")
		return err
	})
	if err := worker.StartServer(); err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, s, "select readmitted, sum(days) from encounters group by 1")
}

// TestShardMoves: while shards move from one worker to the other totals stay what they are, and no statement fails.
func TestShardMoves(t *testing.T) {
	clinic(t, "moves", neighbour.Inside)
	s := clinicSession(t, "moves", postgres.Options{PoolSize: 3})
	p, err := enginetest.Prepare(s, "select e.readmitted, count(*), sum(r.dose) from encounters e join prescriptions r on r.encounter_id = e.encounter_id group by 1")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(enginetest.Totals(t, p))
	c := cluster(t)
	from, to := c.Workers[0].Port, c.Workers[1].Port
	shards := one[[]int64](t, c.Server, "moves", fmt.Sprintf("SELECT array_agg(shardid ORDER BY shardid) FROM citus_shards WHERE table_name = 'encounters'::regclass AND nodeport = %d", from))
	if len(shards) == 0 {
		t.Fatal("no shard of encounters lies on the first worker")
	}
	moved := make(chan error, 1)
	go func() {
		var err error
		for i, shard := range shards {
			mode := []string{"block_writes", "force_logical"}[i%2]
			err = errors.Join(err, c.Exec("moves", fmt.Sprintf("SELECT citus_move_shard_placement(%d, '127.0.0.1', %d, '127.0.0.1', %d, '%s')", shard, from, to, mode)))
		}
		moved <- err
	}()
	n := 0
	for moving := true; moving; n++ {
		select {
		case err := <-moved:
			if err != nil {
				t.Fatal(err)
			}
			moving = false
		default:
		}
		if got := fmt.Sprint(enginetest.Totals(t, p)); got != want {
			t.Fatalf("totals are %s, were %s", got, want)
		}
		if n%10 == 0 {
			enginetest.MustTry(t, s, fmt.Sprintf("select count(*) from encounters where days > %d", n/10%14))
		}
	}
	t.Logf("%d reads while %d shards moved", n, len(shards))
	if left := one[int](t, c.Server, "moves", fmt.Sprintf("SELECT count(*) FROM citus_shards WHERE table_name = 'encounters'::regclass AND nodeport = %d", from)); left > 0 {
		t.Errorf("%d shards did not move", left)
	}
}

// TestIntermediateResults: more rows on the coordinator than citus.max_intermediate_result_size is a resource failure.
func TestIntermediateResults(t *testing.T) {
	clinic(t, "large", neighbour.Inside)
	const rows = "select count(*) from (select patient_id, encounter_id, diag, cost, big, score from encounters except select patient_id, encounter_id, diag, cost, big, score from encounters where days > 7) t"
	enginetest.MustTry(t, clinicSession(t, "large", postgres.Options{}), rows)
	s := clinicSession(t, "large", postgres.Options{Settings: map[string]string{"citus.max_intermediate_result_size": "1kB"}})
	enginetest.MustTry(t, s, "select count(*) from encounters")
	failed(t, s, func() error {
		_, err := enginetest.Try(s, rows)
		return err
	})
}
