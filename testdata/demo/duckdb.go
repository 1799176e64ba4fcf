package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LoadDuckDB makes the tables and fills them over a connection to a DuckDB that may still read files. The embedded files pass
// through a temporary folder, since DuckDB's own CSV reader is several times as fast as appending rows.
func LoadDuckDB(ctx context.Context, conn *sql.Conn) (err error) {
	dir, err := os.MkdirTemp("", "dpsql-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, t := range Tables {
		packed, err := FS.ReadFile(t.File())
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		path := filepath.Join(dir, t.File())
		if err := os.WriteFile(path, packed, 0o600); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		for _, statement := range []string{t.DDL(), t.readCSV(path)} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("demo: %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

func (t Table) readCSV(path string) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = fmt.Sprintf("'%s': '%s'", c.Name, c.Type)
	}
	return fmt.Sprintf(`INSERT INTO %q SELECT * FROM read_csv('%s', header = true, auto_detect = false, delim = ',', quote = '"',
		escape = '"', nullstr = '', columns = {%s})`, t.Name, strings.ReplaceAll(path, "'", "''"), strings.Join(columns, ", "))
}
