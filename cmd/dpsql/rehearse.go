package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
)

func rehearseCommand() *cobra.Command {
	var config, analyst string
	c := &cobra.Command{
		Use:   "rehearse workload.sql --config policy.yaml",
		Short: "Tell what a workload would cost and how exact it would be, without touching data",
		Long: `Go through the statements of a file as an analyst's session would, against an empty budget. For each
statement it tells:

  - whether it is accepted, and if not, why
  - what it costs
  - the 95% error of its noise, for averages at the declared population. Of a free line it is that of
    the release which answers

It also names the first statement that the budget would not hold. It reads the schema and public
tables, but no private row, and spends nothing.

A line that begins with a backslash is psql's own command: it is skipped.

EVALUATE and EXECUTE are not rehearsed, as they need a trained model, or values. A watch is priced
for one window of the budget: it costs as much again in each later window that it looks in.

Exit code: 0 all would be answered, 1 could not rehearse, 3 some would not, or were not rehearsed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := readFile(cmd, args[0])
			if err != nil {
				return err
			}
			return rehearse(cmd, config, analyst, args[0], script)
		},
	}
	configFlag(c, &config)
	c.Flags().StringVar(&analyst, "analyst", "", "whose rights and limits (default: the policy's only one)")
	return c
}

// readFile reads a file, or standard input for "-".
func readFile(cmd *cobra.Command, path string) (string, error) {
	if path == "-" {
		text, err := io.ReadAll(cmd.InOrStdin())
		return string(text), err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

func rehearse(cmd *cobra.Command, config, analyst, path, script string) (err error) {
	ctx := cmd.Context()
	p, err := policy.Load(config)
	if err != nil {
		return err
	}
	if analyst, err = analystOr(p, analyst); err != nil {
		return err
	}
	progress := startProgress(cmd.ErrOrStderr(), "reading the schema")
	defer progress.End()
	b, err := openBackend(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	r, err := engine.OpenRehearsal(ctx, server.Options{Policy: p, Backend: b, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.Progress = progress
	list, err := r.Play(ctx, analyst, script)
	if err != nil {
		return atLine(path, script, err)
	}
	return printForecasts(cmd.OutOrStdout(), list)
}

// atLine adds the file and the line to an error of a script as a whole.
func atLine(path, script string, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Pos < 1 || e.Pos > len(script) {
		return err
	}
	return fmt.Errorf("%s, line %d: %w", path, 1+strings.Count(script[:e.Pos-1], "\n"), err)
}

// psqlSkipped is said of a command of psql in a file.
const psqlSkipped = "skipped: psql's own command"

// analystOr is the analyst that was named, or the policy's only one.
func analystOr(p *policy.Policy, name string) (string, error) {
	switch _, known := p.Analyst(name); {
	case name == "" && len(p.Analysts) == 1:
		return p.Analysts[0].Name, nil
	case name == "":
		return "", fmt.Errorf("the policy has %d analysts: say as whom with --analyst", len(p.Analysts))
	case !known:
		return "", fmt.Errorf("the policy has no analyst %q", name)
	}
	return name, nil
}

func printForecasts(out io.Writer, list []engine.Forecast) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) } // Flush tells the error
	say("line\toutcome\tprice\tleft after\texpected 95%% interval\tstatement\n")
	refused, over, unknown, skipped, total := 0, 0, 0, 0, 0.0
	for _, f := range list {
		outcome, price, left := "public, free", "", ""
		switch {
		case f.Err != nil:
			outcome = "refused: " + sqlerr.ID(f.Err)
			refused++
		case f.Class == engine.NotRehearsed:
			outcome = f.Class
			unknown++
		case f.Class == engine.PsqlCommand:
			outcome = psqlSkipped
			skipped++
		case f.Class == "session":
			outcome = "setting"
		case f.Free && f.Computed:
			outcome, price = "computed, free", "0"
		case f.Free:
			outcome, price = "asked before, free", "0"
		case f.Denied:
			outcome, price = "OVER BUDGET", fmt.Sprintf("%.3g", f.Paid)
			over++
		case f.Class == "private":
			outcome, price, left = "answered", fmt.Sprintf("%.3g", f.Paid), fmt.Sprint(f.Left)
			total += f.Paid
		}
		say("%d\t%s\t%s\t%s\t%s\t%s\n", f.Line, outcome, price, left, strings.Join(f.Expected, ", "), oneLine(f.SQL))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range list {
		if f.Err != nil {
			_, _ = fmt.Fprintf(out, "line %d: %s\n", f.Line, explained(f.Err))
		}
	}
	printNotes(out, list)
	for _, f := range list {
		if f.Denied {
			_, _ = fmt.Fprintf(out, "line %d is the first that the budget does not hold\n", f.Line)
			break
		}
	}
	not := ""
	if unknown > 0 {
		not = fmt.Sprintf(", %d not rehearsed", unknown)
	}
	_, err := fmt.Fprintf(out, "%d statements: prices add up to %.4g, %d refused, %d over budget%s\n", len(list)-skipped, total, refused, over, not)
	if err == nil && refused+over+unknown > 0 {
		err = errFound
	}
	return err
}

// printNotes says once what is noted of several lines.
func printNotes(out io.Writer, list []engine.Forecast) {
	var notes []string
	of := map[string][]string{}
	for _, f := range list {
		if f.Note == "" {
			continue
		}
		if of[f.Note] == nil {
			notes = append(notes, f.Note)
		}
		of[f.Note] = append(of[f.Note], fmt.Sprint(f.Line))
	}
	for _, n := range notes {
		lines := "lines "
		if len(of[n]) == 1 {
			lines = "line "
		}
		_, _ = fmt.Fprintf(out, "%s%s: %s\n", lines, strings.Join(of[n], ", "), n)
	}
}

// oneLine shortens a statement for a table.
func oneLine(sql string) string {
	s := strings.Join(strings.Fields(sql), " ")
	if r := []rune(s); len(r) > 70 {
		s = string(r[:67]) + "..."
	}
	return s
}

// explained is an error with its hint.
func explained(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Error() + "\n    " + e.Hint
	}
	return err.Error()
}
