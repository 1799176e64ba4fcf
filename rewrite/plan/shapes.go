package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Values is VALUES: rows of expressions, which may read columns of queries around.
type Values struct {
	Rows    [][]Scalar
	Columns []ColID
	Pos     int
}

// SetOp is UNION, INTERSECT or EXCEPT. Column i is made of column i of either side, which have its type.
type SetOp struct {
	Op                  pgsyntax.SetOp
	All                 bool
	Left, Right         Rel
	LeftCols, RightCols []ColID
	Columns             []ColID
	Pos                 int
}

// DistinctOn keeps the first row of each group of rows that agree in On, in the order of its input.
type DistinctOn struct {
	Input Rel
	On    []ColID
	Pos   int
}

// Window computes window functions over the rows of its input.
type Window struct {
	Input Rel
	Items []WindowItem
}

// WindowItem is one call with OVER. Canonically equal calls share one item.
type WindowItem struct {
	ID        ColID
	Fn        AggFunc // of an aggregate or a window function; CountRows for count(*)
	Args      []Scalar
	Filter    Scalar // nil for none
	Partition []Scalar
	Order     []AggOrder
	Frame     *Frame // nil: PostgreSQL's default
	Type      sqltype.Type
	Pos       int
}

// Frame is the frame of a window.
type Frame struct {
	Mode       string // ROWS, RANGE or GROUPS
	Start, End FrameEnd
	Exclude    string // CURRENT ROW, GROUP, TIES; "" for none
}

// FrameEnd is where a frame starts or ends; Kind is pgsyntax.FrameBound's.
type FrameEnd struct {
	Kind   string
	Offset Scalar
}

// Subquery is a query in an expression. It may read columns of the queries around it (Free).
type Subquery struct {
	Kind  SubqueryKind
	Query Rel
	Cols  []ColID // its columns
	Left  []Item  // of ANY and ALL: what is compared with its rows
	Cond  Scalar  // of ANY and ALL: over Left's ids and Cols
	T     sqltype.Type
	Pos   int
}

// SubqueryKind says what a subquery stands for.
type SubqueryKind string

// The subqueries. x IN (q) is = ANY, x NOT IN (q) the NOT of it.
const (
	ScalarQuery SubqueryKind = "scalar" // its only value, NULL without rows
	ExistsQuery SubqueryKind = "EXISTS"
	ArrayQuery  SubqueryKind = "ARRAY"
	AnyQuery    SubqueryKind = "ANY" // Cond is true for some row
	AllQuery    SubqueryKind = "ALL" // Cond is true for all rows
)

func (*Values) rel()      {}
func (*SetOp) rel()       {}
func (*DistinctOn) rel()  {}
func (*Window) rel()      {}
func (*Subquery) scalar() {}

// Cols are its own.
func (r *Values) Cols() []ColID { return r.Columns }

// Cols are its own.
func (r *SetOp) Cols() []ColID { return r.Columns }

// Cols are the input's.
func (r *DistinctOn) Cols() []ColID { return r.Input.Cols() }

// Cols are the input's, then the items'.
func (r *Window) Cols() []ColID {
	in := r.Input.Cols()
	out := append(make([]ColID, 0, len(in)+len(r.Items)), in...)
	for _, it := range r.Items {
		out = append(out, it.ID)
	}
	return out
}

// Type is that of its only column, of an array of it, or boolean.
func (x *Subquery) Type() sqltype.Type { return x.T }
