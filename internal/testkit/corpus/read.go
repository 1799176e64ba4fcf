package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// statement is one statement of a corpus and where it stands.
type statement struct{ where, text string }

// statements reads a file, or the files of a folder and of the folders in it.
func statements(path string) ([]statement, error) {
	var files []string
	err := filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if ext := filepath.Ext(p); err == nil && !d.IsDir() && (ext == ".sql" || ext == ".jsonl") && d.Name() != "schema.sql" {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no .sql or .jsonl file in %s", path)
	}
	sort.Strings(files)
	var out []statement
	for _, f := range files {
		read := script
		if filepath.Ext(f) == ".jsonl" {
			read = lines
		}
		list, err := read(f)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// script cuts a file at its semicolons. One that our lexer cannot cut is one statement.
func script(file string) ([]statement, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(b)
	list, err := pgsyntax.Split(text)
	if err != nil {
		return []statement{{filepath.Base(file), text}}, nil //nolint:nilerr // the statement itself is to be refused
	}
	out := make([]statement, len(list))
	for i, st := range list {
		line := 1 + strings.Count(text[:st.Offset], "\n")
		out[i] = statement{fmt.Sprintf("%s:%d", filepath.Base(file), line), st.Text}
	}
	return out, nil
}

// lines reads a file with one JSON object a line.
func lines(file string) (out []statement, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		var d struct{ SQL *string }
		where := fmt.Sprintf("%s:%d", filepath.Base(file), n)
		if err := json.Unmarshal(sc.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if d.SQL == nil {
			return nil, fmt.Errorf("%s: no \"sql\"", where)
		}
		out = append(out, statement{where, *d.SQL})
	}
	return out, sc.Err()
}
