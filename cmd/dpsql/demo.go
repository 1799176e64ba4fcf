package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/console"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/testdata/demo"
)

func demoCommand() *cobra.Command {
	var once, quiet bool
	var listen string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start a proxy over 71,518 patients' hospital stays and ask it sixteen questions",
		Long: `Start a proxy before an embedded database with the public "Diabetes 130-US hospitals" data. Its ledger
lies in a temporary folder. An ordinary PostgreSQL client asks sixteen telling questions. Then the
proxy stays up for yours.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demonstration{out: cmd.OutOrStdout(), listen: listen, chosen: cmd.Flags().Changed("listen"), once: once, quiet: quiet}
			return d.run(cmd.Context())
		},
	}
	c.Flags().BoolVar(&once, "once", false, "exit after the questions: 0 if each went as it should, else 1")
	c.Flags().BoolVar(&quiet, "no-questions", false, "ask nothing: the proxy is up at once, with its whole budget")
	c.MarkFlagsMutuallyExclusive("once", "no-questions")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:6543", "address to listen on (another free port if it is taken and was not asked for)")
	return c
}

// demonstration is one run of the demo.
type demonstration struct {
	out    io.Writer
	listen string
	chosen bool
	once   bool
	quiet  bool // no questions
}

func (d *demonstration) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "dpsql-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		return err
	}
	p, err := policy.Parse("testdata/demo/policy.yaml", text)
	if err != nil {
		return err
	}
	if err := p.SetListen(d.listen); err != nil { // the demo's password is known to everybody, and it has no TLS
		return err
	}
	started := time.Now()
	b, err := duckdb.OpenMemory(ctx, demo.LoadDuckDB, duckdb.Options{})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})) // warnings tell of refusals, which are on purpose
	defer closing(log, "backend", b.Close)
	owners := &owner.Service{Log: log, Backend: b}
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(dir, "demo.ledger"), Logger: log, Observer: &owners.Recent})
	if err != nil {
		return err
	}
	defer closing(log, "ledger", e.Close)
	l, err := net.Listen("tcp", d.listen)
	if err != nil && !d.chosen {
		fmt.Fprintf(d.out, "%s is taken; listening on another port.\n", d.listen)
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "dpsql demo: 71,518 patients, 101,766 stays, 120,054 prescriptions loaded in %.1f s; listening on %s\n", time.Since(started).Seconds(), l.Addr())
	fmt.Fprintf(d.out, "The privacy unit is the patient. The data set's budget is epsilon %g, delta %g. A question has the price %g unless you say otherwise.\n",
		p.Budget.Epsilon, p.Budget.Delta, p.Query.Epsilon)

	px, err := proxy.New(wire{e}, proxy.Options{Logger: log})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- together(ctx, []func(context.Context) error{func(ctx context.Context) error { return px.Serve(ctx, l) }, engine.Looker(e).Run})
	}()
	defer func() {
		cancel()
		err = errors.Join(err, <-served)
	}()
	var list []question
	if !d.quiet {
		if list, err = questions(); err != nil {
			return err
		}
	}
	wrong, err := d.ask(ctx, l.Addr().String(), list)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		err = fmt.Errorf("%d of the demo's questions went other than they should:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
	if d.once {
		return err
	}
	if err != nil {
		fmt.Fprintln(d.out, "dpsql:", err)
	}
	cl, err := net.Listen("tcp", policy.DefaultConsole)
	if err != nil { // it is taken
		cl, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	owners.Engine, owners.Wire = e, px
	page := console.New(console.Options{Connect: px.Connect, Owner: owners, IsFrozen: owners.IsFrozen, Database: e.Database, Logger: log, Loopback: true})
	shown := make(chan error, 1)
	go func() { shown <- page.Serve(ctx, cl) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-shown)
	}()
	fmt.Fprintf(d.out, "\nGo on in a browser of this machine. The link logs in until the demo ends:\n\n  http://%s/%s\n", cl.Addr(), page.Link("analyst", 0))
	fmt.Fprintf(d.out, "\nThe data's owner sees the budget and the ledger there:\n\n  http://%s/%s\n", cl.Addr(), page.OwnerLink("demo", 0))
	host, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Fprintf(d.out, "\nOr with psql (Ctrl-C here ends the demo):\n\n  PGPASSWORD=demo psql -h %s -p %s -U analyst demo\n\n", host, port)
	if err := d.tables(e); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// tables lists what there is to ask about.
func (d *demonstration) tables(e *server.Engine) error {
	list, err := e.Tables("analyst")
	if err != nil {
		return err
	}
	fmt.Fprintln(d.out, "Tables and columns:")
	for _, t := range list {
		fmt.Fprintf(d.out, "  %s (%s)\n", t.Name, strings.Join(t.Columns, ", "))
	}
	_, err = fmt.Fprintln(d.out)
	return err
}

// question is one of questions.sql.
type question struct{ title, outcome, user, sql string }

// questions reads "-- outcome[ as user]: title" and the statement below it.
func questions() ([]question, error) {
	text, err := demo.FS.ReadFile("questions.sql")
	if err != nil {
		return nil, err
	}
	var out []question
	for _, part := range strings.Split(string(text), "\n\n") {
		head, sql, ok := strings.Cut(strings.TrimSpace(part), "\n")
		outcome, title, ok2 := strings.Cut(strings.TrimPrefix(head, "-- "), ": ")
		if !ok || !ok2 {
			continue // the file's own head
		}
		outcome, user, ok := strings.Cut(outcome, " as ")
		if !ok {
			user = "analyst"
		}
		out = append(out, question{title: title, outcome: outcome, user: user, sql: strings.TrimSuffix(strings.TrimSpace(sql), ";")})
	}
	return out, nil
}

// ask puts the questions as an ordinary client and says of each that went other than it should what happened.
func (d *demonstration) ask(ctx context.Context, addr string, list []question) (wrong []string, err error) {
	for i, q := range list {
		fmt.Fprintf(d.out, "\n%s\n%d. %s\n\n", strings.Repeat("-", 100), i+1, q.title)
		for _, line := range strings.Split(q.sql, "\n") {
			fmt.Fprintln(d.out, "   ", line)
		}
		fmt.Fprintln(d.out)
		got, why, err := d.askOne(ctx, addr, q)
		if err != nil {
			return wrong, err
		}
		if got != q.outcome {
			line := fmt.Sprintf("question %d: expected: %s; it was: %s", i+1, q.outcome, got)
			if why != "" {
				line += ": " + why
			}
			wrong = append(wrong, line)
			fmt.Fprintf(d.out, "    (expected: %s; it was: %s)\n", q.outcome, got)
		}
	}
	return wrong, nil
}

// askOne puts one question over a connection of its own and says its outcome, and why it was refused.
func (d *demonstration) askOne(ctx context.Context, addr string, q question) (outcome, why string, err error) {
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:demo@%s/demo?sslmode=disable&application_name=psql", q.user, addr))
	if err != nil {
		return "", "", err
	}
	var notice string
	var warnings []string
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			warnings = append(warnings, n.Message)
		} else {
			notice = n.Message
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if outcome, why, err = d.show(ctx, conn, q.sql); err != nil {
		return "", "", err
	}
	switch {
	case outcome != "answered":
	case strings.HasPrefix(strings.ToUpper(q.sql), "EXPLAIN"):
		outcome = "explained"
	case notice == "" || strings.HasPrefix(notice, "spent: nothing"):
		outcome = "free"
	}
	if notice == "" && outcome == "free" {
		notice = "spent: nothing (public, exact)"
	}
	for i, w := range warnings {
		fmt.Fprintf(d.out, "    WARNING:  %s\n", w)
		if i == len(warnings)-1 {
			fmt.Fprintln(d.out)
		}
	}
	if notice != "" {
		fmt.Fprintln(d.out, "    "+strings.Join(facts(notice), "\n    "))
	}
	return outcome, why, nil
}

// facts are the parts of a notice; what stands in brackets belongs to what it follows.
func facts(notice string) (list []string) {
	depth, from := 0, 0
	for i, c := range notice {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && i >= from && strings.HasPrefix(notice[i:], "; "):
			list = append(list, notice[from:i])
			from = i + 2
		}
	}
	return append(list, notice[from:])
}

// show prints the answer in the simple protocol's text form, or the refusal.
func (d *demonstration) show(ctx context.Context, conn *pgx.Conn, sql string) (outcome, why string, err error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		fmt.Fprintf(d.out, "    ERROR:  %s\n", refused.Message)
		if refused.Detail != "" {
			fmt.Fprintf(d.out, "    DETAIL: %s\n", refused.Detail)
		}
		if refused.Hint != "" {
			fmt.Fprintf(d.out, "    HINT:   %s\n", refused.Hint)
		}
		return "refused " + idOf(refused.Code), refused.Message, nil
	}
	if err != nil {
		return "", "", err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		var names []string
		for _, f := range r.FieldDescriptions {
			names = append(names, f.Name)
		}
		fmt.Fprintln(w, "    "+strings.Join(names, "\t"))
		for _, row := range r.Rows {
			var cells []string
			for _, c := range row {
				cells = append(cells, string(c))
			}
			fmt.Fprintln(w, "    "+strings.Join(cells, "\t"))
		}
	}
	if err := w.Flush(); err != nil {
		return "", "", err
	}
	fmt.Fprintln(d.out)
	return "answered", "", nil
}

// idOf finds the stable id of one of dpsql's own SQLSTATEs.
func idOf(code string) string {
	for _, k := range sqlerr.Kinds() {
		if k.Code == code {
			return k.ID
		}
	}
	return code
}
