package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/owner"
)

// endless is a training of so many steps that only its end from outside ends it.
const endless = "TRAIN DP MODEL %s USING logistic_regression METHOD dp_gd TARGET y WITH (epsilon = 1, delta = 1e-9, steps = 1000000, population = 500) AS SELECT days, days > 5 AS y FROM stays"

// trainingClient is a client that trains without end, and hears that it does.
func trainingClient(t *testing.T, s *serving, name string) (c *pgx.Conn, ended chan error) {
	t.Helper()
	config, err := pgx.ParseConfig(s.url("analyst") + "&application_name=psql&dpsql.progress=on")
	if err != nil {
		t.Fatal(err)
	}
	runs := make(chan struct{}, 1)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.Contains(n.Message, " s: training ") {
			select {
			case runs <- struct{}{}:
			default:
			}
		}
	}
	if c, err = pgx.ConnectConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), fmt.Sprintf(endless, name), pgx.QueryExecModeSimpleProtocol)
		ended <- err
	}()
	select {
	case <-runs:
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	}
	return c, ended
}

// TestTrainStopped: a cancel, a client that is gone and kill -9 end a training, whose charge stays and whose name is free; the server goes on.
func TestTrainStopped(t *testing.T) {
	path := trainServer(t, "")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// One statement at a time: the next one runs when the one before has ended.
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "sessions_per_analyst: 100", "sessions_per_analyst: 100, statements_at_once: 1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	defer func() { s.kill() }()
	charges := func() int64 {
		t.Helper()
		var b owner.Budget
		if err := json.Unmarshal([]byte(output(t, "budget", "show", "--json", "--config", path)), &b); err != nil {
			t.Fatal(err)
		}
		return b.Datasets[0].Accounts[0].Statements
	}
	goesOn := func(name string) {
		t.Helper()
		c := connect(t, s.url("analyst"))
		defer c.Close(context.Background())
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		if _, err := c.Exec(ctx, "DESCRIBE DP MODEL "+name); err == nil {
			t.Errorf("%s: there is a model", name)
		}
		if _, err := c.Exec(ctx, strings.Replace(fmt.Sprintf(endless, name), "1000000", "3", 1)); err != nil { // its name is free
			t.Errorf("%s: %v", name, err)
		}
	}
	want := int64(0)
	charged := func(how string) {
		t.Helper()
		if want++; charges() != want {
			t.Errorf("%s: %d charges, want %d", how, charges(), want)
		}
	}

	c, ended := trainingClient(t, s, "cancelled")
	begun := time.Now()
	if err := c.PgConn().CancelRequest(context.Background()); err != nil {
		t.Fatal(err)
	}
	var pe *pgconn.PgError
	if err := <-ended; !asPgError(err, &pe) || pe.Code != "57014" || pe.Hint != sqlerr.ChargedAgain {
		t.Errorf("a cancelled training: %v", err)
	}
	t.Logf("cancelled after %v", time.Since(begun))
	charged("cancelled")
	if _, err := c.Exec(context.Background(), "SELECT 1"); err != nil {
		t.Errorf("the session is gone with its training: %v", err)
	}
	_ = c.Close(context.Background())
	goesOn("cancelled")
	charged("the next")

	interrupted(t, s, path)
	charged("interrupted")
	goesOn("interrupted")
	charged("the next")

	c, ended = trainingClient(t, s, "gone")
	if err := c.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	charged("gone")
	goesOn("gone") // waits for its turn
	charged("the next")

	_, ended = trainingClient(t, s, "killed")
	s.kill()
	<-ended
	s = serveDir(t, path)
	charged("killed")
	goesOn("killed")
}

// interrupted is Ctrl-C in dpsql train beside a server: it says that the price is gone.
func interrupted(t *testing.T, s *serving, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(filepath.Dir(path), "listens.yaml") // the same with the server's address
	if err := os.WriteFile(path, append(text, "\nlisten: "+s.addr+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSWORD", "demo")
	file := filepath.Join(t.TempDir(), "endless.sql")
	if err := os.WriteFile(file, fmt.Appendf(nil, endless, "interrupted"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := openTerminal(t, program(t.Context(), "train", "--file", file, "--config", path))
	term.wait(t, 0, regexp.MustCompile(`NOTICE: \d+ s: training interrupted`), 1)
	term.typed(t, ctrlC)
	<-term.over
	if said := term.text(); !strings.Contains(said, sqlerr.StaysSpent) || !strings.Contains(said, "57014") {
		t.Errorf("%s", said)
	}
}

// TestTrainOddData: nobody, one class, separable classes, a constant column and more columns than rows train by every method like any data, and a rate at which numbers grow beyond all bounds ends as it is documented, charged.
func TestTrainOddData(t *testing.T) {
	path := trainServer(t, "population: 500\n")
	s := serveDir(t, path)
	defer s.kill()
	c := connect(t, s.url("analyst"))
	defer c.Close(context.Background())
	n := 0
	train := func(method, with, query string) error {
		n++
		_, err := c.Exec(context.Background(), fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression METHOD %s TARGET y WITH (epsilon = 0.2, delta = 1e-10%s) AS %s", n, method, with, query))
		return err
	}
	methods := []string{"objective_perturbation", "output_perturbation", "sufficient_statistics", "dp_sgd"}
	if os.Getenv("DPSQL_LONG") != "" {
		methods = append(methods, "kifer_2012", "amp", "dp_gd", "dp_adam")
	}
	for name, query := range map[string]string{
		"nobody": "SELECT days, days > 5 AS y FROM stays WHERE days > 100", "one class": "SELECT days, days >= 0 AS y FROM stays", "separable": "SELECT days, days > 5 AS y FROM stays",
		"constant": "SELECT days * 0 AS none, days > 5 AS y FROM stays", "wide": "SELECT days, days + 1 AS a, days * 2 AS b, days * days AS c, days > 20 AS d, days > 5 AS y FROM stays WHERE stay_id < 3",
	} {
		for _, method := range methods {
			with := ", max_rows_per_unit = 1"
			if strings.HasPrefix(method, "dp_") {
				with += ", steps = 3"
			}
			if err := train(method, with, query); err != nil {
				t.Errorf("%s by %s: %v", name, method, err)
			}
		}
	}
	before := output(t, "budget", "show", "--json", "--config", path)
	err := train("dp_gd", ", learning_rate = 1000000, steps = 50, momentum = 0.999, decay = 0.001", "SELECT days, days > 5 AS y FROM stays")
	if pe := (*pgconn.PgError)(nil); !asPgError(err, &pe) || pe.Code != "22023" || !strings.Contains(pe.Message, "diverged") || !strings.Contains(pe.Hint, "learning_rate") {
		t.Errorf("diverging: %v", err)
	}
	if after := output(t, "budget", "show", "--json", "--config", path); after == before {
		t.Error("it is not charged")
	}
	var one int
	if err := c.QueryRow(context.Background(), "SELECT 1").Scan(&one); err != nil {
		t.Error(err)
	}
}
