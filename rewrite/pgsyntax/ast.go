package pgsyntax

// Pos is a 0-based byte offset in the analyst's own text.
type Pos int

// Statement is one parsed statement. Text is the analyst's text of it, Offset where it starts in the whole message.
type Statement struct {
	Node   Node
	Text   string
	Offset int
	Params int // highest $n
}

// Node is a statement's tree: *Select, *Explain, or one of the session statements in session.go.
type Node interface{ node() }

// Select is a query expression. For a set operation Op is set and Left/Right hold the branches; otherwise the clauses are
// the query's own. OrderBy, Limit and Offset belong to the whole in both cases. Values holds a VALUES list.
type Select struct {
	Pos        Pos
	With       []CTE
	Recursive  bool
	Distinct   bool
	DistinctOn []Expr
	Targets    []Target
	From       []TableExpr // comma list
	Where      Expr
	GroupBy    []Expr
	Having     Expr
	Windows    []NamedWindow
	Values     [][]Expr

	Op          SetOp
	All         bool
	Left, Right *Select

	OrderBy []OrderItem
	Limit   Expr // nil: none, or LIMIT ALL; *Ties for FETCH ... WITH TIES
	Offset  Expr
}

// SetOp is a set operation.
type SetOp string

// The set operations.
const (
	NoOp      SetOp = ""
	Union     SetOp = "UNION"
	Intersect SetOp = "INTERSECT"
	Except    SetOp = "EXCEPT"
)

// CTE is one WITH query.
type CTE struct {
	Pos     Pos
	Name    string
	Columns []string
	Query   *Select

	Materialized *bool // [NOT] MATERIALIZED, nil if neither was written
}

// Target is one entry of a select list; Alias is empty if none was written. A star is an *Star expression.
type Target struct {
	Expr  Expr
	Alias string
}

// OrderItem is one sort key. NullsFirst is nil where it was not written.
type OrderItem struct {
	Expr       Expr
	Desc       bool
	NullsFirst *bool
}

// TableExpr is an entry of FROM.
type TableExpr interface {
	tableExpr()
	Position() Pos
}

// TableName is a possibly qualified table. Schema is empty if none was written; a database name before it is kept in Catalog.
type TableName struct {
	Pos                   Pos
	Catalog, Schema, Name string
	Alias                 string
	Columns               []string // alias(c1, c2)
}

// Derived is a subquery in FROM.
type Derived struct {
	Pos     Pos
	Query   *Select
	Alias   string
	Columns []string
	Lateral bool
}

// TableFunc is a function in FROM.
type TableFunc struct {
	Pos     Pos
	Call    *FuncCall
	Alias   string
	Columns []string
	Lateral bool

	Ordinality bool // WITH ORDINALITY
}

// Join is a join; Kind is "INNER", "LEFT", "RIGHT", "FULL" or "CROSS".
type Join struct {
	Pos         Pos
	Kind        JoinKind
	Natural     bool
	Left, Right TableExpr
	On          Expr
	Using       []string
}

// JoinKind is the kind of a join.
type JoinKind string

// The kinds of joins.
const (
	InnerJoin JoinKind = "INNER"
	LeftJoin  JoinKind = "LEFT"
	RightJoin JoinKind = "RIGHT"
	FullJoin  JoinKind = "FULL"
	CrossJoin JoinKind = "CROSS"
)

// Expr is a scalar expression.
type Expr interface {
	expr()
	Position() Pos
}

// Star is * or t.*.
type Star struct {
	Pos   Pos
	Table []string // empty, or the qualifying names
}

// ColumnRef is a possibly qualified column.
type ColumnRef struct {
	Pos  Pos
	Path []string // 1 to 4 names, last is the column
}

// Literal is a constant: Kind says how to read Text. An untyped string is "unknown" until bound.
type Literal struct {
	Pos  Pos
	Kind LiteralKind
	Text string
}

// LiteralKind is the lexical sort of a literal.
type LiteralKind string

// The kinds of literals.
const (
	NullLit    LiteralKind = "null"
	BoolLit    LiteralKind = "bool"    // true, false
	IntegerLit LiteralKind = "integer" // digits only, any size
	NumericLit LiteralKind = "numeric" // with point or exponent
	StringLit  LiteralKind = "string"
	BitLit     LiteralKind = "bit"
	HexLit     LiteralKind = "hex"
)

// Param is $n.
type Param struct {
	Pos Pos
	N   int
}

// Unary is a prefix operator: "-", "+", "NOT", or any other prefix operator by its spelling.
type Unary struct {
	Pos Pos
	Op  string
	X   Expr
}

// Binary is an infix operator by PostgreSQL's spelling: "AND", "OR", "=", "<>", "+", "||", "IS DISTINCT FROM",
// "IS NOT DISTINCT FROM", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "SIMILAR TO", "NOT SIMILAR TO" ... ("!=" is "<>").
type Binary struct {
	Pos         Pos // of the operator
	Op          string
	Left, Right Expr
	Escape      Expr // of LIKE and SIMILAR TO
}

// Is is IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type Is struct {
	Pos  Pos
	X    Expr
	Not  bool
	What string // "NULL", "TRUE", "FALSE", "UNKNOWN"
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Pos          Pos
	X, Low, High Expr
	Not          bool
	Symmetric    bool
}

