package ledger

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Proxies that first start together find an empty place, and wait for the same lock: one makes the tables, and all serve.
func TestProxiesStartTogether(t *testing.T) {
	t.Parallel()
	s := must(postgres())(t)
	place := fmt.Sprint("together_", schemas.Add(1))
	if err := s.CreateDB(place); err != nil { // locks are a database's: nobody else waits for this one
		t.Fatal(err)
	}
	at := Server{URL: s.URL(place), Path: t.TempDir() + "/shared"}
	c := must(pgx.Connect(ctx, at.URL))(t)
	defer c.Close(ctx) //nolint:errcheck // a scratch connection
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(applicationID)); err != nil {
		t.Fatal(err)
	}
	const n = 3
	var (
		wg   sync.WaitGroup
		list [n]*Postgres
		errs [n]error
	)
	for i := range n {
		wg.Go(func() { list[i], errs[i] = OpenPostgres(ctx, at, demoHead(t), dayCache()) })
	}
	var waiting int
	for until := time.Now().Add(time.Minute); waiting < n && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if err := c.QueryRow(ctx, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`).Scan(&waiting); err != nil {
			break
		}
	}
	_, err := c.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	wg.Wait()
	if err := errors.Join(err, errors.Join(errs[:]...)); err != nil || waiting != n {
		t.Errorf("%d waited: %v", waiting, err)
	}
	for _, l := range list {
		if l == nil {
			continue
		}
		if _, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)); err != nil {
			t.Error(err)
		}
		defer l.Close() //nolint:errcheck // it is not looked at again
	}
}
