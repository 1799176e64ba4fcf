package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The first lines of an others file: the table and column of the person, the SQL that leads from a row to them, and the look-up tables that are public.
var (
	otherUnit   = regexp.MustCompile(`(?m)^-- unit: (\S+\.\S+)$`)
	otherPath   = regexp.MustCompile(`(?m)^-- path: (.+)$`)
	otherPublic = regexp.MustCompile(`(?m)^-- public: (\S+)$`)
)

// others are the schemas of a folder: NAME.sql makes one and begins with "-- unit: table.column", "-- path: SQL" and lines "-- public: table"; NAME.statements.sql lists its statements as ours are listed.
func others(dir string) (out []*schema, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.statements.sql"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		statements, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		made, err := os.ReadFile(strings.TrimSuffix(file, ".statements.sql") + ".sql")
		if err != nil {
			return nil, err
		}
		unit, path := otherUnit.FindSubmatch(made), otherPath.FindSubmatch(made)
		if unit == nil || path == nil {
			return nil, fmt.Errorf("%s: its schema has no line \"-- unit: table.column\" or no line \"-- path: SQL\"", file)
		}
		s := &schema{name: strings.TrimSuffix(filepath.Base(file), ".statements.sql"), unit: string(unit[1]), path: string(path[1]), statements: string(statements), load: func(b *bench, db string) error {
			if err := b.pg.CreateDB(db); err != nil {
				return err
			}
			if err := b.pg.Exec(db, string(made)); err != nil {
				return err
			}
			return b.pg.GrantReader(db)
		}}
		for _, m := range otherPublic.FindAllSubmatch(made, -1) {
			s.edits = append(s.edits, public(string(m[1])))
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		err = fmt.Errorf("%s has no *.statements.sql", dir)
	}
	return out, err
}
