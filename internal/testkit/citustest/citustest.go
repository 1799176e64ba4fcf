// Package citustest starts a Citus cluster for tests: a coordinator and workers, each a server of package pgtest. So ports are
// free ones, and the servers die with the test process. The package is imported by test files only and is no part of the product.
package citustest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// Variable is the environment variable that lets tests on a cluster run: make test-citus sets it.
const Variable = "DPSQL_CITUS"

// Cluster is a running Citus cluster. The server is its coordinator.
type Cluster struct {
	*pgtest.Server
	Workers []*pgtest.Server
}

// Skip skips a test where clusters are not asked for, or Citus is not installed.
func Skip(tb testing.TB) {
	tb.Helper()
	if os.Getenv(Variable) == "" {
		tb.Skip(Variable + " is not set: make test-citus sets it")
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/lib/citus.so"); len(found) == 0 {
		tb.Skip("Citus is not installed: .ci/citus-deps.sh builds it from ../shared/citus")
	}
}

// Start starts a coordinator and n workers that are stopped at the end of the test.
func Start(tb testing.TB, n int) *Cluster {
	tb.Helper()
	Skip(tb)
	c, stop, err := StartShared(n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return c
}

// StartShared starts a cluster for several tests: the caller calls stop.
func StartShared(n int) (c *Cluster, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	c = &Cluster{}
	for i := range n + 1 {
		s, end, err := pgtest.StartShared("shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=150",
			"citus.node_conninfo=sslmode=disable", "citus.enable_statistics_collection=off", "citus.shard_count=8")
		if err != nil {
			stop()
			return nil, nil, err
		}
		stops = append(stops, end)
		if i == 0 {
			c.Server = s
		} else {
			c.Workers = append(c.Workers, s)
		}
	}
	return c, stop, nil
}

// CreateDB makes an empty database whose tables can be distributed.
func (c *Cluster) CreateDB(name string) error {
	for _, s := range append([]*pgtest.Server{c.Server}, c.Workers...) {
		if err := errors.Join(s.CreateDB(name), s.Exec(name, "CREATE EXTENSION citus")); err != nil {
			return err
		}
	}
	if err := c.Exec(name, fmt.Sprintf("SELECT citus_set_coordinator_host('127.0.0.1', %d)", c.Port)); err != nil {
		return err
	}
	for _, w := range c.Workers {
		if err := c.Exec(name, fmt.Sprintf("SELECT citus_add_node('127.0.0.1', %d)", w.Port)); err != nil {
			return err
		}
	}
	return nil
}

// Distribute cuts tables by a column each, co-located. A table without one becomes a reference table.
func (c *Cluster) Distribute(db string, tables [][2]string) error {
	first := "default"
	for _, t := range tables {
		do := fmt.Sprintf("SELECT create_reference_table('%s')", t[0])
		if t[1] != "" {
			do = fmt.Sprintf("SELECT create_distributed_table('%s', '%s', colocate_with => '%s')", t[0], t[1], first)
			if first == "default" {
				first = t[0]
			}
		}
		if err := c.Exec(db, do); err != nil {
			return fmt.Errorf("%s: %w", do, err)
		}
	}
	return nil
}

// Spread says of each table by which column it is cut, "" where each machine has a copy. Tables as a whole are not in it.
func (c *Cluster) Spread(db string) (map[string]string, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.URL(db))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT c.relname::text, coalesce(column_to_column_name(d.logicalrelid, d.partkey), '')
		FROM pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid WHERE d.partmethod = 'h' OR d.repmodel = 't'`)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	var name, column string
	_, err = pgx.ForEachRow(rows, []any{&name, &column}, func() error { out[name] = column; return nil })
	return out, err
}
