package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/ops"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

const askLong = `
If a server runs with this policy, dpsql connects to it as the analyst. It reads the password from
PGPASSWORD, and checks the certificate against --sslrootcert, PGSSLROOTCERT, or the system's
authorities:

  PGPASSWORD='correct horse' dpsql %s --config policy.yaml --analyst ann --sslrootcert server.crt

If none runs, it opens the policy's database and ledger itself, and needs neither.`

func queryCommand() *cobra.Command {
	return askCommand("query SQL --config policy.yaml", "Ask one statement as an analyst, and print the answer",
		"Ask one statement as an analyst and print the answer. It is charged like any other.\n"+fmt.Sprintf(askLong, `query "SELECT ..."`), "")
}

func askCommand(use, short, long, prefix string) *cobra.Command {
	a := &oneQuestion{prefix: prefix}
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		if isPsqlCommand(args[0]) {
			return fmt.Errorf("%s is a command of psql: run it there, where it is free", strings.TrimSpace(args[0]))
		}
		if isFile := a.prefix != "" && isScript(args[0]); isFile {
			return a.explainFile(cmd, args[0])
		}
		return a.run(cmd, args[0])
	}}
	configFlag(c, &a.config)
	c.Flags().StringVar(&a.analyst, "analyst", "", "who asks (default: the policy's only one)")
	c.Flags().StringVar(&a.root, "sslrootcert", "", "certificate of the authority that signed the server's")
	return c
}

// oneQuestion is one question on the command line.
type oneQuestion struct{ prefix, config, analyst, root string }

// noticed takes what is told beside an answer, with its severity; nothing is told by an empty text.
type noticed func(severity, text string)

// noticesTo prints it.
func noticesTo(to io.Writer) noticed {
	return func(severity, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(to, "%s: %s\n", severity, text)
		}
	}
}

// table is an answer as text.
type table struct {
	names []string
	rows  [][]string
}

func (q *oneQuestion) run(cmd *cobra.Command, sql string) (err error) {
	ctx := cmd.Context()
	switch pieces, err := pgsyntax.Split(sql); { // a server would run each, and charge those behind the prefix's own
	case err != nil:
		return err
	case len(pieces) != 1:
		return sqlerr.New(sqlerr.Syntax, "one statement at a time: %d were given", len(pieces)).WithHint("dpsql explain FILE explains a file of statements; psql asks several.")
	}
	c, err := q.connect(ctx, noticesTo(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	t, err := c.ask(ctx, q.prefix+sql)
	if err != nil {
		return err
	}
	return t.print(cmd.OutOrStdout())
}

// connection asks one statement after the other.
type connection struct {
	ask   func(ctx context.Context, sql string) (*table, error)
	set   func(ctx context.Context, sql string, n *pgsyntax.Set) error // a SET statement
	close func() error
}

// connect asks the server where one runs, and else opens what the policy names.
func (q *oneQuestion) connect(ctx context.Context, notice noticed) (*connection, error) {
	p, err := policy.Load(q.config)
	if err != nil {
		return nil, err
	}
	running, up := owner.Dial(ctx, p.Socket)
	if q.analyst, err = analystOr(p, q.analyst); err != nil {
		if up {
			err = fmt.Errorf("%w. %s", err, q.besideServer(p))
		}
		return nil, err
	}
	if up {
		return q.wire(ctx, p, running, notice)
	}
	return q.here(ctx, p, notice)
}

func (t *table) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if len(t.names) > 1 || len(t.names) == 1 && t.names[0] != "QUERY PLAN" {
		_, _ = fmt.Fprintln(w, strings.Join(t.names, "\t"))
	}
	for _, r := range t.rows {
		_, _ = fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// besideServer says what a question needs where a server runs with its policy.
func (q *oneQuestion) besideServer(p *policy.Policy) string {
	analyst, command, root := q.analyst, "query", ""
	if analyst == "" && len(p.Analysts) > 0 {
		analyst = p.Analysts[0].Name
	}
	if q.prefix != "" {
		command = "explain"
	}
	if p.TLS != nil {
		root = " --sslrootcert " + p.TLS.Cert
	}
	return fmt.Sprintf("A server runs with this policy, so dpsql asks it as an analyst with a password. Write PGPASSWORD=... dpsql %s ... --analyst %s%s", command, analyst, root)
}

// wire asks the running server.
func (q *oneQuestion) wire(ctx context.Context, p *policy.Policy, running *owner.Client, notice noticed) (*connection, error) {
	address, err := running.Address(ctx)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(host, port), Path: "/" + p.Dataset, User: url.User(q.analyst)}
	if password := clientEnv["PGPASSWORD"]; password != "" {
		u.User = url.UserPassword(q.analyst, password)
	}
	v := url.Values{"application_name": {"psql"}, "sslmode": {"disable"}}
	if p.TLS != nil {
		v.Set("sslmode", "verify-full")
		if root := cmp.Or(q.root, clientEnv["PGSSLROOTCERT"]); root != "" {
			v.Set("sslrootcert", root)
		}
	}
	u.RawQuery = v.Encode()
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	if config.Password == "" {
		return nil, errors.New(q.besideServer(p))
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n.Severity, n.Message) }
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { // Ctrl-C is a cancel, whose error says what became of the charge
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelWait}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		if x := new(tls.CertificateVerificationError); errors.As(err, &x) {
			return nil, fmt.Errorf("the server's certificate cannot be checked: %s. %s", x.Err, q.besideServer(p))
		}
		return nil, errors.New(err.Error()) // connectionHint is not about this connection
	}
	return &connection{
		ask: func(ctx context.Context, sql string) (*table, error) { return askWire(ctx, conn, sql) },
		set: func(ctx context.Context, sql string, _ *pgsyntax.Set) error {
			_, err := askWire(ctx, conn, sql)
			return err
		},
		close: func() error { _ = conn.Close(context.WithoutCancel(ctx)); return nil },
	}, nil
}

