package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func explainCommand() *cobra.Command {
	c := askCommand("explain SQL|FILE --config policy.yaml", "Tell how statements are bounded, what they cost and how exact they would be",
		`Print a statement's plan, bounds, mechanism, charge and expected error. It reads no private row and
spends nothing. Begin with (VERBOSE) to see each bound and noise:

  dpsql explain "(VERBOSE) SELECT ..." --config policy.yaml

In place of a statement, name a file of statements, or - for standard input. Each is explained with
its line. SET changes the price and the settings of the statements that follow. Statements that
EXPLAIN does not accept are skipped, and so are psql's own commands, which begin with a backslash.

Exit code: 0 all were explained, 1 could not explain, 3 some statements of the file were refused.
`+fmt.Sprintf(askLong, "explain workload.sql"), "EXPLAIN ")
	c.Example = `  dpsql explain "SELECT count(*) FROM encounters" --config policy.yaml
  dpsql explain workload.sql --config policy.yaml`
	return c
}

// isScript says whether an argument is a file of statements: a statement is never one word, and psql's own commands are no files.
func isScript(arg string) bool {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return true
	}
	return arg == "-" || !isPsqlCommand(arg) && !strings.ContainsAny(strings.TrimSpace(arg), " \t\r\n")
}

// isPsqlCommand says whether an argument is a command of psql, such as \dt.
func isPsqlCommand(arg string) bool { return strings.HasPrefix(strings.TrimSpace(arg), `\`) }

// explainFile explains the statements of a file in their order, as one session.
func (q *oneQuestion) explainFile(cmd *cobra.Command, path string) (err error) {
	script, err := readFile(cmd, path)
	if err != nil {
		return err
	}
	pieces, err := pgsyntax.SplitFile(script)
	if err != nil {
		return atLine(path, script, err)
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	c, err := q.connect(ctx, noticesTo(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	refused, skipped := 0, 0
	for _, p := range pieces {
		_, _ = fmt.Fprintf(out, "line %d: %s\n", 1+strings.Count(script[:p.Offset], "\n"), oneLine(p.Text))
		if p.IsPsql() {
			_, _ = fmt.Fprint(out, psqlSkipped+"\n\n")
			skipped++
			continue
		}
		t, err := c.explain(ctx, p.Text)
		var known *sqlerr.Error
		switch r := refusal(""); {
		case errors.As(err, &r), errors.As(err, &known):
			_, _ = fmt.Fprintf(out, "refused: %s\n", explained(err))
			refused++
		case err != nil:
			return err
		case t != nil:
			if err := t.print(out); err != nil {
				return err
			}
			if t.isRefusedTraining() {
				refused++
			}
		}
		_, _ = fmt.Fprintln(out)
	}
	if _, err := fmt.Fprintf(out, "%s, %d refused\n", counted(len(pieces)-skipped, "statement"), refused); err != nil {
		return err
	}
	if refused > 0 {
		return errFound
	}
	return nil
}

// explain explains one statement of a file. SET is run, for the statements that follow, and has no table. Others that
// EXPLAIN does not take are not run.
func (c *connection) explain(ctx context.Context, sql string) (*table, error) {
	list, err := pgsyntax.Parse(sql)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	switch n := list[0].Node.(type) {
	case *pgsyntax.Select, *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Watch, *pgsyntax.Synthesize, *pgsyntax.Cube:
		return c.ask(ctx, "EXPLAIN "+sql)
	case *pgsyntax.Explain:
		return c.ask(ctx, sql)
	case *pgsyntax.Set:
		return nil, c.set(ctx, sql, n)
	}
	return &table{names: []string{"QUERY PLAN"}, rows: [][]string{{"EXPLAIN does not take this statement."}}}, nil
}

// isRefusedTraining says whether EXPLAIN TRAIN tells what would refuse the training.
func (t *table) isRefusedTraining() bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool { return len(row) == 2 && row[0] == "refused" })
}
