package sensitivity

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// scope holds what a body of the statement is made of: its scans, the blocks in which conditions hold, and its computed columns. The passes
// that come after embed it, each the one before: intervals, linker, grouper, measurer, analyzer.
type scope struct {
	ctx  context.Context
	opts Options
	out  *Analysis

	aggs   []plan.AggItem // Agg's, with columns in place of subqueries
	scans  []*scanInfo    // all scans of the body, in order of appearance
	blocks []*block       // blocks[0] is the root
	owner  map[plan.ColID]*scanInfo
	defs   map[plan.ColID]definition

	whole     bool                        // it is the statement's body
	ownerless []*plan.Join                // public LEFT JOIN private, read as inner joins
	alike     map[*plan.Scan][]plan.ColID // columns of derived tables that have the unit's value in every row, beside the unit's own

	// Of the whole statement:
	merged map[[2]plan.ColID]plan.ColID // the unit's columns of a FULL JOIN's sides: its own
	units  map[plan.ColID]plan.Scalar   // computed units by the columns that name them; of a column that holds one, itself
}

func newScope(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts Options) *scope {
	own := *q // paths add columns; the caller's plan stays as it is
	own.Columns = append([]plan.ColumnInfo(nil), q.Columns...)
	return &scope{ctx: ctx, opts: opts, out: &Analysis{Class: Private, Query: &own, Agg: agg, People: -1, MinPeople: opts.MinPeople},
		owner: map[plan.ColID]*scanInfo{}, defs: map[plan.ColID]definition{}, alike: map[*plan.Scan][]plan.ColID{},
		merged: map[[2]plan.ColID]plan.ColID{}, units: map[plan.ColID]plan.Scalar{}}
}

// warn notes what an analyst should know of the answer. It follows from the statement and the policy.
func (z *scope) warn(list ...string) {
	for _, w := range list {
		if !slices.Contains(z.out.Warnings, w) {
			z.out.Warnings = append(z.out.Warnings, w)
		}
	}
}

// hidden is the way from a scan to its unit along tables that the statement does not name.
type hidden struct {
	scans []*plan.Scan
	on    []plan.Scalar   // one a scan: its join with what stands before
	kinds []plan.JoinKind // LEFT where the row before is a unit of its own if it leads nowhere
	unit  plan.ColID
}

// maxPath limits declared chains; a policy has no cycle, and this is not the place to find one.
const maxPath = 32
