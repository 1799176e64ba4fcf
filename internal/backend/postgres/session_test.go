package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

func class(err error) backend.FailureClass {
	var e *backend.Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

func ask(t *testing.T, d *postgres.DB, sql string) string {
	t.Helper()
	rows, err := backendtest.Ask(t.Context(), d, sql, nil, sqltype.Text)
	if err != nil {
		t.Fatalf("%s: %s", sql, backendtest.Cause(err))
	}
	s, _ := rows[0][0].(string)
	return s
}

// A session's settings do not depend on what the server, the database or the role says.
func TestSettings(t *testing.T) {
	database(t, "settings",
		`ALTER DATABASE settings SET search_path = public`, `ALTER DATABASE settings SET timezone = 'Asia/Tokyo'`,
		`ALTER DATABASE settings SET datestyle = 'German'`, `ALTER DATABASE settings SET jit = on`,
		`ALTER DATABASE settings SET standard_conforming_strings = off`, `ALTER DATABASE settings SET transform_null_equals = on`,
		`ALTER DATABASE settings SET default_transaction_read_only = off`, `ALTER DATABASE settings SET statement_timeout = '7s'`)
	d := open(t, "settings", postgres.Options{Settings: map[string]string{"work_mem": "77MB", "application_name": `it's \ here`}, PoolSize: 1})
	for name, want := range map[string]string{
		"search_path": "", "TimeZone": "UTC", "DateStyle": "ISO, MDY", "jit": "off", "standard_conforming_strings": "on",
		"transform_null_equals": "off", "transaction_isolation": "repeatable read", "transaction_read_only": "on",
		"default_transaction_read_only": "on", "statement_timeout": "0", "work_mem": "77MB", "application_name": `it's \ here`,
	} {
		if got := ask(t, d, "SELECT current_setting('"+name+"')"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := ask(t, open(t, "settings", postgres.Options{Settings: map[string]string{"jit": "on"}}), "SELECT current_setting('jit')"); got != "on" {
		t.Errorf("the owner's jit is %q, want on", got)
	}
	for name, o := range map[string]postgres.Options{
		"fixed":        {Settings: map[string]string{"search_path": "public"}},
		"fixed, cased": {Settings: map[string]string{"TimeZone": "UTC"}},
		"no name":      {Settings: map[string]string{"work_mem', '1'); drop": "1"}},
		"unknown":      {Settings: map[string]string{"work_memory": "1MB"}},
		"bad value":    {Settings: map[string]string{"work_mem": "much"}},
	} {
		if d, err := postgres.Open(t.Context(), server.URL("settings"), o); err == nil {
			t.Errorf("%s: opened", name)
			_ = d.Close()
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{server.URL("no_such_database"), "postgres://postgres@127.0.0.1:1/postgres?sslmode=disable&connect_timeout=2", "::"} {
		d, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil {
			t.Errorf("%s: opened", url)
			_ = d.Close()
		}
	}
	_, err := postgres.Open(t.Context(), "postgres://u:hushhush@127.0.0.1:1/postgres?sslmode=disable", postgres.Options{})
	if err == nil || strings.Contains(err.Error(), "hushhush") {
		t.Errorf("the error shows the password: %v", err)
	}
}

func TestStatementTimeout(t *testing.T) {
	d := open(t, "postgres", postgres.Options{StatementTimeout: 100 * time.Millisecond})
	_, err := backendtest.Ask(t.Context(), d, "SELECT CAST(pg_sleep(30) AS text)", nil, sqltype.Text)
	if class(err) != backend.FailTimeout {
		t.Errorf("got %v, want a time-out", err)
	}
}

// A backend that went away and came back is used again at the first Begin; what was open fails as unavailable.
func TestRestart(t *testing.T) {
	s := pgtest.Start(t)
	d, err := postgres.Open(t.Context(), s.URL("postgres"), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var txs []backend.Tx
	for range 3 {
		tx, err := d.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	txs[0].Close()
	txs[1].Close() // two idle connections, one in a transaction
	if err := s.StopServer(); err != nil {
		t.Fatal(err)
	}
	_, err = backendtest.In(t.Context(), txs[2], "SELECT 1", nil, sqltype.Int4)
	if class(err) != backend.FailUnavailable {
		t.Errorf("in an open transaction: %v, want unavailable", err)
	}
	if _, err := d.Begin(t.Context()); class(err) != backend.FailUnavailable {
		t.Errorf("Begin without a server: %v, want unavailable", err)
	}
	txs[2].Close()
	if err := s.StartServer(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := backendtest.Ask(t.Context(), d, "SELECT 1", nil, sqltype.Int4); err != nil {
			t.Errorf("after the restart: %s", backendtest.Cause(err))
		}
	}
}

// Idle connections that died while the server stayed up do not show either.
func TestIdleConnectionsDie(t *testing.T) {
	database(t, "killed")
	d := open(t, "killed", postgres.Options{PoolSize: 4})
	var txs []backend.Tx
	for range 4 {
		tx, err := d.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	for _, tx := range txs {
		tx.Close()
	}
	const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'killed' AND pid <> pg_backend_pid()`
	if err := server.Exec("postgres", kill); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := backendtest.Ask(t.Context(), d, "SELECT 1", nil, sqltype.Int4); err != nil {
			t.Fatal(backendtest.Cause(err))
		}
	}
	// A statement whose connection dies under it fails as unavailable: something may have been seen.
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	time.AfterFunc(100*time.Millisecond, func() { _ = server.Exec("postgres", kill) })
	_, err = backendtest.In(t.Context(), tx, "SELECT CAST(pg_sleep(30) AS text)", nil, sqltype.Text)
	if class(err) != backend.FailUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

// A pool that is used up makes Begin wait, as long as its context allows.
func TestPoolIsBounded(t *testing.T) {
	d := open(t, "postgres", postgres.Options{PoolSize: 1})
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Begin(ctx); class(err) != backend.FailTimeout {
		t.Errorf("got %v, want a time-out", err)
	}
	tx.Close()
	ask(t, d, "SELECT 'free'")
}

// What stands on the server as a cancelled statement has stopped there too.
func TestCancelReachesTheServer(t *testing.T) {
	database(t, "cancelled")
	d := open(t, "cancelled", postgres.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := backendtest.Ask(ctx, d, "SELECT CAST(pg_sleep(60) AS text)", nil, sqltype.Text)
	if class(err) != backend.FailTimeout {
		t.Errorf("got %v, want a time-out", err)
	}
	if n := ask(t, d, `SELECT CAST(count(*) AS text) FROM pg_stat_activity WHERE datname = 'cancelled' AND state = 'active' AND query LIKE '%pg_sleep(60)%'
		AND pid <> pg_backend_pid()`); n != "0" {
		t.Errorf("%s statements go on", n)
	}
}
