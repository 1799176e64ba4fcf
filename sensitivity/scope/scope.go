package scope

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Scope holds what a body of the statement is made of: its scans, the blocks in which conditions hold, and its computed columns. The passes
// that come after embed it, each the one before: interval.Intervals, unit.Linker, groups.Grouper, claims.Measurer.
type Scope struct {
	Ctx  context.Context
	Opts sensitivity.Options
	Out  *sensitivity.Analysis

	Aggs   []plan.AggItem // Agg's, with columns in place of subqueries
	Scans  []*ScanInfo    // all scans of the body, in order of appearance
	Blocks []*Block       // Blocks[0] is the root
	Owner  map[plan.ColID]*ScanInfo
	Defs   map[plan.ColID]Definition

	Whole     bool                        // it is the statement's body
	Ownerless []*plan.Join                // public LEFT JOIN private, read as inner joins
	Alike     map[*plan.Scan][]plan.ColID // columns of derived tables that have the unit's value in every row, beside the unit's own

	// Of the whole statement:
	Merged map[[2]plan.ColID]plan.ColID // the unit's columns of a FULL JOIN's sides: its own
	Units  map[plan.ColID]plan.Scalar   // computed units by the columns that name them; of a column that holds one, itself
}

// NewScope is the first pass over an aggregate of a query.
func NewScope(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts sensitivity.Options) *Scope {
	own := *q // paths add columns; the caller's plan stays as it is
	own.Columns = append([]plan.ColumnInfo(nil), q.Columns...)
	return &Scope{Ctx: ctx, Opts: opts, Out: &sensitivity.Analysis{Query: &own, Agg: agg, People: -1, MinPeople: opts.MinPeople},
		Owner: map[plan.ColID]*ScanInfo{}, Defs: map[plan.ColID]Definition{}, Alike: map[*plan.Scan][]plan.ColID{},
		Merged: map[[2]plan.ColID]plan.ColID{}, Units: map[plan.ColID]plan.Scalar{}}
}

// Warn notes what an analyst should know of the answer. It follows from the statement and the policy.
func (z *Scope) Warn(list ...string) {
	for _, w := range list {
		if !slices.Contains(z.Out.Warnings, w) {
			z.Out.Warnings = append(z.Out.Warnings, w)
		}
	}
}

// FromText is the body as messages have it in FROM: its table, or ... of several.
func (z *Scope) FromText() string {
	if len(z.Scans) == 1 && len(z.Scans[0].Scan.Table.Columns) > 0 && z.Scans[0].Scan.Rows == nil {
		return z.Scans[0].Scan.Table.Spelled()
	}
	return "..."
}

// Hidden is the way from a scan to its unit along tables that the statement does not name.
type Hidden struct {
	Scans []*plan.Scan
	On    []plan.Scalar   // one a scan: its join with what stands before
	Kinds []plan.JoinKind // LEFT where the row before is a unit of its own if it leads nowhere
	Unit  plan.ColID
}

// MaxPath limits declared chains; a policy has no cycle, and this is not the place to find one.
const MaxPath = 32
