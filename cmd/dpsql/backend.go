package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/policy"
)

// openBackend opens the database that the policy names: one line a kind of backend.
func openBackend(ctx context.Context, p *policy.Policy) (backend.Backend, error) {
	switch {
	case p.Backend.Postgres != "":
		return opened(postgres.Open(ctx, p.Backend.Postgres, postgres.Options{Settings: p.Backend.Settings, PoolSize: int(p.Limits.BackendConnections)}))
	case p.Backend.DuckDB != "":
		return opened(duckdb.Open(ctx, p.Backend.DuckDB, duckdb.Options{}))
	case p.Backend.Files != "":
		return openFiles(ctx, p)
	}
	return nil, fmt.Errorf("the policy names no backend")
}

func openFiles(ctx context.Context, p *policy.Policy) (backend.Backend, error) {
	declared, err := p.FileTables()
	if err != nil {
		return nil, err
	}
	var tables []duckdb.FileTable
	for _, d := range declared {
		t := duckdb.FileTable{Name: d.Name, File: d.File, Keys: d.Keys}
		for _, c := range d.Columns {
			t.Columns = append(t.Columns, duckdb.FileColumn(c))
		}
		tables = append(tables, t)
	}
	return opened(duckdb.OpenFiles(ctx, p.Backend.Files, tables, duckdb.Options{}))
}

// opened keeps a backend that was not opened from looking like one: a nil pointer in an interface is not nil.
func opened[B backend.Backend](b B, err error) (backend.Backend, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// relations are the policy's tables as a backend names them.
func relations(p *policy.Policy) (out []backend.RelationName) {
	for _, n := range p.Relations() {
		out = append(out, backend.RelationName(n))
	}
	return out
}

// listed are those tables with what is read of each.
func listed(p *policy.Policy) (out []backend.Listed) {
	for _, l := range p.Listed() {
		out = append(out, backend.Listed{RelationName: backend.RelationName(l.RelationName), Columns: l.Columns})
	}
	return out
}

// configFlag is the policy's file, which most commands need.
func configFlag(c *cobra.Command, to *string) {
	c.Flags().StringVarP(to, "config", "c", "", "the policy file (required)")
	_ = c.MarkFlagRequired("config")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

func closing(log *slog.Logger, what string, f func() error) {
	if err := f(); err != nil {
		log.Error("closing", "what", what, "error", err.Error())
	}
}
