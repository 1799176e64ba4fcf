package unit

import (
	"context"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// Linker finds the unit of a body's rows, and how many rows of one unit it has.
type Linker struct {
	*interval.Intervals

	Input    plan.Rel                    // Agg's, with scans in place of what derive made
	around   []plan.Rel                  // the relations whose rows a subquery stands in, from the outermost on
	beside   []scope.Equality            // of a subquery's columns with those that they are compared with
	added    []*scope.Equality           // unit equalities to put into joins
	numbered map[*plan.Scan][]plan.ColID // columns of derived tables that number each unit's rows from 1
	Several  bool                        // rows are of several units, which is allowed
	lacks    *missing                    // what was refused for, where conditions on the unit would mend it
	Kinds    []*Linker                   // of rows of two units: for each of the kinds

	Single bool            // keys say that a unit has one row at most
	NoRows *scope.ScanInfo // a table whose rows of one unit are bounded automatically
	fanned *scope.ScanInfo // a public table that multiplies a unit's rows

	PersonsOnly bool // rows without a person are dropped, whatever the policy says

	// Of the whole statement:
	Linked map[*plan.Subquery]bool // those that may be printed
	lost   map[plan.ColID]bool     // columns whose NULL drops a row, for want of a unit; true: by the policy
}

// NewLinker is the pass over a statement's aggregate.
func NewLinker(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts sensitivity.Options) *Linker {
	return &Linker{Intervals: interval.NewIntervals(scope.NewScope(ctx, q, agg, opts)), numbered: map[*plan.Scan][]plan.ColID{}, Linked: map[*plan.Subquery]bool{}, lost: map[plan.ColID]bool{}}
}
