package plan

import (
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// BindOpen binds with a row for everything that PostgreSQL has: what it gives are PostgreSQL's names and types, or its errors.
func BindOpen(stmt *pgsyntax.Select, cat Catalog, opts BindOptions) (*Query, error) {
	return bindWith(stmt, cat, opts, finder{
		call: func(kind funcs.Kind, name string, actual, _ []sqltype.OID, result sqltype.OID) *funcs.Func {
			return &funcs.Func{Kind: kind, Name: name, Args: actual, Result: result}
		},
		cast: func(source, target sqltype.OID) *funcs.Func {
			return &funcs.Func{Kind: funcs.Cast, Name: "cast", Args: []sqltype.OID{source}, Result: target}
		},
		open: true,
	})
}
