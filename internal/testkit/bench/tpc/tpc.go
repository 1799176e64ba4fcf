// Package tpc makes the databases and policies that TPC-H's and TPC-DS's queries are asked under, for tests and benchmarks: the customer is
// the unit. What is made with them is derived from TPC-H and TPC-DS and is not comparable to published TPC results.
package tpc

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dpsql/dpsql/internal/testkit/corpus"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// Bench is one of the two at a scale factor.
type Bench struct {
	Name string // tpch or tpcds: a folder of testdata/corpus
	SF   float64
}

// DB is a name for its databases.
func (b Bench) DB() string { return fmt.Sprintf("%s_sf%g", b.Name, b.SF) }

func (b Bench) corpus() (string, error) {
	root, err := corpus.Root()
	return filepath.Join(root, "testdata", "corpus", b.Name), err
}

// Query is one query's text.
type Query struct{ Name, Text string }

// Queries are the texts as DuckDB gives them, in order.
func (b Bench) Queries() ([]Query, error) {
	dir, err := b.corpus()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "q*.sql"))
	if err != nil {
		return nil, err
	}
	out := make([]Query, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out[i] = Query{Name: strings.TrimSuffix(filepath.Base(f), ".sql"), Text: strings.TrimSuffix(strings.TrimSpace(string(text)), ";")}
	}
	return out, nil
}

// Policy is the corpus's policy.yaml before a backend: its one analyst is "bench", whose verifier is given.
func (b Bench) Policy(kind, where, verifier string) ([]byte, error) {
	dir, err := b.corpus()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer("BACKEND", fmt.Sprintf("{%s: %q}", kind, where), "VERIFIER", verifier).Replace(string(text))), nil
}

// cache is where data that takes long to make is kept between runs.
func cache() (string, error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "dpsql-bench")
	return dir, os.MkdirAll(dir, 0o750)
}

// Folder has <table>.csv.gz of each table. It is made where it is not in the cache, by DuckDB's own generators, in some minutes.
func (b Bench) Folder() (string, error) {
	dir, err := cache()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, fmt.Sprintf("%s-sf%g", b.Name, b.SF))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return dir, err
	}
	root, err := corpus.Root()
	if err != nil {
		return "", err
	}
	args := []string{"run", "-tags", "tpchgen", "./internal/testkit/bench/tpchgen", "-sf", fmt.Sprint(b.SF), "-out", dir}
	if b.Name == "tpcds" {
		args = append(args, "-ds")
	}
	cmd := exec.Command("go", args...) //nolint:gosec // our own program, our own arguments
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("making %s: %w\n%s", dir, err, out)
	}
	return dir, nil
}

// tables are the names in the schema's order, and the statements that make them.
var tables = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// schema is the text that makes the tables, and the text that adds keys once they are full.
func (b Bench) schema() (create, keys string, names []string, err error) {
	dir, err := b.corpus()
	if err != nil {
		return "", "", nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
	if err != nil {
		return "", "", nil, err
	}
	for _, m := range tables.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	create, keys, found := strings.Cut(string(text), "\nALTER TABLE")
	if found {
		keys = "ALTER TABLE" + keys
	}
	return create, keys, names, nil
}

// LoadPostgres makes a database of the server, with keys and statistics, which dpsql_reader may read.
func (b Bench) LoadPostgres(s *pgtest.Server) error {
	dir, err := b.Folder()
	if err != nil {
		return err
	}
	create, keys, names, err := b.schema()
	if err != nil {
		return err
	}
	if err := errors.Join(s.CreateDB(b.DB()), s.Exec(b.DB(), create)); err != nil {
		return err
	}
	for _, t := range names {
		if err := s.CopyFile(b.DB(), t, filepath.Join(dir, t+".csv.gz")); err != nil {
			return err
		}
	}
	return errors.Join(s.Exec(b.DB(), keys), s.GrantReader(b.DB()))
}

// DuckDB is a file with the tables and their keys, kept in the cache.
func (b Bench) DuckDB() (string, error) {
	dir, err := cache()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, b.DB()+"_all.duckdb")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	part, err := os.MkdirTemp(dir, ".duck-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(part) }()
	file := filepath.Join(part, "db")
	if err := b.fill(file); err != nil {
		return "", err
	}
	return path, os.Rename(file, path)
}

func (b Bench) fill(file string) error {
	dir, err := b.Folder()
	if err != nil {
		return err
	}
	create, keys, names, err := b.schema()
	if err != nil {
		return err
	}
	var copies []string
	for _, t := range names {
		copies = append(copies, fmt.Sprintf("COPY %s FROM '%s' (FORMAT csv, HEADER, allow_quoted_nulls false)", t, filepath.Join(dir, t+".csv.gz")))
	}
	return build(file, create, copies, keys)
}

// build makes a file of tables, what is run between, and primary keys.
func build(file, create string, between []string, keys string) (err error) {
	db, err := sql.Open("duckdb", file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	statements := append([]string{create}, between...)
	// Foreign keys are left out: DuckDB would check each row, and nothing is asked of them there.
	for _, k := range strings.Split(keys, "ALTER TABLE ") {
		table, primary, found := strings.Cut(strings.TrimSpace(k), " ADD PRIMARY KEY ")
		if found {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY %s)", table, primary[:strings.Index(primary, ")")]))
		}
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return nil
}