// In is x [NOT] IN (list) or (subquery).
type In struct {
	Pos   Pos
	X     Expr
	List  []Expr
	Query *Select
	Not   bool
}

// Quantified is x op ANY|ALL (array or subquery).
type Quantified struct {
	Pos   Pos
	X     Expr
	Op    string
	All   bool
	Array Expr
	Query *Select
}

// Exists is EXISTS (subquery).
type Exists struct {
	Pos   Pos
	Query *Select
}

// Subquery is a scalar subquery, or ARRAY(subquery).
type Subquery struct {
	Pos   Pos
	Query *Select
	Array bool
}

// Case is CASE; Operand is nil in the searched form.
type Case struct {
	Pos     Pos
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one WHEN cond THEN result.
type When struct{ Cond, Result Expr }

// Cast is x::type or CAST(x AS type). A typed literal (date '...') is a Cast of a string with Literal set.
type Cast struct {
	Pos     Pos
	X       Expr
	Type    TypeName
	Literal bool
}

// TypeName is a type as written, names folded: Name is PostgreSQL's internal or SQL name in lower case with single blanks
// ("double precision", "int4", "timestamp with time zone"), Mods its modifiers, Dims the number of []. Interval fields are in
// Fields.
type TypeName struct {
	Pos    Pos
	Schema string
	Name   string
	Mods   []int
	Dims   int
	Fields string
	Quoted bool // a quoted or qualified name that is spelled like one of SQL's own: "char" is not char
}

// FuncCall is a function or aggregate call. Names of constructs with a syntax of their own are given their PostgreSQL
// function: EXTRACT -> extract(field text, x), POSITION -> position(substring, string), SUBSTRING(x FROM a FOR b) and SUBSTRING(x SIMILAR a
// ESCAPE b) -> substring(x, a, b), TRIM -> btrim/ltrim/rtrim, OVERLAY -> overlay, AT TIME ZONE -> timezone(zone, x), (a, b) OVERLAPS (c, d) ->
// overlaps(a, b, c, d), NORMALIZE -> normalize(x, form text), IS NORMALIZED -> is_normalized(x, form text), COLLATION FOR (x) ->
// pg_collation_for(x), COALESCE, NULLIF, GREATEST, LEAST by name, CURRENT_DATE and the like -> a call without parentheses (Bare). Special marks such a construct.
type FuncCall struct {
	Pos         Pos
	Schema      string
	Name        string
	Args        []Expr
	Star        bool // count(*)
	Distinct    bool
	OrderBy     []OrderItem
	WithinGroup []OrderItem
	Filter      Expr
	Over        *Window
	Bare        bool
	Special     bool
}

// NamedWindow is an entry of the WINDOW clause.
type NamedWindow struct {
	Name string
	Def  Window
}

// Window is OVER (...) or OVER name (Bare); in parentheses Name is the window it starts from.
type Window struct {
	Name        string
	Bare        bool
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
}

// Frame is a window frame as written.
type Frame struct {
	Mode       string // ROWS, RANGE, GROUPS
	Start, End FrameBound
	Exclude    string
}

// FrameBound is one end of a frame: Kind is "UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING".
type FrameBound struct {
	Kind   string
	Offset Expr
}

// Array is ARRAY[...].
type Array struct {
	Pos   Pos
	Elems []Expr
}

// Row is (a, b) or, with Explicit, ROW(a, b).
type Row struct {
	Pos      Pos
	Elems    []Expr
	Explicit bool
}

// Subscript is x[i], or with Slice x[i:j], where a bound that was left out is nil.
type Subscript struct {
	Pos   Pos
	X     Expr
	Index []Expr
	Slice bool
}

// Field is (x).name, or (x).* where Name is empty.
type Field struct {
	Pos  Pos
	X    Expr
	Name string
}

// Paren is the parenthesis around a subscripted expression that is subscripted again: (a[1])[2] is not a[1][2].
type Paren struct {
	Pos Pos
	X   Expr
}

// NamedArg is name => x among a call's arguments.
type NamedArg struct {
	Pos  Pos
	Name string
	X    Expr
}

// Variadic is VARIADIC x, a call's last argument.
type Variadic struct {
	Pos Pos
	X   Expr
}

// Ties is the count of FETCH FIRST x ROWS WITH TIES.
type Ties struct {
	Pos Pos
	X   Expr
}

// Grouping is ROLLUP, CUBE or GROUPING SETS in GROUP BY; Sets are lists of expressions.
type Grouping struct {
	Pos  Pos
	Kind string
	Sets [][]Expr
}

// Collate is x COLLATE name.
type Collate struct {
	Pos  Pos
	X    Expr
	Name []string
}

func (*Select) node() {}

func (*TableName) tableExpr() {}
func (*Derived) tableExpr()   {}
func (*TableFunc) tableExpr() {}
func (*Join) tableExpr()      {}

// Position is where the node starts in the analyst's text.
func (t *TableName) Position() Pos { return t.Pos }

// Position is where the node starts in the analyst's text.
func (t *Derived) Position() Pos { return t.Pos }

// Position is where the node starts in the analyst's text.
func (t *TableFunc) Position() Pos { return t.Pos }

// Position is where the node starts in the analyst's text.
func (t *Join) Position() Pos { return t.Pos }
