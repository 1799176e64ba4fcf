package sensitivity

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// analyzer holds one statement's way through the conditions.
type analyzer struct {
	ctx  context.Context
	opts Options
	out  *Analysis

	aggs   []plan.AggItem          // Agg's, with columns in place of subqueries
	around []plan.Rel              // the relations whose rows a subquery stands in, from the outermost on
	input  plan.Rel                // Agg's, with scans in place of what derive made
	linked map[*plan.Subquery]bool // those that may be printed, of the whole statement
	beside []equality              // of a subquery's rows, with what they are compared with
	scans  []*scanInfo             // all scans of the body, in order of appearance
	blocks []*block                // blocks[0] is the root
	owner  map[plan.ColID]*scanInfo
	defs   map[plan.ColID]definition

	joined   map[*scanInfo]int            // the source of a public scan
	literals map[*scanInfo]*literalSource // the source of a scan of constants
	padded   map[int]bool                 // sources whose rows padding adds NULL to

	numbered map[*plan.Scan][]plan.ColID  // their columns that number each unit's rows from 1
	merged   map[[2]plan.ColID]plan.ColID // the unit's columns of a FULL JOIN's sides: its own

	whole     bool                        // it is the statement's body
	ownerless []*plan.Join                // public LEFT JOIN private, read as inner joins
	alike     map[*plan.Scan][]plan.ColID // their further columns that have the unit's value in every row

	units       map[plan.ColID]plan.Scalar // of the whole statement: computed units (rowunits.go), by the columns that name them; of a column that holds one, itself
	lost        map[plan.ColID]bool        // of the whole statement: columns whose NULL drops a row, for want of a unit; true: by the policy
	personsOnly bool                       // rows without a person are dropped, whatever the policy says

	added  []*equality // unit equalities to put into joins
	ranges map[plan.ColID]bound

	byType     bool // columns without a declared range have their type's (safe)
	typeRanges map[plan.ColID]bound
	calls      map[rangedCall]bound
	plain      map[plan.ColID]bool
	notNull    map[plan.ColID]bool
	nulls      map[readColumn]bool
	noRows     *scanInfo // a table whose rows of one unit are bounded automatically
	single     bool      // keys say that a unit has one row at most
	fanned     *scanInfo // a public table that multiplies a unit's rows

	listedValues map[plan.ColID][]sqltype.Value // the public values of columns of which conditions leave some out

	lacks   *missing // what was refused for, where conditions on the unit would mend it
	several bool     // rows are of several units, which is allowed
	smooth  *Choice  // of the rows that one unit changes (Joined); nil: steady
	steady  uint64   // that number, where nothing has to be measured

	kinds   []*analyzer     // of rows of two units: for each of the kinds
	moments map[string]bool // the values, as averageText has them, of which a statistic needs the sum about the middle

	places map[measureKey]int // the places of Analysis.Measures, until they are sorted
}

func newAnalyzer(ctx context.Context, q *plan.Query, agg *plan.Aggregate, opts Options) *analyzer {
	own := *q // paths add columns; the caller's plan stays as it is
	own.Columns = append([]plan.ColumnInfo(nil), q.Columns...)
	return &analyzer{ctx: ctx, opts: opts, out: &Analysis{Class: Private, Query: &own, Agg: agg, People: -1, MinPeople: opts.MinPeople},
		owner: map[plan.ColID]*scanInfo{}, defs: map[plan.ColID]definition{}, ranges: map[plan.ColID]bound{}, typeRanges: map[plan.ColID]bound{},
		joined: map[*scanInfo]int{}, literals: map[*scanInfo]*literalSource{}, padded: map[int]bool{}, linked: map[*plan.Subquery]bool{}, numbered: map[*plan.Scan][]plan.ColID{}, merged: map[[2]plan.ColID]plan.ColID{}, alike: map[*plan.Scan][]plan.ColID{}, units: map[plan.ColID]plan.Scalar{}, lost: map[plan.ColID]bool{}, places: map[measureKey]int{}}
}

// warn notes what an analyst should know of the answer. It follows from the statement and the policy.
func (z *analyzer) warn(list ...string) {
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
