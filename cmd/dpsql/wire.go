package main

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// wire is an engine as the proxy wants to see it: the same methods, with the proxy's interfaces as results.
type wire struct{ *server.Engine }

// Open begins a session.
func (w wire) Open(user, application string) (proxy.Session, error) {
	s, err := session.NewSession(w.Engine, user, application)
	if err != nil {
		return nil, err
	}
	return wireSession{s}, nil
}

type wireSession struct{ *session.Session }

// Prepare binds a statement.
func (w wireSession) Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (proxy.Prepared, error) {
	p, err := engine.Prepare(ctx, w.Session, st, params)
	if err != nil {
		return nil, err
	}
	return p, nil
}
