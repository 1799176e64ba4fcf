package stage_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestStageKeys: stages that differ in one value of what they read, or in its place, have different keys, so that neither is answered by the other's release.
func TestStageKeys(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	values, relations := 0, 0
	for _, sql := range reading {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		r := &private.Run{Staged: p.Staged(), PublicRows: map[plan.Rel]*eval.Relation{}}
		if err := r.InOwnSnapshot(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := enginetest.ReleaseAll(t, r); err != nil {
			t.Fatal(err)
		}
		for _, a := range r.StageRuns {
			seen := map[ledger.Hash]string{p.Staged().Key(a.Stage, a.Args, a.Given): "what was read"}
			other := func(what string, args []sqltype.Value, given [][][]sqltype.Value) {
				key := p.Staged().Key(a.Stage, args, given)
				if as, ok := seen[key]; ok {
					t.Errorf("%s: %s and %s have one key", sql, what, as)
				}
				seen[key] = what
			}
			for i := range a.Args {
				for _, v := range unlike(t, a.Args[i]) {
					args := slices.Clone(a.Args)
					args[i] = v
					other(fmt.Sprintf("%v for value %d", v, i), args, a.Given)
					values++
				}
			}
			for i, rows := range a.Given {
				for j, row := range rows {
					for k := range row {
						for _, v := range unlike(t, row[k]) {
							given, changed := slices.Clone(a.Given), slices.Clone(rows)
							changed[j] = slices.Clone(row)
							changed[j][k] = v
							given[i] = changed
							other(fmt.Sprintf("%v for relation %d, row %d, column %d", v, i, j, k), a.Args, given)
						}
					}
				}
				given := slices.Clone(a.Given)
				given[i] = append(slices.Clone(rows), nil)
				other(fmt.Sprintf("relation %d with a row more", i), a.Args, given)
				relations++
			}
		}
	}
	if values < 3 || relations < 3 {
		t.Errorf("only %d values and %d relations were read", values, relations)
	}
}

// unlike are NULL and another value of a value's type.
func unlike(t *testing.T, v sqltype.Value) []sqltype.Value {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		return []sqltype.Value{nil, v + 1}
	case string:
		return []sqltype.Value{nil, v + "1"}
	case decimal.Decimal:
		return []sqltype.Value{nil, v.Add(decimal.New(1, -9))}
	}
	t.Fatalf("no other value than %v", v)
	return nil
}
