package sensitivity

import (
	"context"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// linker finds the unit of a body's rows, and how many rows of one unit it has.
type linker struct {
	*intervals

	input    plan.Rel                    // Agg's, with scans in place of what derive made
	around   []plan.Rel                  // the relations whose rows a subquery stands in, from the outermost on
	beside   []equality                  // of a subquery's columns with those that they are compared with
	added    []*equality                 // unit equalities to put into joins
	numbered map[*plan.Scan][]plan.ColID // columns of derived tables that number each unit's rows from 1
	several  bool                        // rows are of several units, which is allowed
	lacks    *missing                    // what was refused for, where conditions on the unit would mend it
	kinds    []*linker                   // of rows of two units: for each of the kinds

	single bool      // keys say that a unit has one row at most
	noRows *scanInfo // a table whose rows of one unit are bounded automatically
	fanned *scanInfo // a public table that multiplies a unit's rows

	personsOnly bool // rows without a person are dropped, whatever the policy says

	// Of the whole statement:
	linked map[*plan.Subquery]bool // those that may be printed
	lost   map[plan.ColID]bool     // columns whose NULL drops a row, for want of a unit; true: by the policy
}

func newLinker(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts Options) *linker {
	return &linker{intervals: newIntervals(newScope(ctx, q, agg, opts)), numbered: map[*plan.Scan][]plan.ColID{}, linked: map[*plan.Subquery]bool{}, lost: map[plan.ColID]bool{}}
}
