package ledger

import (
	"fmt"
	"path/filepath"
)

// Place is where a ledger is kept: a file, or a database with this machine's mark.
type Place struct {
	SQLite   string
	Postgres Server
}

// String is for people, without a password, and the same for one place.
func (p Place) String() string {
	if p.SQLite == "" {
		s, err := newServer(p.Postgres)
		if err != nil {
			return "PostgreSQL"
		}
		return fmt.Sprintf("PostgreSQL %s:%d/%s, schema %s", s.config.Host, s.config.Port, s.config.Database, s.schema)
	}
	abs, err := filepath.Abs(p.SQLite)
	if err != nil {
		return p.SQLite
	}
	return "file " + abs
}

// mark is the path beside which the place's mark lies.
func (p Place) mark() string {
	if p.SQLite != "" {
		return p.SQLite
	}
	return p.Postgres.Path
}

// spools are those of a place.
func (p Place) spools() (spools, error) {
	if p.SQLite == "" {
		s, err := newServer(p.Postgres)
		if err != nil {
			return nil, err
		}
		return s.spoolTable(), nil
	}
	abs, err := filepath.Abs(p.SQLite)
	return spoolsBeside(abs, nil), err
}
