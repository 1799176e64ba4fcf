package plan

import (
	"slices"

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

// GroupingItem is GROUPING(cols): a bit for each that a row's grouping set has not, the last the lowest.
type GroupingItem struct {
	ID   ColID
	Cols []ColID
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

// Scalars are the expressions of a node itself, in order; nil entries are left out.
func Scalars(r Rel) []Scalar {
	var out []Scalar
	add := func(list ...Scalar) {
		for _, x := range list {
			if x != nil {
				out = append(out, x)
			}
		}
	}
	switch n := r.(type) {
	case *Filter:
		add(n.Cond)
	case *Project:
		for _, it := range n.Items {
			add(it.Expr)
		}
	case *Join:
		add(n.On)
	case *Aggregate:
		for _, a := range n.Aggs {
			add(a.Arg)
			add(a.More...)
			addOrder(&out, a.Order)
			add(a.Filter)
		}
	case *Limit:
		add(n.Count, n.Offset)
	case *Values:
		for _, row := range n.Rows {
			add(row...)
		}
	case *Window:
		for _, it := range n.Items {
			add(it.scalars()...)
		}
	case *FuncScan:
		add(n.Call)
	case *ProjectSet:
		for _, it := range n.Items {
			add(it.Call)
		}
	case *Unplanned:
	}
	return out
}

func addOrder(out *[]Scalar, keys []AggOrder) {
	for _, k := range keys {
		*out = append(*out, k.Expr)
	}
}

// scalars are all expressions of the item.
func (it *WindowItem) scalars() []Scalar {
	out := append([]Scalar(nil), it.Args...)
	if it.Filter != nil {
		out = append(out, it.Filter)
	}
	out = append(out, it.Partition...)
	addOrder(&out, it.Order)
	if it.Frame != nil {
		for _, e := range []FrameEnd{it.Frame.Start, it.Frame.End} {
			if e.Offset != nil {
				out = append(out, e.Offset)
			}
		}
	}
	return out
}

// VisitRels calls f for a relation and all below it, also those of subqueries in expressions, until f says false.
func VisitRels(r Rel, f func(Rel) bool) bool {
	if !f(r) {
		return false
	}
	for _, x := range Scalars(r) {
		if !VisitQueries(x, func(s *Subquery) bool { return VisitRels(s.Query, f) }) {
			return false
		}
	}
	for _, in := range Inputs(r) {
		if !VisitRels(in, f) {
			return false
		}
	}
	return true
}

// VisitQueries calls f for each subquery of an expression, not for those within them, until f says false.
func VisitQueries(x Scalar, f func(*Subquery) bool) bool {
	if s, ok := x.(*Subquery); ok && !f(s) {
		return false
	}
	for _, y := range Children(x) {
		if !VisitQueries(y, f) {
			return false
		}
	}
	return true
}

// MapQueries replaces the subqueries of an expression, not those within them.
func MapQueries(x Scalar, f func(*Subquery) (Scalar, error)) (Scalar, error) {
	if s, ok := x.(*Subquery); ok {
		return f(s)
	}
	return mapChildren(x, func(y Scalar) (Scalar, error) { return MapQueries(y, f) })
}

// InQueries replaces the relations of an expression's subqueries.
func InQueries(rel func(Rel) (Rel, error)) func(Scalar) (Scalar, error) {
	return func(x Scalar) (Scalar, error) {
		return MapQueries(x, func(s *Subquery) (Scalar, error) {
			of := *s
			var err error
			of.Query, err = rel(s.Query)
			return &of, err
		})
	}
}

// AllOf is the conjunction of conditions; nil of none.
func AllOf(conds []Scalar) Scalar {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return &Logic{Op: And, Args: conds}
}

// FirstQuery is a subquery of an expression; nil if there is none.
func FirstQuery(x Scalar) *Subquery {
	var found *Subquery
	VisitQueries(x, func(s *Subquery) bool { found = s; return false })
	return found
}

// Free are the columns that a subquery reads of the queries around it, in the order of their first use.
func (x *Subquery) Free() []*Col { return Free(x.Query) }

// Free are the columns that a relation reads and does not make, in the order of their first use. Those of the subqueries in its expressions are asked of
// them once each: a text nested n deep costs n steps for each of its levels.
func Free(r Rel) []*Col {
	made, seen := map[ColID]bool{}, map[ColID]bool{}
	var read []*Col
	note := func(c *Col) {
		if !seen[c.ID] {
			seen[c.ID] = true
			read = append(read, c)
		}
	}
	var visit func(Rel)
	visit = func(n Rel) {
		for _, id := range makes(n) {
			made[id] = true
		}
		for _, x := range Scalars(n) {
			VisitCols(x, note)
		}
		for _, id := range Reads(n) {
			note(&Col{ID: id})
		}
		for _, in := range Inputs(n) {
			visit(in)
		}
	}
	visit(r)
	return slices.DeleteFunc(read, func(c *Col) bool { return made[c.ID] })
}

// Reads are the columns that a node reads by their ids alone.
func Reads(r Rel) []ColID {
	switch n := r.(type) {
	case *Aggregate:
		return n.Keys
	case *Sort:
		var out []ColID
		for _, k := range n.Keys {
			out = append(out, k.Col)
		}
		return out
	case *DistinctOn:
		return n.On
	case *Capped:
		return n.Cols()
	case *SetOp:
		return slices.Concat(n.LeftCols, n.RightCols)
	case *Recursive:
		return slices.Concat(n.FirstCols, n.AgainCols)
	}
	return nil
}

// makes are the columns that a node itself makes.
func makes(r Rel) []ColID {
	var out []ColID
	switch n := r.(type) {
	case *Scan:
		return n.Columns
	case *Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*Col); !ok || c.ID != it.ID {
				out = append(out, it.ID)
			}
		}
	case *Aggregate:
		for _, a := range n.Aggs {
			out = append(out, a.ID)
		}
		for _, e := range n.Errors {
			out = append(out, e.ID)
		}
		for _, g := range n.Groupings {
			out = append(out, g.ID)
		}
	case *Values:
		return n.Columns
	case *Released:
		return n.Columns
	case *SetOp:
		return n.Columns
	case *Window:
		for _, it := range n.Items {
			out = append(out, it.ID)
		}
	case *FuncScan:
		return n.Columns
	case *ProjectSet:
		for _, it := range n.Items {
			out = append(out, it.Cols...)
		}
	case *Recursive:
		return n.Columns
	case *Working:
		return n.Columns
	case *Unplanned:
		return n.Columns
	}
	return out
}
