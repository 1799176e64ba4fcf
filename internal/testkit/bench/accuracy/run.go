package main

import (
	"context"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/noise"
)

// result is one question's row. Errors are relative; where a question has groups each answer's error is the mean over its groups.
type result struct {
	q                 *question
	exact             float64 // over all groups
	units             int
	errors            []float64
	clips             [][]float64 // one list a draw
	median, p95, p995 float64
	race              [2][2]float64 // Race-to-the-Top by base: median and 95th percentile; NaN where it is not run
	best              baseline.Fixed
	scanned, rowsRead float64 // seconds, rows of the scan
}

// bases are those of Race-to-the-Top: the paper's and its authors' program's.
var bases = [2]float64{2, 5.5}

// racer is the better of both medians.
func (r *result) racer() float64 { return math.Min(r.race[0][0], r.race[1][0]) }

// ratio is our median error over that of the best fixed bound.
func (r *result) ratio() float64 { return r.median / r.best.Median }

// missed says which of the row's targets are not met.
func (r *result) missed() (out []string) {
	if r.q.target > 0 && r.median > r.q.target {
		out = append(out, "at most "+percent(r.q.target))
	}
	if r.q.factor > 0 && r.ratio() > r.q.factor {
		out = append(out, fmt.Sprintf("%.2gx of the best fixed bound", r.q.factor))
	}
	return out
}

func (b *bench) questions(ctx context.Context) (*report, error) {
	out := &report{draws: b.draws}
	for i := range questions {
		q := &questions[i]
		if !b.only.MatchString(q.id) {
			continue
		}
		if err := b.ready(datasetOf(q.data)); err != nil {
			return nil, err
		}
		r, err := b.question(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.id, err)
		}
		b.say("%s: %s, best fixed %s", q.id, percent(r.median), percent(r.best.Median))
		out.results = append(out.results, r)
	}
	return out, nil
}

func (b *bench) question(ctx context.Context, q *question) (_ *result, err error) {
	parts, err := b.partials(q)
	if err != nil {
		return nil, err
	}
	r := &result{q: q, exact: parts.Total(), units: len(parts.Units)}
	w, err := b.open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.close() }()
	s, err := w.scan(ctx, q.sql)
	if err != nil {
		return nil, err
	}
	r.scanned, r.rowsRead = s.took.Seconds(), float64(len(s.first.rows))
	if err := s.redraw(ctx, b.draws, parts.Groups, r); err != nil {
		return nil, err
	}
	if q.grouped {
		r.best = baseline.BestFixedGroups(parts, q.epsilon, q.delta, 2000, b.random)
	} else {
		r.best = baseline.BestFixed(parts.Values(), q.epsilon)
	}
	for i, base := range bases {
		r.race[i] = [2]float64{math.NaN(), math.NaN()}
		if q.gs > 0 {
			errors := baseline.NewRace(parts.Values(), q.epsilon, q.gs, baseline.Beta, base).Errors(r.exact, 2000, b.random)
			r.race[i] = [2]float64{baseline.Quantile(errors, 0.5), baseline.Quantile(errors, 0.95)}
		}
	}
	return r, nil
}

// redraw draws answers and holds them against the exact totals by group.
func (s *scan) redraw(ctx context.Context, n int, exact map[string]float64, into *result) error {
	src := noise.NewSource()
	for range n {
		d, err := s.draw(ctx, src)
		if err != nil {
			return err
		}
		if len(d.values) < len(exact) {
			return fmt.Errorf("%d groups were answered of %d", len(d.values), len(exact))
		}
		sum := 0.0
		for g, want := range exact {
			got, ok := d.values[g]
			if !ok {
				return fmt.Errorf("no answer came for group %q", g)
			}
			sum += math.Abs(got-want) / math.Abs(want)
		}
		into.errors = append(into.errors, sum/float64(len(exact)))
		into.clips = append(into.clips, d.clips)
	}
	sorted := append([]float64(nil), into.errors...)
	into.median, into.p95, into.p995 = baseline.Quantile(sorted, 0.5), baseline.Quantile(sorted, 0.95), baseline.Quantile(sorted, 0.995)
	return nil
}

// percent is a relative error in %, with three digits.
func percent(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case x >= 1:
		return fmt.Sprintf("%.0f%%", 100*x)
	}
	return fmt.Sprintf("%.3g%%", 100*x)
}
