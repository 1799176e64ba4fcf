package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity"
)

// analyzable refuses EXPLAIN ANALYZE of anything but public tables: how many private rows a statement reads, and how long it takes, is released by nothing.
func (p *Prepared) analyzable() error {
	if p.meta == nil && (p.preview != "" || p.an.Class != sensitivity.Public) {
		return sqlerr.New(sqlerr.Unsupported, "EXPLAIN ANALYZE reads public tables only: rows and times of private ones are not shown").At(int(p.explain.Pos)).
			WithHint("Use EXPLAIN without ANALYZE: it shows the price and the expected error.")
	}
	return nil
}

// ran is what ANALYZE adds: the statement's rows, which nobody owns, and how long they took.
func (p *Prepared) ran(ctx context.Context, args []sqltype.Value, rep *report) error {
	if err := p.analyzable(); err != nil {
		return err
	}
	whole, start := *p, time.Now()
	whole.explain = nil
	a, err := whole.answer(ctx, args)
	if err != nil {
		return err
	}
	rows, err := a.All(ctx)
	if err != nil {
		return err
	}
	took := float64(time.Since(start).Microseconds()) / 1000
	if rep.Brief != nil {
		rep.Brief = append(rep.Brief, fmt.Sprintf("Actual rows: %d", len(rows)), fmt.Sprintf("Execution time: %.3f ms", took))
	}
	rep.All = append(rep.All, explainLine{fmt.Sprintf("Actual rows: %d", len(rows)), "Actual Rows", len(rows), false},
		explainLine{fmt.Sprintf("Execution time: %.3f ms", took), "Execution Time", took, false})
	return nil
}
