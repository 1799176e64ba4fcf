package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// ColID identifies a column within one statement's plan. Ids start at 1.
type ColID int

// ColumnInfo is what a plan knows of a column id. Table is nil for computed columns.
type ColumnInfo struct {
	Name  string
	Type  sqltype.Type
	Table *Table
	Attr  int // index in Table.Columns

	IsEnd   bool      // an end of an interval
	Error   ErrorKind // it is dp_error, dp_low or dp_high of an expression
	ErrorOf ColID     // the column beside it that is the expression
}

// Query is a bound statement. Root's finishing part (everything above the Aggregate) works on released values.
type Query struct {
	Root    Rel
	Outputs []Output
	Columns []ColumnInfo   // by ColID; entry 0 is unused
	Params  []sqltype.Type // $1 ...
	Zoned   bool           // something in it is computed in the session's time zone
	Clock   bool           // constants of it are the clock's: it is to be bound again when it is run
	Short   []ShortText    // to be checked when the parameters are given
	Pos     int            // of the SELECT in the text
}

// Output is one column of the answer. TableOID and Attr (1-based) are set for plain columns of tables, else 0.
type Output struct {
	Name     string
	Col      ColID
	Type     sqltype.Type
	TableOID uint32
	Attr     int16
	Count    bool // the column is a count: shown without negative values
}

// Rel is a relational node. Cols are its output columns.
type Rel interface {
	Cols() []ColID
	rel()
}

// Scan reads a table; Columns has one id for each of Table.Columns, in order (invisible ones too). An analysis makes scans of
// relations too: Rows, of which Table says what a policy says of tables.
type Scan struct {
	Table   *Table
	Alias   string
	Columns []ColID
	Rows    Rel // nil: the table's own
	Pos     int
}

// OneRow is one row without columns: SELECT without FROM.
type OneRow struct{}

// Filter keeps the rows where Cond is true.
type Filter struct {
	Input Rel
	Cond  Scalar
}

// Project computes columns; an item that is a plain Col with the same id passes a column on.
type Project struct {
	Input Rel
	Items []Item
}

// Item is a computed column.
type Item struct {
	ID   ColID
	Expr Scalar
}

// Join joins two inputs (CROSS is inner without On, RIGHT is a LEFT with sides exchanged). On is nil for none. With Lateral the
// right side may read the left one's columns.
type Join struct {
	Kind        JoinKind
	Left, Right Rel
	On          Scalar
	Lateral     bool
	Pos         int
}

// JoinKind is the kind of a bound join.
type JoinKind string

// The bound joins.
const (
	InnerJoin JoinKind = "inner"
	LeftJoin  JoinKind = "left"
	FullJoin  JoinKind = "full"
)

// Aggregate groups by key columns of its input (expressions are projected below) and computes Aggs. Without Keys there is
// exactly one group. With Sets there is one grouping for each, and a key that a set has not is NULL in its rows. Errors are
// dp_error, dp_low, dp_high of an aggregate: columns of the release.
type Aggregate struct {
	Input     Rel
	Keys      []ColID
	Sets      [][]ColID
	Aggs      []AggItem
	Errors    []ErrorItem
	Groupings []GroupingItem
	Pos       int
}

// AggItem is one aggregate call over the input's columns. Canonically equal calls share one item.
type AggItem struct {
	ID       ColID
	Fn       AggFunc
	Arg      Scalar   // nil for count(*); of an ordered-set aggregate what it is told (percentile_cont's fraction), nil for none
	More     []Scalar // further arguments
	Distinct bool
	Order    []AggOrder // ORDER BY in the call, or WITHIN GROUP
	Within   bool       // Order is WITHIN GROUP's
	Filter   Scalar     // nil for none: only rows for which it is true are aggregated
	Type     sqltype.Type
	Pos      int
}

// OfUnit refuses an aggregate that is not computed within a person's rows.
func (a AggItem) OfUnit() error {
	if a.Fn.Facts().IsOfUnit && len(a.More) == 0 && !a.Within {
		return nil
	}
	var names []string
	for fn, facts := range Aggregates {
		if facts.IsOfUnit && fn != CountRows && fn != "every" {
			names = append(names, string(fn))
		}
	}
	slices.Sort(names)
	last := len(names) - 1
	return sqlerr.New(sqlerr.PrivateFunction, "the aggregate %s within a person's rows is not supported", a.Fn).At(a.Pos).
		WithHint("Within a person's rows there are %s and %s.", strings.Join(names[:last], ", "), names[last])
}

