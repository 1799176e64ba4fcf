package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
)

// ownersLedger is what freeze and budget need: a running server, or the ledger itself.
type ownersLedger interface {
	Freeze(ctx context.Context, analyst, by string) error
	Unfreeze(ctx context.Context, analyst, by string) error
	Budget(ctx context.Context) (owner.Budget, error)
	History(ctx context.Context) ([]ledger.Spent, error)
	Verify(ctx context.Context) error
	Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error
	Statements(ctx context.Context, f ledger.StatementFilter) (owner.StatementsPage, error)
	Watches(ctx context.Context) ([]*watches.Watch, error)
	Close() error
}

// openLedger asks the running server where there is one, and else takes the ledger.
func openLedger(ctx context.Context, p *policy.Policy) (ownersLedger, error) {
	if c, up := owner.Dial(ctx, p.Socket); up {
		if b, err := c.Budget(ctx); err == nil { // one whose ledger failed may still be told to stop somebody
			if err := ofPeople("the server on "+p.Socket, b.People, p); err != nil {
				return nil, err
			}
		}
		return running{c}, nil
	}
	l, err := takeLedger(ctx, p)
	if err != nil {
		return nil, err
	}
	return alone{l, p}, nil
}

// takeLedger opens the ledger itself: a file while no server has it, a database's beside its servers. One of other people than the policy's is refused.
func takeLedger(ctx context.Context, p *policy.Policy) (ledger.Ledger, error) {
	l, err := openPlace(ctx, p)
	if err != nil {
		return nil, err
	}
	accounts, err := l.Accounts()
	if err == nil {
		err = ofPeople("the ledger in "+placeOf(p).String(), accounts.People, p)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ofPeople refuses a ledger of other people than the policy's: a freeze or a grant in it would meet their analysts. One that is empty has nobody's.
func ofPeople(whose, people string, p *policy.Policy) error {
	if people == "" || people == p.People {
		return nil
	}
	return fmt.Errorf("%s is of the people %q, and this policy's are %q: nothing was done. Is this the right policy? Other people need a ledger, and a socket, of their own", whose, people, p.People)
}

// placeOf is where the policy's ledger is.
func placeOf(p *policy.Policy) ledger.Place {
	if p.Ledger.Postgres != "" {
		return ledger.Place{Postgres: ledger.Server{URL: p.Ledger.Postgres, Path: p.Ledger.Beside}}
	}
	return ledger.Place{SQLite: p.Ledger.SQLite}
}

// errNothingServed is of a ledger that there is not yet.
var errNothingServed = errors.New("nothing was served with this policy yet, so nothing was spent")

func openPlace(ctx context.Context, p *policy.Policy) (ledger.Ledger, error) {
	if p.Ledger.Postgres != "" {
		l, err := ledger.OpenPostgresForOwner(ctx, ledger.Server{URL: p.Ledger.Postgres, Path: p.Ledger.Beside})
		if errors.Is(err, ledger.ErrNotExist) {
			return nil, fmt.Errorf("the ledger's database: %w", errNothingServed)
		}
		return l, err
	}
	l, err := ledger.OpenForOwner(ctx, p.Ledger.SQLite)
	switch {
	case errors.Is(err, ledger.ErrInUse):
		return nil, inUse(err, p.Socket)
	case errors.Is(err, ledger.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", p.Ledger.SQLite, errNothingServed)
	}
	return l, err
}

// inUse says what to do about a ledger that another process has, which does not answer.
func inUse(err error, socket string) error {
	if socket == "none" {
		return fmt.Errorf("%w: the policy says socket: none, so a running server cannot be asked. Stop it first, or give it a socket", err)
	}
	return fmt.Errorf("%w: a server has it, but none answers on the socket %s. Is this the policy file that it runs with? A server that is just starting or stopping, "+
		"or another dpsql command, has it for a moment: try again", err, socket)
}

type running struct{ *owner.Client }

func (running) Close() error { return nil }

type alone struct {
	ledger.Ledger
	policy *policy.Policy
}

func (a alone) History(ctx context.Context) ([]ledger.Spent, error) {
	return a.Ledger.History(ctx, a.policy.Dataset)
}

// Freeze refuses a name that is none of the policy's, as a running server does.
func (a alone) Freeze(ctx context.Context, analyst, by string) error {
	if _, known := a.policy.Analyst(analyst); analyst != "" && !known {
		return fmt.Errorf("the policy has no analyst %q, so nobody was frozen. Without a name, dpsql freeze stops everybody", analyst)
	}
	return a.Ledger.Freeze(ctx, analyst, by)
}

func (a alone) Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error {
	return a.Ledger.Grant(ctx, server.GrantOf(a.policy, analyst, epsilon, by, reason))
}

func (a alone) Budget(context.Context) (owner.Budget, error) {
	var fits *budget.Filter
	if head, err := server.Head(a.policy, ""); err == nil { // a policy with a slip in its budget still shows the ledger's
		fits = head.Filter
	}
	accounts, err := a.AccountsOf(a.policy.Dataset, fits, server.Payers(a.policy))
	return owner.Report(accounts, a.policy), err
}

// withLedger runs one of the owner's commands.
func withLedger(ctx context.Context, config string, do func(*policy.Policy, ownersLedger) error) (err error) {
	p, err := policy.Places(config)
	if err != nil {
		return err
	}
	l, err := openLedger(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return do(p, l)
}

func budgetCommand() *cobra.Command {
	c := &cobra.Command{Use: "budget", Short: "Show what was spent and what is left"}
	var config, plotTo string
	var asJSON, statements bool
	var filter ledger.StatementFilter
	show := &cobra.Command{
		Use:   "show [--json] [--plot out.svg | --statements] --config policy.yaml",
		Short: "Show the budget: promised, spent, left, window, lifetime, freezes",
		Long: `Show each balance of the present window, the lifetime of all windows, and freezes. A running server
is asked over its socket. If none runs, the ledger is read directly.

--plot draws what was spent over time, by analyst, against the limit. It reads the whole ledger, and
a running server's statements wait meanwhile.

--statements lists the charges with the full text of their statements. --analyst and --fingerprint
choose those of one analyst or one question. The fingerprint is the audit log's "statement", or its
first digits. With --json, each charge is one JSON object on a line.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !statements && filter != (ledger.StatementFilter{}) {
				return errors.New("--analyst and --fingerprint are for --statements")
			}
			format := ""
			if plotTo != "" { // before anything is read
				var err error
				if format, err = owner.PlotFormat(plotTo); err != nil {
					return err
				}
			}
			return withLedger(cmd.Context(), config, func(p *policy.Policy, l ownersLedger) error {
				if statements {
					return showStatements(cmd.Context(), cmd.OutOrStdout(), l, filter, asJSON)
				}
				if plotTo != "" {
					if err := plotSpending(cmd.Context(), l, p.Dataset, plotTo, format); err != nil {
						return err
					}
				}
				b, err := l.Budget(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), b)
				}
				return b.Print(cmd.OutOrStdout())
			})
		},
	}
	configFlag(show, &config)
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	show.Flags().StringVar(&plotTo, "plot", "", "file of a figure (.svg, .png or .pdf): what was spent over time")
	show.Flags().BoolVar(&statements, "statements", false, "list the charges with the statements' texts")
	show.Flags().StringVar(&filter.Analyst, "analyst", "", "of --statements: those of one analyst")
	show.Flags().StringVar(&filter.Fingerprint, "fingerprint", "", "of --statements: those of one question, as in the audit log")
	c.AddCommand(show, verifyCommand(), grantCommand(), raiseCommand(), moveCommand())
	return c
}

// plotSpending writes the figure; a file that is there is replaced.
func plotSpending(ctx context.Context, l ownersLedger, dataset, path, format string) error {
	history, err := l.History(ctx)
	if err != nil {
		return err
	}
	var figure bytes.Buffer
	if err := owner.Plot(&figure, format, dataset, history, time.Now()); err != nil {
		return err
	}
	return os.WriteFile(path, figure.Bytes(), 0o600)
}

func verifyCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "verify --config policy.yaml",
		Short: "Recompute every balance from the ledger's records, and name the first broken one",
		Long: `Read the whole ledger again, and name the first record that is broken. It checks:

  - the chain of the records
  - each charge's loss against what was run
  - that the budget held each charge when it was made
  - the stored releases

It changes nothing. With a SQLite ledger a running server does the work, and its statements wait that
long. A ledger in PostgreSQL is read beside its servers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLedger(cmd.Context(), config, func(_ *policy.Policy, l ownersLedger) error {
				if err := l.Verify(cmd.Context()); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "the ledger is whole: every balance follows from its records")
				return err
			})
		},
	}
	configFlag(c, &config)
	return c
}

// printLine writes a value as one line of JSON.
func printLine(to io.Writer, v any) error { return json.NewEncoder(to).Encode(v) }

func printJSON(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func freezeCommand() *cobra.Command {
	return freezer("freeze [analyst] --config policy.yaml", "Stop an analyst's statements, or everybody's, at once",
		`Stop an analyst's private statements, or without a name everybody's. A running server ends the
sessions of that analyst at once. The freeze lasts over restarts, until dpsql unfreeze. Stored
answers, models and synthetic tables are withheld too.`,
		"frozen", ownersLedger.Freeze)
}

func unfreezeCommand() *cobra.Command {
	return freezer("unfreeze [analyst] --config policy.yaml", "Lift a freeze",
		`Lift the freeze of an analyst, or without a name the freeze of everybody. An analyst's own freeze
stays then.

The command also lets analysts go on who were stopped after statements that ran out of a resource.
The ledger records it, so all its servers know.`,
		"no longer frozen", ownersLedger.Unfreeze)
}

func freezer(use, short, long, done string, do func(ownersLedger, context.Context, string, string) error) *cobra.Command {
	var config string
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			p, err := policy.Places(config)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, a := range p.Analysts {
				names = append(names, a.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLedger(cmd.Context(), config, func(p *policy.Policy, l ownersLedger) error {
				analyst, who := "", "everybody"
				if len(args) == 1 {
					analyst, who = args[0], args[0]
					if _, known := p.Analyst(analyst); !known { // a running server may know better
						_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: warning: %s has no analyst %q\n", config, analyst)
					}
				}
				if err := do(l, cmd.Context(), analyst, whoami()); err != nil {
					return err
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", done, who)
				b, err := l.Budget(cmd.Context())
				if err != nil {
					return err
				}
				for _, f := range b.Frozen { // freezes of one analyst and of everybody are lifted each by itself
					if f.Analyst == analyst && done == "frozen" {
						continue
					}
					still, lift := f.Analyst, "dpsql unfreeze "+f.Analyst
					if still == "" {
						still, lift = "everybody", "dpsql unfreeze"
					}
					_, _ = fmt.Fprintf(cmd.OutOrStdout(), "still frozen: %s (%s lifts it)\n", still, lift)
				}
				return nil
			})
		},
	}
	configFlag(c, &config)
	return c
}

// whoami is the user of the operating system, for the ledger's records.
func whoami() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// runningServer is the server that runs with a policy.
func runningServer(ctx context.Context, config string) (*owner.Client, error) {
	p, err := policy.Places(config)
	if err != nil {
		return nil, err
	}
	s, up := owner.Dial(ctx, p.Socket)
	if !up {
		return nil, fmt.Errorf("no server answers on %s", p.Socket)
	}
	return s, nil
}

func reloadCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "reload --config policy.yaml",
		Short: "Make the running server read its policy and certificate again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := runningServer(cmd.Context(), config)
			if err != nil {
				return err
			}
			if err := s.Reload(cmd.Context()); err != nil {
				return err
			}
			if _, err = fmt.Fprintln(cmd.OutOrStdout(), "reloaded"); err != nil {
				return err
			}
			noteOrder(cmd, config)
			return nil
		},
	}
	configFlag(c, &config)
	return c
}
