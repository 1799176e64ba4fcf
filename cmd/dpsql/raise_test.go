package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestRaiseRunning: a larger promise is made beside a running server, whose open sessions go on under it; a reload alone makes none; and what the server's own file does not
// say is refused.
func TestRaiseRunning(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	s := serveDir(t, path)
	defer func() { s.kill() }()
	c := connect(t, s.url("analyst"))
	ask := func(days int) error {
		var n int64
		return c.QueryRow(context.Background(), "SELECT count(*) FROM stays WHERE days <> $1", days).Scan(&n)
	}
	text, err := os.ReadFile(path)
	if err := errors.Join(err, ask(101), ask(102)); err != nil {
		t.Fatal(err)
	}
	var pe *pgconn.PgError
	if err := ask(103); !errors.As(err, &pe) || pe.Code != "PV007" {
		t.Fatalf("beyond the budget: %v", err)
	}
	larger := strings.Replace(string(text), "budget: {epsilon: 1,", "budget: {epsilon: 2,", 1)
	if larger == string(text) {
		t.Fatal("the policy has another budget")
	}
	other := filepath.Join(filepath.Dir(path), "other.yaml") // of the same socket
	socket := "\nsocket: " + filepath.Join(filepath.Dir(path), "demo.ledger.sock") + "\n"
	for _, refused := range []struct{ args, file, body, want string }{
		{"budget raise --reason r --config " + path, path, string(text), "the ledger already promises this budget"},
		{"budget raise --reason r --config " + other, other, larger + socket, "give the server's own file"},
		{"reload --config " + path, path, larger, "dpsql budget raise makes a larger one"},
		{"budget raise --reason r --config " + path, path, strings.Replace(larger, "epsilon: 2,", "epsilon: 0.75,", 1), "a promise can be made larger only"},
		{"budget raise --reason r --config " + path, path, strings.Replace(larger, "days: {range: [0, 30]}", "dayz: {range: [0, 30]}", 1), "dayz"},
	} {
		if err := os.WriteFile(refused.file, []byte(refused.body), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := program(t.Context(), strings.Fields(refused.args)...).CombinedOutput(); err == nil || !strings.Contains(string(out), refused.want) {
			t.Errorf("dpsql %s: %v, want %q\n%s", refused.args, err, refused.want, out)
		}
	}
	if err := ask(103); !errors.As(err, &pe) || pe.Code != "PV007" {
		t.Fatalf("nothing was raised, but: %v", err)
	}
	if err := os.WriteFile(path, []byte(larger), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := output(t, "budget", "raise", "--reason", "a second study", "--config", path); said != "promised: epsilon 2, delta 0 for data set demo\n" {
		t.Error(said)
	}
	if err := errors.Join(ask(103), ask(104)); err != nil {
		t.Errorf("after the raise: %v", err)
	}
	if err := ask(105); !errors.As(err, &pe) || pe.Code != "PV007" {
		t.Errorf("beyond the larger budget: %v", err)
	}
	output(t, "reload", "--config", path)
	if said := output(t, "budget", "verify", "--config", path); !strings.Contains(said, "whole") {
		t.Error(said)
	}
	s.kill()
	s = serveDir(t, path) // the larger promise is what the ledger holds
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t.Context(), "reload", "--config", path).CombinedOutput(); err == nil || !strings.Contains(string(out), "budget has changed") {
		t.Errorf("a smaller promise: %v\n%s", err, out)
	}
}

// TestUnfitOrderIsTold: a reload, a raise and the report say where the order that the ledger keeps holds less than another one would. It keeps none before the first charge.
func TestUnfitOrderIsTold(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(epsilon, query string) {
		t.Helper()
		next := strings.Replace(string(text), "{epsilon: 1, delta: 0}", "{epsilon: "+epsilon+", delta: 0.000001}", 1)
		next = strings.Replace(next, "query: {price: 0.5}", "query: {price: "+query+"}", 1)
		if err := os.WriteFile(path, []byte(next), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(note bool, args ...string) {
		t.Helper()
		out, err := program(t.Context(), append(args, "--config", path)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "note: the ledger keeps the Renyi order 64.00, fitted to query.price 0.5") != note {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	write("1", "0.5")
	s := serveDir(t, path)
	defer func() { s.kill() }()
	says(false, "reload")
	says(false, "budget", "show")
	write("1", "0.01")
	says(false, "reload")
	write("1", "0.5")
	says(false, "reload")
	if err := connect(t, s.url("analyst")).QueryRow(t.Context(), "SELECT count(*) FROM stays").Scan(new(int64)); err != nil {
		t.Fatal(err)
	}
	write("1", "0.01")
	says(true, "reload")
	says(true, "budget", "show")
	s.kill()
	write("10", "0.1")
	says(true, "budget", "raise", "--reason", "a second study")
}
