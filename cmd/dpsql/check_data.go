package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
)

// otherLedger is what `serve` would say if the charges of the policy's data are in another ledger; nil if they are not.
func otherLedger(ctx context.Context, b backend.Backend, p *policy.Policy) (found, err error) {
	marks, err := server.DataMarks(ctx, b, p)
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		if err := m.CheckPlace(placeOf(p)); errors.Is(err, ledger.ErrOtherLedger) {
			return err, nil
		} else if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// otherPromise is found where the ledger promised another budget than the policy's, or cannot be read. One that a server has which is not to be asked is left to that server.
func otherPromise(ctx context.Context, p *policy.Policy) (found error) {
	wanted, err := server.Head(p, "")
	if err != nil {
		return nil // a mistake of the policy's, which is told
	}
	l, err := openLedger(ctx, p)
	if errors.Is(err, errNothingServed) || errors.Is(err, ledger.ErrInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { found = errors.Join(found, l.Close()) }()
	b, err := l.Budget(ctx)
	at := slices.IndexFunc(b.Datasets, func(d owner.DatasetOf) bool { return d.Dataset == p.Dataset })
	if err != nil || at < 0 {
		return err
	}
	d, kept := b.Datasets[at], *p
	kept.People, kept.Budget = b.People, policy.Budget{Epsilon: d.Epsilon, Delta: d.Delta, Accountant: d.Accountant, Per: d.Per}
	if b.Lifetime.Epsilon != nil {
		kept.Budget.Lifetime = *b.Lifetime.Epsilon
	}
	promised, err := server.Head(&kept, "")
	if err != nil {
		return err
	}
	return promised.Accepts(wanted)
}

// rivals warn of the other policies in the folder that read the same database and unit, and have another ledger.
func rivals(config string, p *policy.Policy) (out []string) {
	self, err := os.Stat(config)
	if err != nil {
		return nil
	}
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(config), pattern)) //nolint:errcheck // the folder may have signs of patterns in its name: then there is nothing to say
		for _, path := range files {
			if info, err := os.Stat(path); err != nil || os.SameFile(self, info) {
				continue
			}
			q, err := policy.Places(path)
			if err != nil || database(q) != database(p) || placeOf(q).String() == placeOf(p).String() {
				continue
			}
			if !slices.ContainsFunc(q.UnitColumns(), func(unit string) bool { return slices.Contains(p.UnitColumns(), unit) }) {
				continue
			}
			out = append(out, fmt.Sprintf("%s reads the same database and unit with another ledger, %s: together they spend the budget twice\n    give both policies the same people and ledger", path, placeOf(q)))
		}
	}
	return out
}

// database is where a policy's data is, as far as its text says.
func database(p *policy.Policy) string {
	if p.Backend.Postgres != "" {
		return ledger.Place{Postgres: ledger.Server{URL: p.Backend.Postgres}}.String()
	}
	path, err := filepath.Abs(p.Backend.DuckDB + p.Backend.Files)
	if err != nil {
		return ""
	}
	return "file " + path
}
