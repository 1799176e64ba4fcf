package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func trainCommand() *cobra.Command {
	t := &trainFile{}
	c := &cobra.Command{
		Use:   "train --file statements.sql --config policy.yaml",
		Short: "Run the TRAIN DP MODEL statements of a file as an analyst",
		Long: `Run the TRAIN DP MODEL statements of a file, in order, as an analyst. dpsql checks all of them before
it charges the first. If one would be refused, the command stops and nothing is spent. The same holds
if the budget has no room for all of them together.

Each model's card goes to standard output. What was spent goes to standard error, and so does
progress on a terminal. The first training that fails ends the command with exit code 1. The models
before it stay.

--explain prints what each training would cost, and spends nothing. Its exit code is 1 if one would be
refused.
` + fmt.Sprintf(askLong, "train --file readmission.sql"),
		Example: `  dpsql train --file readmission.sql --config policy.yaml --explain
  PGPASSWORD=... dpsql train --file readmission.sql --config policy.yaml --analyst research
  echo "TRAIN DP MODEL los USING linear_regression TARGET days AS SELECT age, days FROM stays" | dpsql train --file - --config policy.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("%q is left over: the statements' file goes to --file: dpsql train --file %s", args[0], args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	configFlag(c, &t.question.config)
	c.Flags().StringVarP(&t.file, "file", "f", "", "the file with TRAIN statements; - reads standard input")
	c.Flags().BoolVar(&t.explain, "explain", false, "print noise, bounds and charge, and spend nothing")
	c.Flags().StringVar(&t.question.analyst, "analyst", "", "who trains (default: the policy's only analyst)")
	c.Flags().StringVar(&t.question.root, "sslrootcert", "", "certificate of the authority that signed the server's")
	_ = c.MarkFlagRequired("file")
	return c
}

// trainFile is a file of trainings.
type trainFile struct {
	question oneQuestion
	file     string
	explain  bool
}

// training is a statement of the file.
type training struct {
	text string
	line int
}

func (t *trainFile) run(cmd *cobra.Command) (err error) {
	list, err := t.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	c, err := t.question.connect(ctx, noticesTo(stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if f, ok := stderr.(*os.File); ok && isTerminal(f) {
		if err := c.set(ctx, "SET dpsql.progress = on", &pgsyntax.Set{Name: "dpsql.progress", Values: []string{"on"}}); err != nil {
			return err
		}
	}
	var refused error
	for i, s := range list {
		explain := "EXPLAIN (VERBOSE, TOGETHER) " // each beside the charges of those before it
		if i == 0 {
			explain = "EXPLAIN (VERBOSE) "
		}
		card, err := c.ask(ctx, explain+s.text)
		if err != nil {
			return t.at(s, err)
		}
		if t.explain {
			if err := card.print(cmd.OutOrStdout()); err != nil {
				return err
			}
		}
		for _, row := range card.rows {
			if row[0] == "refused" {
				refused = errors.Join(refused, t.at(s, errors.New(row[1])))
			}
		}
	}
	if t.explain || refused != nil {
		return refused
	}
	for i, s := range list {
		_, _ = fmt.Fprintf(stderr, "training %d of %d (line %d)\n", i+1, len(list), s.line)
		card, err := c.ask(ctx, s.text)
		if err != nil {
			return t.at(s, err)
		}
		if err := card.print(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainFile) at(s training, err error) error {
	return fmt.Errorf("%s, line %d: %w", t.file, s.line, err)
}

// read takes the file's statements, which must be trainings.
func (t *trainFile) read(stdin io.Reader) (out []training, err error) {
	var text []byte
	if t.file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(t.file)
	}
	if err != nil {
		return nil, err
	}
	list, err := pgsyntax.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file, err)
	}
	named := map[string]int{}
	for _, st := range list {
		before := text[:st.Offset]
		s := training{text: st.Text, line: 1 + strings.Count(string(before), "\n") + strings.Count(st.Text[:len(st.Text)-len(strings.TrimLeft(st.Text, " \t\r\n"))], "\n")}
		switch n := st.Node.(type) {
		case *pgsyntax.Train:
			if line := named[n.Name.Text]; line > 0 && !n.Replace {
				return nil, t.at(s, fmt.Errorf("model %q is trained in line %d already", n.Name.Text, line))
			}
			named[n.Name.Text] = s.line
		case *pgsyntax.Empty:
			continue
		default:
			return nil, t.at(s, errors.New("this is no TRAIN DP MODEL statement; psql, or dpsql query, asks others"))
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no TRAIN DP MODEL statement", t.file)
	}
	return out, nil
}
