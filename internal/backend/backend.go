// Package backend is the contract between the engine and the database that holds the people: sql text printed from a plan
// in, secret rows out. What a backend says in words never leaves it but as an error whose text is for the log.
package backend

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// Backend is one open database.
type Backend interface {
	// Dialect is how SQL is written for it.
	Dialect() dialect.Dialect
	// Describe reads the schema of the named relations ("schema"."table"; empty schema = the default one). A missing
	// relation is left out of the answer.
	Describe(ctx context.Context, names []RelationName) ([]sqltype.Relation, error)
	// Begin opens the one read-only snapshot in which a statement's reads happen (REPEATABLE READ READ ONLY on PostgreSQL).
	Begin(ctx context.Context) (Tx, error)
	Close() error
}

// RelationName names a relation.
type RelationName struct{ Schema, Name string }

// Tx is one snapshot. Close ends it, whatever happened; it may be called twice.
type Tx interface {
	// Query runs one statement. want gives the PostgreSQL type of each returned column: integers wider than 64 bits come as
	// decimal.Decimal (want numeric). args are bound as parameters $1...
	Query(ctx context.Context, sql string, args []Arg, want []sqltype.Type) (secret.Rows, error)
	Close()
}

// Arg is a parameter with its type.
type Arg struct {
	Type  sqltype.Type
	Value sqltype.Value
}

// FailureClass tells the log (and only the log) what sort of failure a backend error was.
type FailureClass string

// The classes.
const (
	FailCanceled    FailureClass = "canceled"
	FailTimeout     FailureClass = "timeout"
	FailUnavailable FailureClass = "unavailable"
	FailResource    FailureClass = "resource"
	FailOther       FailureClass = "other"
)

// Error is a backend's failure. Its text is for the log; it holds the class and SQLSTATE, never values.
type Error struct {
	Class FailureClass
	Code  string // SQLSTATE or the like
	cause error
}

// NewError wraps a failure.
func NewError(c FailureClass, code string, cause error) *Error {
	return &Error{Class: c, Code: code, cause: cause}
}

// Error gives class and code only.
func (e *Error) Error() string { return "backend: " + string(e.Class) + " " + e.Code }

// LogText is Error: it may stand in a log as it is.
func (e *Error) LogText() string { return e.Error() }

// Unwrap gives the cause to whoever handles contexts' errors; it is never printed.
func (e *Error) Unwrap() error { return e.cause }
