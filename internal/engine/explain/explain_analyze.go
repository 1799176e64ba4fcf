package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/session"
)

// Analyzable refuses EXPLAIN ANALYZE of anything but public tables: how many private rows a statement reads, and how long it takes, is released by nothing.
func (x *Statement) Analyzable(of session.Kind) error {
	switch of.(type) {
	case *catalog.Statement, *session.Public, *catalog.Refused: // the last for what parameters may leave of it
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "EXPLAIN ANALYZE reads public tables only: rows and times of private ones are not shown").At(int(x.Explain.Pos)).
		WithHint("Use EXPLAIN without ANALYZE: it shows the price and the expected error.")
}

// ran is what ANALYZE adds: the statement's rows, which nobody owns, and how long they took.
func (x *Statement) ran(ctx context.Context, of session.Kind, args []sqltype.Value, rep *answer.Report) error {
	if err := x.Analyzable(of); err != nil {
		return err
	}
	start := time.Now()
	a, err := of.Run(ctx, args)
	if err != nil {
		return err
	}
	rows, err := a.All(ctx)
	if err != nil {
		return err
	}
	took := float64(time.Since(start).Microseconds()) / 1000
	if rep.Brief != nil {
		rep.Brief = append(rep.Brief, answer.Note("Actual rows: %d", len(rows)), answer.Note("Execution time: %.3f ms", took))
	}
	rep.All = append(rep.All, answer.Line{Text: fmt.Sprintf("Actual rows: %d", len(rows)), Key: "Actual Rows", Value: len(rows)},
		answer.Line{Text: fmt.Sprintf("Execution time: %.3f ms", took), Key: "Execution Time", Value: took})
	return nil
}
