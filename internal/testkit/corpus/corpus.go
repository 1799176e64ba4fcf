// Package corpus asks how statements are read: by dpsql's front end and binder, and by PostgreSQL. It takes a folder of .sql files (and
// .jsonl files with a statement in "sql"), and the DDL of the tables that they name, and says of each statement
//
//	same       the parse tree is PostgreSQL's own parser's, and the names and types of the answer and of the parameters are what
//	           a PostgreSQL server describes, and the rows of its print are those of its text; or both refuse the statement with one SQLSTATE
//	refused    dpsql refuses it, by the id of the error
//	different  a bug: dpsql reads something else than PostgreSQL
//
// and how many there are by id. PostgreSQL's parser is given by the caller (internal/testkit/oracle has it): its C code takes minutes to build.
package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// Parser is PostgreSQL's own parser: whether it takes a text, and whether two texts have one tree.
type Parser struct {
	Takes func(text string) error
	Same  func(a, b string) (bool, error)
}

// Corpus is a folder of statements, or one file, with the name of their schema: a .sql file, "demo", "sakila", or a folder of
// testdata/corpus.
type Corpus struct{ Path, Schema string }

// Ours are the folders of testdata/corpus, and what BI tools send where ../shared is; what is not there is named.
func Ours(root string) (out []Corpus, skipped []string, err error) {
	found, err := filepath.Glob(filepath.Join(root, "testdata/corpus/*/schema.sql"))
	if err != nil {
		return nil, nil, err
	}
	for _, f := range found {
		out = append(out, Corpus{filepath.Dir(f), f})
	}
	if bi := filepath.Join(root, "../shared/clients/bi-analytic.jsonl"); exists(bi) {
		out = append(out, Corpus{bi, "demo"})
	} else {
		skipped = append(skipped, bi)
	}
	return out, skipped, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Runner compares over one server. Without a parser only the descriptions are compared.
type Runner struct {
	Server *pgtest.Server
	Root   string // of the repository
	Parser *Parser
	All    bool // print what is the same too
	made   int
}

// Counts is how many statements of a corpus became what.
type Counts struct{ Total, Same, Refused, Different int }

// Run reads a corpus and prints what became of its statements.
func (r *Runner) Run(c Corpus, out io.Writer) (Counts, error) {
	list, err := statements(c.Path)
	if err != nil {
		return Counts{}, err
	}
	r.made++
	w, err := open(r.Server, fmt.Sprintf("corpus%d", r.made), r.Root, c.Schema)
	if err != nil {
		return Counts{}, err
	}
	defer w.close()
	w.parser = r.Parser
	rep := newReport(c.Path, r.All)
	for _, st := range list {
		v, err := w.compare(st)
		if err != nil {
			return Counts{}, fmt.Errorf("%s: %w", st.where, err)
		}
		rep.add(st, v)
	}
	return rep.print(out)
}

// Root is the repository's folder: the nearest above that has a go.mod and a rewrite.
func Root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) && exists(filepath.Join(dir, "rewrite/pgsyntax")) {
			return dir, nil
		}
	}
	return "", errors.Join(err, errors.New("corpus: not in dpsql's repository"))
}
