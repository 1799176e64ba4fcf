package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/testdata/demo"
)

// defaultPrice is what a statement costs where the session says nothing: the demo's price, written into every policy.
const defaultPrice = 0.5

// verifier is the analyst's, whom nobody logs in as.
const verifier = "SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA="

// listedTable is a line of init's policy that begins a private or public table that is listed.
var listedTable = regexp.MustCompile(`(?m)^  ([a-z_]+):`)

// policy is what `dpsql init` writes with the schema's edits, an analyst who may ask of every table, the price, and a budget that
// is there again each day. The day, which the bench's clock brings, is all that differs in what an answer costs: epsilon and delta of a window are init's.
func (b *bench) policy(ctx context.Context, s *schema) ([]byte, error) {
	over, err := postgres.Open(ctx, b.pg.ReaderURL(s.name), postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = over.Close() }()
	rels, err := over.Survey(ctx)
	if err != nil {
		return nil, err
	}
	init, err := owner.Init(rels, owner.InitOptions{Dataset: s.name, Backend: "postgres", URL: b.pg.ReaderURL(s.name), Unit: s.unit})
	if err != nil {
		return nil, err
	}
	text := string(init)
	change := func(old, with string) {
		if !strings.Contains(text, old) && err == nil {
			err = fmt.Errorf("init's policy of %s has no %q\n%s", s.name, old, text)
		}
		text = strings.Replace(text, old, with, 1)
	}
	for _, e := range s.edits {
		change(e.old, e.with)
	}
	if s.shipped {
		shipped, readErr := demo.FS.ReadFile("policy.yaml")
		text, err = string(shipped), readErr
		change("{duckdb: demo.duckdb}", fmt.Sprintf("{postgres: %q}", b.pg.ReaderURL(s.name)))
		change("budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 20, delta: 1e-6, per: day, lifetime: none}")
		return []byte(text), err
	}
	_, body, _ := strings.Cut(text, "\ntables:\n")
	body, _, _ = strings.Cut(body, "\nbudget:\n")
	var names []string
	for _, m := range listedTable.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	change("  per: month", "  per: day")
	change("  lifetime: 60", "  lifetime: none")
	change("# query: {price: 0.1}", fmt.Sprintf("query: {price: %g}", defaultPrice))
	change("analysts: {}", fmt.Sprintf("analysts: {analyst: {password: %q, may: [%s]}}", verifier, strings.Join(names, ", ")))
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(s.name+".yaml", []byte(text))
	if err == nil {
		_, err = p.Bind(rels)
	}
	var wrong *policy.Error
	if errors.As(err, &wrong) {
		lines := strings.Split(text, "\n")
		for _, x := range wrong.Problems {
			err = errors.Join(err, fmt.Errorf("%d: %s\n    %s", x.Line, x.Message, lines[x.Line-1]))
		}
	}
	return []byte(text), err
}

// world is a schema behind an engine at one price.
type world struct {
	session *session.Session
	kept    *kept
	clock   *clock
	filter  *budget.Filter
	stop    func() error
}

// clock is the ledger's: it goes on a day whenever a window's budget is used up.
type clock struct {
	now  time.Time
	left int
	each int // statements that a window pays for
}

func (c *clock) time() time.Time { return c.now }

// pay makes room for one more statement, and says whether the day changed.
func (c *clock) pay() {
	if c.left--; c.left < 0 {
		c.now, c.left = c.now.Add(day), c.each-1
	}
}

func (b *bench) open(ctx context.Context, s *schema) (*world, error) {
	text, err := b.policy(ctx, s)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(s.name+".yaml", text)
	if err != nil {
		return nil, err
	}
	over, err := postgres.Open(ctx, p.Backend.Postgres, postgres.Options{Settings: map[string]string{"work_mem": "256MB"}})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch(), "dpsql-bench-")
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	w := &world{kept: &kept{Backend: over}, clock: &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}}
	if w.filter, err = budget.NewFilter(budget.Params{Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta, QueryEpsilon: p.Query.Epsilon, Accountant: budget.AccountantRDP}); err != nil {
		return nil, errors.Join(err, over.Close(), os.RemoveAll(dir))
	}
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: w.kept, LedgerPath: filepath.Join(dir, "bench.ledger"), Now: w.clock.time,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		return nil, errors.Join(err, over.Close(), os.RemoveAll(dir))
	}
	w.stop = func() error { return errors.Join(e.Close(), over.Close(), os.RemoveAll(dir)) }
	if w.session, err = session.NewSession(e, "analyst", ""); err == nil {
		err = w.session.Set("dpsql.fresh", []string{"on"})
	}
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// scratch is a folder in memory, where there is one: the ledger writes each charge through to the disk.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// text is a value as PostgreSQL would send it.
func text(v sqltype.Value, t sqltype.Type) string {
	if v == nil {
		return "NULL"
	}
	return sqltype.FormatText(v, t)
}
