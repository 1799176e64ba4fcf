package pgmeta

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Parameters are the settings of a session, as SHOW has them, and the number by which it is cancelled.
type Parameters interface {
	Parameter(name string) (string, error) // what SHOW says
	AllParameters() []Parameter
	SetParameter(name, value string, local bool) error
	BackendPID() uint32
	PreparedStatements() []Prepared
	Cursors() []Cursor
	Connection() Connection
}

// Parameter is a row of pg_settings: numbers are in the setting's unit.
type Parameter struct {
	Name, Value, Unit, Category, Description, Extra, Context, Kind, Source, Least, Most, Boot, Reset string

	Values []string // of an enumeration
}

// Prepared is a prepared statement of the session.
type Prepared struct {
	Name, Text string
	Made       time.Time
	Params     []sqltype.OID
	SQL        bool // by PREPARE
}

// Cursor is a portal of the session.
type Cursor struct {
	Name, Text           string
	Hold, Binary, Scroll bool
	Made                 time.Time
}

// Connection is what pg_stat_activity and pg_stat_ssl tell of the one who asks: the only connection that is shown.
type Connection struct {
	Address    string // "" of a socket that has none
	Port       int
	Began      time.Time
	QueryStart time.Time // when the statement came
	Query      string

	Transaction time.Time            // when it began
	TLS         *tls.ConnectionState // nil without
}

// Session is the catalog as one session's statements use it: it implements plan.Meta.
type Session struct {
	*Database
	Values     sqltype.Settings
	Parameters Parameters // nil: there are none

	ctx     context.Context // of the statement that runs
	schemas []string        // Path
}

// pid is the number by which the session is cancelled.
func (s *Session) pid() int64 {
	if s.Parameters == nil {
		return 0
	}
	return int64(s.Parameters.BackendPID())
}

func (s *Session) connection() Connection {
	if s.Parameters == nil {
		return Connection{}
	}
	return s.Parameters.Connection()
}

func (s *Session) parameter(name string) (sqltype.Value, error) {
	if s.Parameters == nil {
		return nil, sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
	}
	v, err := s.Parameters.Parameter(name)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *Session) rowsOf(table string) [][]sqltype.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked(pgCatalog + "." + table)
}

// attributesOf are a relation's rows of pg_attribute.
func (s *Session) attributesOf(rel int64) [][]sqltype.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attributes == nil {
		s.attributes = map[int64][][]sqltype.Value{}
		for _, row := range s.locked(pgCatalog + ".pg_attribute") {
			s.attributes[row[0].(int64)] = append(s.attributes[row[0].(int64)], row)
		}
	}
	return s.attributes[rel]
}

func attNum() int { return builtin()[pgCatalog+".pg_attribute"].place("attnum") }

// attribute is the name of a relation's column.
func (s *Session) attribute(rel, n int64) string {
	for _, row := range s.attributesOf(rel) {
		if row[attNum()] == n {
			return text("pg_attribute", row, "attname")
		}
	}
	return "?column?"
}

// hasAttribute: a relation has a column of this number.
func (s *Session) hasAttribute(rel, n int64) bool {
	return slices.ContainsFunc(s.attributesOf(rel), func(row []sqltype.Value) bool { return row[attNum()] == n })
}