// AggOrder is one key of an aggregate's order.
type AggOrder struct {
	Expr             Scalar
	Desc, NullsFirst bool
}

// ErrorItem is a statement about the noise in the aggregate Of. Its interval holds at once with those of Joint - 1 others with 95%; 0 and 1: it stands alone.
// Total says that it is summed over groups: it is NULL where some groups may not be shown. Some: it is NULL where noise does not tell the aggregate's rows from none.
type ErrorItem struct {
	ID    ColID
	Kind  ErrorKind
	Of    ColID
	Joint int
	Total bool
	Some  bool
	// Of NoiseBelow to LostAbove, the aggregates whose noise is added to its own.
	Beside Beside
}

// ErrorKind is one of dp_error, dp_low, dp_high.
type ErrorKind string

// The error functions: double precision, see design section 9.
const (
	ErrorHalfWidth ErrorKind = "dp_error"
	ErrorLow       ErrorKind = "dp_low"
	ErrorHigh      ErrorKind = "dp_high"
)

// Distinct keeps one of equal rows over all of its input's columns.
type Distinct struct{ Input Rel }

// Sort orders rows; text sorts by bytes (C).
type Sort struct {
	Input Rel
	Keys  []SortKey
}

// SortKey is one key: a column of the input.
type SortKey struct {
	Col        ColID
	Desc       bool
	NullsFirst bool
	SaysNulls  bool // NULLS FIRST or LAST is written
}

// Limit keeps Count rows after Offset; either may be nil. They read no columns. With Ties the rows that the Sort below holds
// equal to the last one are kept too.
type Limit struct {
	Input         Rel
	Count, Offset Scalar
	Ties          bool
}

func (*Scan) rel()      {}
func (*OneRow) rel()    {}
func (*Filter) rel()    {}
func (*Project) rel()   {}
func (*Join) rel()      {}
func (*Aggregate) rel() {}
func (*Distinct) rel()  {}
func (*Sort) rel()      {}
func (*Limit) rel()     {}
func (*Unplanned) rel() {}

// Cols are all columns of the table.
func (r *Scan) Cols() []ColID { return r.Columns }

// Cols is empty.
func (r *OneRow) Cols() []ColID { return nil }

// Cols are the input's.
func (r *Filter) Cols() []ColID { return r.Input.Cols() }

// Cols are the items' ids.
func (r *Project) Cols() []ColID {
	out := make([]ColID, len(r.Items))
	for i, it := range r.Items {
		out[i] = it.ID
	}
	return out
}

// Cols are the left side's, then the right side's.
func (r *Join) Cols() []ColID {
	l, rr := r.Left.Cols(), r.Right.Cols()
	return append(append(make([]ColID, 0, len(l)+len(rr)), l...), rr...)
}

// Cols are keys, aggregates, errors.
func (r *Aggregate) Cols() []ColID {
	out := append([]ColID(nil), r.Keys...)
	for _, a := range r.Aggs {
		out = append(out, a.ID)
	}
	for _, e := range r.Errors {
		out = append(out, e.ID)
	}
	for _, g := range r.Groupings {
		out = append(out, g.ID)
	}
	return out
}

// Cols are the input's.
func (r *Distinct) Cols() []ColID { return r.Input.Cols() }

// Cols are the input's.
func (r *Sort) Cols() []ColID { return r.Input.Cols() }

// Cols are the input's.
func (r *Limit) Cols() []ColID { return r.Input.Cols() }

// Cols are its own.
func (r *Unplanned) Cols() []ColID { return r.Columns }

// Scalar is a bound expression with PostgreSQL's type.
type Scalar interface {
	Type() sqltype.Type
	scalar()
}

// Col refers to a column.
type Col struct {
	ID ColID
	T  sqltype.Type
}

// Const is a constant; a nil Value is NULL.
type Const struct {
	Value sqltype.Value
	T     sqltype.Type
	pos   pgsyntax.Pos // of a literal in the text, and one more; 0 if not known
}

// Param is $N (1-based).
type Param struct {
	N int
	T sqltype.Type
}

// Call is a registered function, operator or cast.
type Call struct {
	Fn   *funcs.Func
	Args []Scalar
	T    sqltype.Type
	Pos  int
}

// Logic is AND, OR or NOT with PostgreSQL's three values; AND and OR have two or more arguments.
type Logic struct {
	Op   LogicOp
	Args []Scalar
}

// LogicOp is AND, OR or NOT.
type LogicOp string

