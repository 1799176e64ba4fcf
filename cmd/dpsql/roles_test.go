package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/owner"
)

// TestGrantToARole: an owner sees what a role's analysts spent together and gives them more, beside the running server and without one.
func TestGrantToARole(t *testing.T) {
	path := smallServer(t, 4, 0.5)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(text), "may: [patients, stays]", "may: [patients, stays], roles: [research]", 1)
	if with = strings.Replace(with, "analysts:", "roles: {research: {budget: {epsilon: 1}}}\nanalysts:", 1); strings.Count(with, "research") != 2 {
		t.Fatalf("the policy is another:\n%s", with)
	}
	if err := os.WriteFile(path, []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	defer func() { s.kill() }()
	days := 100
	spend := func(url string) (n int) {
		t.Helper()
		c := connect(t, url)
		defer func() { _ = c.Close(context.Background()) }()
		for {
			days++
			var count int64
			err := c.QueryRow(context.Background(), "SELECT count(*) FROM stays WHERE days <> $1", days).Scan(&count)
			var pe *pgconn.PgError
			switch {
			case err == nil:
				n++
			case errors.As(err, &pe) && pe.Code == "PV007" && strings.HasPrefix(pe.Message, "role research's budget does not hold"):
				return n
			default:
				t.Fatal(err)
			}
		}
	}
	role := func() (a owner.Account) {
		t.Helper()
		var b owner.Budget
		if err := json.Unmarshal([]byte(output(t, "budget", "show", "--json", "--config", path)), &b); err != nil {
			t.Fatal(err)
		}
		return b.Datasets[0].Accounts[1]
	}
	if n := spend(s.url("analyst")); n != 2 {
		t.Errorf("%d statements of 0.5, of 1", n)
	}
	const said = "granted: epsilon 0.5 to research\n"
	if got := output(t, "budget", "grant", "research", "--epsilon", "0.5", "--reason", "thesis", "--config", path); got != said {
		t.Error(got)
	}
	if n, a := spend(s.url("analyst")), role(); n != 1 || a.Role != "research" || a.Analyst != "" || a.Statements != 3 || a.PureRoom != 1.5 {
		t.Errorf("%d statements, %+v", n, a)
	}
	if text := output(t, "budget", "show", "--config", path); !strings.Contains(text, "role research") {
		t.Error(text)
	}
	s.kill()
	if got := output(t, "budget", "grant", "research", "--epsilon", "0.5", "--reason", "thesis", "--config", path); got != said {
		t.Error(got)
	}
	if a := role(); a.PureRoom != 2 || a.Statements != 3 {
		t.Errorf("%+v", a)
	}
	if got := output(t, "budget", "verify", "--config", path); !strings.Contains(got, "whole") {
		t.Error(got)
	}
	s = serveDir(t, path)
	if n := spend(s.url("analyst")); n != 1 {
		t.Errorf("%d statements of what was granted without a server", n)
	}
}