func askWire(ctx context.Context, conn *pgx.Conn, sql string) (*table, error) {
	t := &table{}
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, shown(err)
	}
	for _, r := range results {
		t.names, t.rows = nil, nil
		for _, f := range r.FieldDescriptions {
			t.names = append(t.names, f.Name)
		}
		for _, row := range r.Rows {
			var cells []string
			for _, c := range row {
				cells = append(cells, cell(string(c), c == nil))
			}
			t.rows = append(t.rows, cells)
		}
	}
	return t, nil
}

// cancelWait is how long a cancelled statement's end is waited for.
const cancelWait = 10 * time.Second

// refusal is a server's error with its hint.
type refusal string

func (r refusal) Error() string { return string(r) }

// shown gives a server's error with its hint.
func shown(err error) error {
	var pe *pgconn.PgError
	switch {
	case errors.As(err, &pe):
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w, and the server did not say how it ended; what it had cost by then stays spent", err)
	default:
		return err
	}
	text := fmt.Sprintf("%s (%s)", pe.Message, pe.Code)
	for _, more := range []string{pe.Detail, pe.Hint} {
		if more != "" {
			text += "\n    " + more
		}
	}
	return refusal(text)
}

func cell(s string, null bool) string {
	if null {
		return "NULL"
	}
	return s
}

// here opens the policy's database and ledger.
func (q *oneQuestion) here(ctx context.Context, p *policy.Policy, notice noticed) (_ *connection, err error) {
	var opened []func() error
	closeAll := func() (err error) {
		for _, c := range slices.Backward(opened) {
			err = errors.Join(err, c())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	b, err := openBackend(ctx, p)
	if err != nil {
		return nil, err
	}
	opened = append(opened, b.Close)
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	opt := server.Options{Policy: p, Backend: b, Logger: log}
	if p.Audit != "none" {
		audit, err := ops.OpenAudit(p.Audit, log)
		if err != nil {
			return nil, err
		}
		opened = append(opened, audit.Close)
		opt.Observer = audit
	}
	e, err := server.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	opened = append(opened, e.Close)
	s, err := session.NewSession(e, q.analyst, "psql")
	if err != nil {
		return nil, err
	}
	opened = append(opened, func() error { s.Close(); return nil })
	s.UseProgress(func(text string) { notice("NOTICE", text) })
	return &connection{
		ask:   func(ctx context.Context, sql string) (*table, error) { return askHere(ctx, s, notice, sql) },
		set:   func(_ context.Context, _ string, n *pgsyntax.Set) error { return s.Apply(n) },
		close: closeAll,
	}, nil
}

func askHere(ctx context.Context, s *session.Session, notice noticed, sql string) (*table, error) {
	list, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, errors.New("one statement at a time")
	}
	st, err := engine.Prepare(ctx, s, list[0], nil)
	if err != nil {
		return nil, err
	}
	a, err := st.Run(ctx, nil)
	if err != nil {
		return nil, err
	}
	rows, err := a.All(ctx)
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, text := range a.Warnings {
		notice("WARNING", text)
	}
	notice("NOTICE", a.Mark)
	notice("NOTICE", a.Notice)
	cols := st.Columns()
	for _, c := range cols {
		t.names = append(t.names, c.Name)
	}
	for _, row := range rows {
		var cells []string
		for i, v := range row {
			text := ""
			if v != nil {
				text = sqltype.FormatText(v, cols[i].Type)
			}
			cells = append(cells, cell(text, v == nil))
		}
		t.rows = append(t.rows, cells)
	}
	return t, nil
}
