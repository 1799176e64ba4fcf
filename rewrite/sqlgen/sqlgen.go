package sqlgen

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Statement is one printed statement.
type Statement struct {
	SQL     string
	Args    []Arg
	Columns []Column
	// Readings are of a training's features, by their place: how one is read that comes as it is stored; nil: it comes as a whole number of steps, or NULL.
	Readings []*Reading
	Gaps     []Gap // what its total forms leave out, each once, by the statement's text alone
}

// Gap is what a function, operator or cast of a statement leaves out.
type Gap struct {
	Of string // the call, as errors name it
	funcs.Gap
}

// Arg is the value of $i: a constant of the plan (Value), or the statement's own parameter $Param where Param > 0.
type Arg struct {
	Type  sqltype.Type
	Value sqltype.Value
	Param int
}

// Column says what a returned column is. Type is what the backend sends: totals are bigint or numeric without fraction, NULL
// for nobody; keys are in canonical form.
type Column struct {
	Role  Role
	Index int // key, measure or output i; 0 for the others
	Type  sqltype.Type
}

// Role is the meaning of a column.
type Role string

// The roles.
const (
	RoleKey     Role = "key"
	RoleUnits   Role = "units" // number of units in the group, exact: for the selection of groups and nothing else
	RoleMeasure Role = "measure"
	RoleUnit    Role = "unit" // a number of the unit, of a training's rows; of pairs that of kind i
	RoleOutput  Role = "output"
	RoleValue   Role = "value" // one of a pick's candidates
	// RoleFrequency: how often, at most, one value of a key occurs: a.Joined.Frequencies[Index]
	RoleFrequency Role = "frequency"

	// Of statements with automatic bounds, whose rows are of several parts (PartTotals).
	RolePart   Role = "part"
	RoleRank   Role = "rank"   // bucket of the group's rank among its unit's groups
	RoleBucket Role = "bucket" // of the partial's magnitude
	RoleCount  Role = "count"  // of partials, or of units
	RoleSigned Role = "signed" // positive partials less negative ones
	RoleSum    Role = "sum"    // of partials
	RoleLost   Role = "lost"   // what bounds take from measures, in the order of Lost
)

// limits of a printed statement.
const (
	maxText  = 4 << 20     // bytes; nested derived columns multiply
	mostHeld = 4 * maxText // while it is printed: parts that are read twice are printed twice
	mostMade = 1 << 30     // each expression is part of the longer ones around it
	maxArgs  = 60_000      // PostgreSQL's protocol ends at 65,535
)

func tooComplex() error {
	return sqlerr.New(sqlerr.TooComplex, "the statement is too long for the database once it is written out").
		WithHint("Use shorter lists and fewer expressions over those of subqueries.")
}

func internalError(format string, args ...any) error {
	return sqlerr.New(sqlerr.Internal, format, args...)
}
