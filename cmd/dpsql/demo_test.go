package main

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/testdata/demo"
)

// TestDemoSaysHowMany: the help and the README say how many questions the demo asks.
func TestDemoSaysHowMany(t *testing.T) {
	list, err := questions()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"}
	if len(list) < 9 || len(list) > 16 {
		t.Fatalf("%d questions: say how many in words, here too", len(list))
	}
	word := words[len(list)-9]
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	c := demoCommand()
	for where, text := range map[string]string{"help": c.Short, "long help": c.Long, "README.md": string(readme)} {
		if !strings.Contains(text, "ask it "+word+" questions") && !strings.Contains(text, "asks "+word+" telling questions") && !strings.Contains(text, "asks "+word+" questions") {
			t.Errorf("%s does not say that it asks %s questions", where, word)
		}
	}
}

// TestFacts: what a notice says in brackets stays with what it follows.
func TestFacts(t *testing.T) {
	for notice, want := range map[string][]string{
		"":           {""},
		"spent: 0.5": {"spent: 0.5"},
		"spent: nothing (computed from a release; SET dpsql.fresh = on asks anew; (it); made); left: 3; error: 2": {"spent: nothing (computed from a release; SET dpsql.fresh = on asks anew; (it); made)", "left: 3", "error: 2"},
	} {
		if got := facts(notice); !slices.Equal(got, want) {
			t.Errorf("%q: %q", notice, got)
		}
	}
}

// TestDemoSaysWhatWentWrong: of each question that goes other than it should the end has a line with the reason, and the demo's policy leaves a training time on a busy machine.
func TestDemoSaysWhatWentWrong(t *testing.T) {
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("p.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if p.Limits.StatementTime < 5*time.Minute {
		t.Errorf("statement_time %s", p.Limits.StatementTime)
	}
	tables, rest := strings.Index(string(text), "tables:"), strings.Index(string(text), "budget:")
	small := regexp.MustCompile(`may: .*`).ReplaceAllString(string(text[:tables])+"tables: {patients: {columns: {patient_id: {}}}}\n"+string(text[rest:]), "may: [patients]")
	if p, err = policy.Parse("p.yaml", []byte(small)); err != nil {
		t.Fatal(err)
	}
	b, err := duckdb.OpenMemory(t.Context(), func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "CREATE TABLE patients (patient_id INT PRIMARY KEY)")
		return err
	}, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(slog.Default(), "backend", b.Close)
	e, err := server.Open(t.Context(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "l"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(slog.Default(), "ledger", e.Close)
	px, err := proxy.New(wire{e}, proxy.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- px.Serve(ctx, l) }()
	defer func() { cancel(); <-served }()
	d := &demonstration{out: io.Discard}
	wrong, err := d.ask(ctx, l.Addr().String(), []question{
		{"rows", "refused raw_rows", "analyst", "SELECT * FROM patients"},
		{"missing", "answered", "analyst", "EVALUATE DP MODEL readmission ON SELECT patient_id FROM patients"},
		{"exact", "answered", "analyst", "SELECT 1"},
	})
	want := []string{`question 2: expected: answered; it was: refused undefined_object: model "readmission" does not exist`, "question 3: expected: answered; it was: free"}
	if err != nil || !slices.Equal(wrong, want) {
		t.Errorf("%q, %v", wrong, err)
	}
}
