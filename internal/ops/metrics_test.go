package ops

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/server"
)

var update = flag.Bool("update", false, "write the table of metrics in docs/operations.md anew")

// accounts are of one data set whose pure side has ended, with one freeze and a lifetime.
func accounts() (ledger.Accounts, error) {
	return ledger.Accounts{
		People: "clinic", Frozen: []ledger.FrozenAnalyst{{Analyst: "ann", By: "owner's words"}},
		Lifetime: ledger.LifetimeBalance{Limited: true, Epsilon: 100, Spent: 20},
		Datasets: []ledger.DatasetAccounts{{
			Dataset: "clinic", Filter: &budget.Filter{},
			Account:  ledger.Account{Spent: dp.Loss{Pure: math.Inf(1), Renyi: 1.5, Delta: 1e-7}, Rooms: budget.Rooms{Pure: 10, Renyi: 7, Delta: 1e-6}},
			Analysts: map[string]ledger.Account{"ann": {}},
		}},
	}, nil
}

// used are counters in which everything has happened once.
func used(accounts func() (ledger.Accounts, error)) *Metrics {
	m := NewMetrics("v1.2.3")
	m.Budget(accounts)
	m.Audit(&Audit{})
	m.SessionOpened()
	m.SessionOpened()
	m.SessionClosed()
	m.LoginFailed("28P01")
	m.Statement("ok")
	m.Statement("PV007")
	m.Bytes(100, 2000)
	m.Ended(charge("ann", 7))
	m.Ended(server.AuditEvent{Analyst: "ann", Plan: planText, Outcome: server.Free})
	m.Ended(server.AuditEvent{Analyst: "bob", Plan: planText, Outcome: server.Denied, Price: 9, Error: "budget_exhausted"})
	return m
}

// serving is the address of a server.
func serving(t *testing.T, m *Metrics, healthy func(context.Context) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, m, healthy) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Error("it still listens")
		}
	})
	return "http://" + l.Addr().String()
}

func get(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func well(context.Context) error { return nil }

// TestScrape: all that is counted, as Prometheus reads it; no number that is none, and nothing of an analyst but the name.
func TestScrape(t *testing.T) {
	code, text := get(t, http.MethodGet, serving(t, used(accounts), well)+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d\n%s", code, text)
	}
	var ours []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "dpsql_") {
			ours = append(ours, strings.TrimSpace(line))
		}
	}
	want := []string{
		`dpsql_audit_failing 0`,
		`dpsql_audit_failures_total 0`,
		`dpsql_budget_room{data_set="clinic",side="delta"} 1e-06`,
		`dpsql_budget_room{data_set="clinic",side="pure"} 10`,
		`dpsql_budget_room{data_set="clinic",side="renyi"} 7`,
		`dpsql_budget_spent{data_set="clinic",side="delta"} 1e-07`,
		`dpsql_budget_spent{data_set="clinic",side="renyi"} 1.5`,
		`dpsql_build_info{version="v1.2.3"} 1`,
		`dpsql_charged_epsilon_total{analyst="ann"} 0.5`,
		`dpsql_failed_logins_total{code="28P01"} 1`,
		`dpsql_frozen 1`,
		`dpsql_lifetime_epsilon{kind="limit"} 100`,
		`dpsql_lifetime_epsilon{kind="spent"} 20`,
		`dpsql_private_statements_total{analyst="ann",outcome="answered"} 1`,
		`dpsql_private_statements_total{analyst="ann",outcome="free"} 1`,
		`dpsql_private_statements_total{analyst="bob",outcome="denied"} 1`,
		`dpsql_sessions 1`,
		`dpsql_statements_total{outcome="PV007"} 1`,
		`dpsql_statements_total{outcome="ok"} 1`,
		`dpsql_wire_bytes_total{direction="received"} 100`,
		`dpsql_wire_bytes_total{direction="sent"} 2000`,
	}
	if slices.Sort(ours); !slices.Equal(ours, want) {
		t.Errorf("%s", strings.Join(ours, "\n"))
	}
	if found := regexp.MustCompile(`constant|encounters|owner's words| [+-]?Inf\b|NaN`).FindString(text); found != "" {
		t.Errorf("it holds %s:\n%s", found, text)
	}
	if !strings.Contains(text, "go_goroutines ") || !strings.Contains(text, "process_open_fds ") {
		t.Error("nothing of the process")
	}
}