// The logical operators.
const (
	And LogicOp = "AND"
	Or  LogicOp = "OR"
	Not LogicOp = "NOT"
)

// Is is X IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type Is struct {
	X    Scalar
	What string
	Not  bool
}

// In is X [NOT] IN (List): Eq is the "=" of the common type that X and List were brought to.
type In struct {
	X    Scalar
	List []Scalar
	Not  bool
	Eq   *funcs.Func
}

// Case is a searched CASE (the simple form is bound to it); Else may be nil (NULL). All results have type T.
type Case struct {
	Whens []When
	Else  Scalar
	T     sqltype.Type
}

// When is one branch of a Case.
type When struct{ Cond, Result Scalar }

// Coalesce is COALESCE; all arguments have type T.
type Coalesce struct {
	Args []Scalar
	T    sqltype.Type
}

// MinMax is GREATEST or LEAST; all arguments have type T, NULLs are passed over.
type MinMax struct {
	Greatest bool
	Args     []Scalar
	T        sqltype.Type
}

// DistinctFrom is X IS [NOT] DISTINCT FROM Y: Eq is the "=" of the types that both were brought to.
type DistinctFrom struct {
	X, Y Scalar
	Not  bool
	Eq   *funcs.Func
}

// Subscript is X[i], X[i][j] ...: the element of an array, or NULL where there is none.
type Subscript struct {
	X     Scalar
	Index []Scalar
	T     sqltype.Type
}

// AnyAll is X op ANY (Array), or ALL: Fn is a comparison of X with an element. Where it is [NOT] IN, Eq is that one's.
type AnyAll struct {
	X, Array Scalar
	Fn, Eq   *funcs.Func
	All      bool
	Pos      int
}

// ArrayExpr is ARRAY[...] of what is no constant; with Nested its elements are arrays.
type ArrayExpr struct {
	Elems  []Scalar
	Nested bool
	T      sqltype.Type
}

// Unplanned stands for what has names and types but no plan yet: a scalar or a relation of a query that Bind refuses.
type Unplanned struct {
	Name    string
	T       sqltype.Type
	Args    []Scalar
	From    []Rel
	Columns []ColID
}

func (*Col) scalar()          {}
func (*Const) scalar()        {}
func (*Param) scalar()        {}
func (*Call) scalar()         {}
func (*Logic) scalar()        {}
func (*Is) scalar()           {}
func (*In) scalar()           {}
func (*Case) scalar()         {}
func (*Coalesce) scalar()     {}
func (*MinMax) scalar()       {}
func (*DistinctFrom) scalar() {}
func (*ArrayExpr) scalar()    {}
func (*Subscript) scalar()    {}
func (*AnyAll) scalar()       {}
func (*Unplanned) scalar()    {}

// Type is the column's type.
func (x *Col) Type() sqltype.Type { return x.T }

// Type is the constant's type.
func (x *Const) Type() sqltype.Type { return x.T }

// Type is the parameter's type.
func (x *Param) Type() sqltype.Type { return x.T }

// Type is the call's result type.
func (x *Call) Type() sqltype.Type { return x.T }

// Type is boolean.
func (x *Logic) Type() sqltype.Type { return sqltype.Bool }

// Type is boolean.
func (x *Is) Type() sqltype.Type { return sqltype.Bool }

// Type is boolean.
func (x *In) Type() sqltype.Type { return sqltype.Bool }

// Type is the results' type.
func (x *Case) Type() sqltype.Type { return x.T }

// Type is the arguments' type.
func (x *Coalesce) Type() sqltype.Type { return x.T }

// Type is the arguments' type.
func (x *MinMax) Type() sqltype.Type { return x.T }

// Type is boolean.
func (x *DistinctFrom) Type() sqltype.Type { return sqltype.Bool }

// Type is the element's type.
func (x *Subscript) Type() sqltype.Type { return x.T }

// Type is boolean.
func (x *AnyAll) Type() sqltype.Type { return sqltype.Bool }

// Type is the array's type.
func (x *ArrayExpr) Type() sqltype.Type { return x.T }

// Type is what it gives.
func (x *Unplanned) Type() sqltype.Type { return x.T }

// GroupingItem is GROUPING(cols): a bit for each that a row's grouping set has not, the last the lowest.
type GroupingItem struct {
	ID   ColID
	Cols []ColID
}

// Beside are the aggregates that a linear form or a quotient is made of; 0 is none.
type Beside [4]ColID
