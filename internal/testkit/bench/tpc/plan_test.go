package tpc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/testkit/bench/tpc"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// BenchmarkPlan reads, binds, analyses, prices and prints each query of TPC-H that is answered, as Parse does, asking nothing: us/query is the median over the queries of each one's median. Public
// groups are read before, once.
func BenchmarkPlan(b *testing.B) {
	ctx := context.Background()
	of := tpc.Bench{Name: "tpch", SF: 0.1}
	queries, err := of.Queries()
	must(b, err)
	w, err := of.OpenDuckDB(ctx)
	must(b, err)
	defer func() { must(b, w.Close()) }()
	plan := func(text string) error {
		st, err := pgsyntax.Parse(text)
		if err != nil {
			return err
		}
		_, err = engine.Prepare(ctx, w.Session, st[0], nil)
		return err
	}
	queries = slices.DeleteFunc(queries, func(q tpc.Query) bool { return plan(q.Text) != nil })
	times := make([][]time.Duration, len(queries))
	for b.Loop() {
		for i, q := range queries {
			begin := time.Now()
			must(b, plan(q.Text))
			times[i] = append(times[i], time.Since(begin))
		}
	}
	medians := make([]time.Duration, len(times))
	for i, of := range times {
		slices.Sort(of)
		medians[i] = of[len(of)/2]
		b.Logf("%s %v", queries[i].Name, medians[i])
	}
	slices.Sort(medians)
	b.ReportMetric(float64(medians[len(medians)/2].Microseconds()), "us/query")
	b.ReportMetric(float64(len(queries)), "queries")
}