// TestScrapeWithoutLedger: its failure takes its own gauges away and nothing else.
func TestScrapeWithoutLedger(t *testing.T) {
	code, text := get(t, http.MethodGet, serving(t, used(func() (ledger.Accounts, error) { return ledger.Accounts{}, errors.New("gone") }), well)+"/metrics")
	if code != http.StatusOK || !strings.Contains(text, "\ndpsql_sessions 1\n") || strings.Contains(text, "\ndpsql_budget") {
		t.Errorf("%d\n%s", code, text)
	}
}

// TestNoRenyiSide: where the accountant is the pure sum there is no gauge of the other, rather than a room of 0.
func TestNoRenyiSide(t *testing.T) {
	_, text := get(t, http.MethodGet, serving(t, used(func() (ledger.Accounts, error) {
		a, err := accounts()
		a.Datasets[0].Account = ledger.Account{Spent: dp.Loss{Pure: 2, Renyi: 1.5}, Rooms: budget.Rooms{Pure: 10}}
		return a, err
	}), well)+"/metrics")
	if strings.Contains(text, `side="renyi"`) || !strings.Contains(text, `dpsql_budget_spent{data_set="clinic",side="pure"} 2`) {
		t.Error(text)
	}
}

// TestNoLifetime: a budget without a limit has no gauge for it, rather than 0.
func TestNoLifetime(t *testing.T) {
	_, text := get(t, http.MethodGet, serving(t, used(func() (ledger.Accounts, error) {
		a, err := accounts()
		a.Lifetime = ledger.LifetimeBalance{Spent: 20}
		return a, err
	}), well)+"/metrics")
	if strings.Contains(text, `kind="limit"`) || !strings.Contains(text, `dpsql_lifetime_epsilon{kind="spent"} 20`) {
		t.Error(text)
	}
}

// TestHealth: 200 or 503 with the owner's words; nothing else is served.
func TestHealth(t *testing.T) {
	var wrong error
	url := serving(t, NewMetrics(""), func(context.Context) error { return wrong })
	for _, c := range []struct {
		wrong        error
		method, path string
		code         int
		text         string
	}{
		{nil, http.MethodGet, "/healthz", 200, "ok\n"},
		{errors.New("the backend does not answer"), http.MethodGet, "/healthz", 503, "the backend does not answer\n"},
		{nil, http.MethodGet, "/healthz", 200, "ok\n"},
		{Degraded("the audit log cannot be written"), http.MethodGet, "/healthz", 200, "ok, but the audit log cannot be written\n"},
		{nil, http.MethodHead, "/healthz", 200, ""},
		{nil, http.MethodPost, "/healthz", 405, "Method Not Allowed\n"},
		{nil, http.MethodPost, "/metrics", 405, "Method Not Allowed\n"},
		{nil, http.MethodGet, "/", 404, "404 page not found\n"},
		{nil, http.MethodGet, "/debug/pprof/", 404, "404 page not found\n"},
	} {
		wrong = c.wrong
		if code, text := get(t, c.method, url+c.path); code != c.code || text != c.text {
			t.Errorf("%s %s: %d %q", c.method, c.path, code, text)
		}
	}
}

const operationsDoc = "../../docs/operations.md"

var metricsTable = regexp.MustCompile(`(?s)(<!-- metrics: .*? -->\n)(.*?)(<!-- /metrics -->)`)

// TestMetricsDoc: docs/operations.md lists the metrics that there are.
func TestMetricsDoc(t *testing.T) {
	families, err := used(accounts).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := "| metric | labels | what |\n|---|---|---|\n"
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "dpsql_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		want += fmt.Sprintf("| `%s` | %s | %s |\n", f.GetName(), strings.Join(labels, ", "), f.GetHelp())
	}
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text = metricsTable.ReplaceAll(text, []byte("${1}"+want+"${3}"))
		if err := os.WriteFile(operationsDoc, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if m := metricsTable.FindSubmatch(text); m == nil || string(m[2]) != want {
		t.Errorf("docs/operations.md is stale (go test ./internal/ops -run TestMetricsDoc -update); want\n%s", want)
	}
}

// TestAuditDoc: docs/operations.md has a row for each field of an audit line.
func TestAuditDoc(t *testing.T) {
	text, err := os.ReadFile(operationsDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[line]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(string(text), "\n| `"+name+"` | ") {
			t.Errorf("no row for %s", name)
		}
	}
	for _, o := range []server.Outcome{server.Answered, server.Free, server.Denied, server.Failed, server.Canceled} {
		if !strings.Contains(string(text), "`"+string(o)+"`") {
			t.Errorf("no word of %s", o)
		}
	}
}
