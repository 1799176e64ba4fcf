package server

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/policy"
)

// DataMarks are the files that say which ledger has the charges of the policy's units in the backend's database: beside this machine's mark, and in the policy's
// folder. There are none for a backend that has no name.
func DataMarks(ctx context.Context, b backend.Backend, p *policy.Policy) (out []ledger.DataMark, err error) {
	database, err := databaseName(ctx, b, p)
	if err != nil || database == "" {
		return nil, err
	}
	own, shared := filepath.Dir(p.Ledger.Beside), filepath.Dir(p.Ledger.Shared)
	for _, unit := range p.UnitColumns() {
		name := ledger.DataMarkName(database, unit)
		out = append(out, ledger.DataMark{Path: filepath.Join(own, name), Unit: unit})
		if shared != own {
			out = append(out, ledger.DataMark{Path: filepath.Join(shared, name), Unit: unit, Optional: true})
		}
	}
	return out, nil
}

// databaseName is the same for all policies over one database, whatever address or path they name.
func databaseName(ctx context.Context, b backend.Backend, p *policy.Policy) (string, error) {
	path := p.Backend.DuckDB + p.Backend.Files
	if path == "" {
		if n, ok := b.(backend.Named); ok {
			return n.Name(ctx)
		}
		return "", nil
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if errors.Is(err, fs.ErrNotExist) { // the backend is none of the policy's, as in tests
		return "", nil
	}
	return "file " + full, err
}
