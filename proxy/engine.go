package proxy

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Engine is what the proxy needs of the room below: one data set and its analysts. It is used by many sessions at once.
type Engine interface {
	// Database is the data set's name; a client that asks for another gets 3D000.
	Database() string
	// Verifier is an analyst's stored "SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey".
	Verifier(user string) (stored string, ok bool)
	// Open begins the session of an analyst who has proved who they are. application is the client's application_name.
	Open(user, application string) (Session, error)
}

// Session is one analyst's connection. It is used by one goroutine.
type Session interface {
	// Prepare binds a *pgsyntax.Select or *pgsyntax.Explain. params are the types that the client gave, 0 where it gave none.
	// It spends nothing.
	Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (Prepared, error)
	// Use says how the literals of what follows are read, and in which time zone it means what it says.
	Use(sqltype.Settings)
	// UseParameters gives it the settings that are not dpsql's: statements may read and set them, too.
	UseParameters(pgmeta.Parameters)
	// UseIntervals puts answer.Intervals behind the columns of each row, and answer.Part behind a line of EXPLAIN.
	UseIntervals()
	// UseProgress says where word of a long statement's progress goes while it runs.
	UseProgress(tell func(text string))
	// Set, ResetAll and Show serve the settings called dpsql.*; Show's ok is false for a name that does not exist.
	Set(name string, values []string) error
	ResetAll()
	Show(name string) (value string, ok bool, err error)
	// Settings are those settings for SHOW ALL.
	Settings() []session.Setting
	// Snapshot keeps the settings and Restore puts them back: ROLLBACK's part.
	Snapshot() any
	Restore(any)
	Close()
}

// Prepared is a statement whose types are known and of which nothing was run.
type Prepared interface {
	Params() []sqltype.Type
	Columns() []answer.Column
	// Size is about the bytes of memory that it holds.
	Size() int
	// Run charges and answers. It is called once for each portal.
	Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error)
}
