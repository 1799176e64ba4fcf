package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/owner"
)

func initCommand() *cobra.Command {
	var where, merge, dataset string
	var units []string
	c := &cobra.Command{
		Use:   "init --backend URL > policy.yaml",
		Short: "Write a first policy from a database's schema",
		Long: `Write a first policy from a database's keys, foreign keys, types, enums, CHECK constraints and
comments. It never reads a value. The backend is one of these:

  - postgres://user@host/database
  - a DuckDB file, such as name.duckdb
  - a folder of CSV and Parquet files

What only you can say is left as FILL_IN or in a comment. How many rows of one person count is left
to each statement (auto).

The unit says who is protected, such as customers.customer_id. Without --unit, dpsql asks for it on a
terminal, and proposes one elsewhere.

After a change of the schema, --merge policy.yaml prints your policy with what is new. Your own words
stay. New tables and columns are added, and those that are gone are marked. Send the output to
another file, because the shell empties the file that it writes to.`,
		Example: "  dpsql init --backend postgres://reader@localhost/sakila --unit customer.customer_id > policy.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			unit, err := oneUnit(units)
			if err != nil {
				return err
			}
			i := initialiser{unit: unit, merge: merge, dataset: dataset, in: cmd.InOrStdin(), err: cmd.ErrOrStderr()}
			return i.run(cmd.Context(), where, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&where, "backend", "", "postgres://user@host/database, a DuckDB file, or a folder of files (required)")
	c.Flags().StringArrayVar(&units, "unit", nil, "the column that stands for one person: table.column")
	c.Flags().StringVar(&merge, "merge", "", "an older policy to bring up to the schema")
	c.Flags().StringVar(&dataset, "dataset", "", "the data set's name (default: the database's)")
	_ = c.MarkFlagRequired("backend")
	_ = c.MarkFlagFilename("merge", "yaml", "yml")
	return c
}

// oneUnit is the column that --unit says. Where rows belong to people of two kinds init says so in the file, and how both are hidden.
func oneUnit(units []string) (string, error) {
	list := strings.Split(strings.Join(units, ","), ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	if len(list) > 1 && !slices.ContainsFunc(list, func(u string) bool { return strings.Contains(u, `"`) }) {
		return "", fmt.Errorf("--unit takes one column, whose people init writes the policy for: take %s, and where people of several kinds are to be hidden write units: [%s] in place of unit in that policy, and also_unit where rows lead to both (docs/joins.md, Rows of two people)",
			list[0], strings.Join(list, ", "))
	}
	return strings.Join(units, ","), nil
}

type initialiser struct {
	unit, merge, dataset string
	in                   io.Reader
	err                  io.Writer
}

func (i *initialiser) run(ctx context.Context, where string, out io.Writer) error {
	kind, err := backendKind(where)
	if err != nil {
		return err
	}
	progress := startProgress(i.err, "reading the schema")
	rels, err := survey(ctx, kind, where)
	progress.End()
	if err != nil {
		return err
	}
	opt := owner.InitOptions{Dataset: i.dataset, Backend: kind, URL: where, Unit: i.unit}
	if opt.Dataset == "" {
		if opt.Dataset = datasetOf(kind, where); kind == "postgres" && opt.Dataset != sourceOf(where) {
			opt.Source = sourceOf(where)
		}
	}
	if i.merge != "" {
		if opt.Merge, err = os.ReadFile(i.merge); err != nil {
			return err
		}
		if len(opt.Merge) == 0 {
			return fmt.Errorf("%s is empty: was the output sent onto it? Restore it, and write to another file", i.merge)
		}
	} else if opt.Unit == "" {
		if opt.Unit, err = i.askUnit(rels, kind); err != nil {
			return err
		}
	}
	text, err := owner.Init(rels, opt)
	if err != nil {
		return err
	}
	if opt.Unit == "" && opt.Merge == nil {
		for _, l := range owner.CandidateWarnings(rels, opt) {
			_, _ = fmt.Fprintln(i.err, "warning: "+l)
		}
	}
	_, err = out.Write(text)
	return err
}

// askUnit offers the candidates on a terminal; "" is the first.
func (i *initialiser) askUnit(rels []sqltype.Relation, kind string) (string, error) {
	f, ok := i.in.(*os.File)
	if !ok {
		return "", nil
	}
	if !isTerminal(f) {
		return "", nil
	}
	list, err := owner.Candidates(rels, kind)
	if err != nil || len(list) == 0 {
		return "", err
	}
	_, _ = fmt.Fprintln(i.err, "Who is protected? The column that stands for one person (or household, account ...):")
	list = list[:min(len(list), 9)]
	for n, c := range list {
		_, _ = fmt.Fprintf(i.err, "  %d  %s (tables that lead to it: %d)\n", n+1, c.Name, c.Reach)
	}
	_, _ = fmt.Fprint(i.err, "Number, or table.column [1]: ")
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimSpace(line)
	if line == "" {
		line = "1"
	}
	if n, err := strconv.Atoi(line); err == nil {
		if n < 1 || n > len(list) {
			return "", fmt.Errorf("there is no number %d", n)
		}
		return list[n-1].Name, nil
	}
	return line, nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// backendKind tells what a backend is from how it is written.
func backendKind(where string) (string, error) {
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return "postgres", nil
	}
	info, err := os.Stat(where)
	switch {
	case err != nil:
		return "", fmt.Errorf("the backend is neither a postgres:// URL nor a file or folder: %w", err)
	case info.IsDir():
		return "files", nil
	case slices.Contains([]string{".csv", ".tsv", ".parquet", ".json", ".gz"}, strings.ToLower(filepath.Ext(where))):
		return "", fmt.Errorf("%s is one file of data: give the folder that has it, as in --backend %s", where, filepath.Dir(where))
	}
	return "duckdb", nil
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// datasetOf proposes a name: the database's, or the file's.
func datasetOf(kind, where string) string {
	if whole, err := filepath.Abs(where); err == nil && kind != "postgres" { // the folder . has a name too
		where = whole
	}
	name := strings.TrimSuffix(filepath.Base(where), filepath.Ext(where))
	if kind == "postgres" {
		name = sourceOf(where)
	}
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "data_" + name
	}
	return name[:min(len(name), 63)]
}

// sourceOf is the name of the database that a URL names; "": none.
func sourceOf(url string) string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return ""
	}
	return c.Database
}

// survey reads the schema of what a backend has.
func survey(ctx context.Context, kind, where string) (_ []sqltype.Relation, err error) {
	var b backend.Backend
	switch kind {
	case "postgres":
		b, err = postgres.Open(ctx, where, postgres.Options{})
	case "duckdb":
		b, err = duckdb.Open(ctx, where, duckdb.Options{})
	default:
		return duckdb.SurveyFiles(ctx, where)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	s, ok := b.(backend.Surveyor)
	if !ok {
		return nil, fmt.Errorf("a %s backend cannot be surveyed", kind)
	}
	return s.Survey(ctx)
}
