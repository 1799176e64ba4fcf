package pgsyntax

// atomKind says what an atom of the skeleton stands for.
type atomKind uint8

const (
	aExpr    atomKind = iota // a finished operand: expr
	aPrefix                  // a prefix operator: op
	aInfix                   // an infix operator: op
	aPostfix                 // a postfix operator: op, or a form given by mark
	aMark                    // a separator in a list or in front of a construct: mark
	aCall                    // a bracketed list: mark says of what
	aTable                   // a table name with its alias
	aAlias                   // the alias of a derived table or of a function in FROM
	aLabel                   // the label of a select-list entry
	aCTE                     // a WITH query's name
	aJoin                    // a join's kind, in front of its condition
	aHead                    // the first entry of a select list: what was said before the list
	aNoFrom                  // the table of a query without FROM
	aList                    // many literals with their commas
)

// mark names the constructs that the skeleton carries as calls, as marks or as postfix forms.
type mark string

const (
	mFunc     mark = "function"
	mParen    mark = "(" // a parenthesis: one expression, or a row of several
	mRow      mark = "ROW"
	mArray    mark = "ARRAY"
	mIndex    mark = "["
	mCast     mark = "CAST"
	mTypecast mark = "::"
	mFilter   mark = "FILTER"
	mWithin   mark = "WITHIN GROUP"
	mOver     mark = "OVER"
	mOverName mark = "OVER name"
	mGroups   mark = "grouping"
	mSubquery mark = "subquery"
	mExists   mark = "EXISTS"
	mArrayOf  mark = "ARRAY(query)"
	mCase     mark = "CASE"
	mArgs     mark = "args" // the parenthesis behind IN and ANY

	mOrder     mark = "ORDER BY"
	mPartition mark = "PARTITION BY"
	mFrame     mark = "frame"
	mBound     mark = "frame bound"
	mColon     mark = ":"
	mLimit     mark = "LIMIT"
	mOffset    mark = "OFFSET"
	mAll       mark = "LIMIT ALL"
	mSort      mark = "sort"
	mFrom      mark = "FROM"
	mFor       mark = "FOR"
	mPlacing   mark = "PLACING"
	mSimilar   mark = "SIMILAR"
	mEscape    mark = "ESCAPE"
	mIn        mark = "IN"
	mWindow    mark = "WINDOW"
	mType      mark = "type"
	mField     mark = "."
	mNamed     mark = "=>"
	mVariadic  mark = "VARIADIC"
	mForm      mark = "form"
	mTies      mark = "WITH TIES"
)

// atom is what a back-quoted number of the skeleton stands for. It comes back exactly once.
type atom struct {
	kind atomKind
	mark mark
	pos  Pos
	used bool

	expr  Expr      // aExpr
	list  []Expr    // aList
	op    string    // aPrefix, aInfix; the spelling of a grouping or of a special construct
	names []string  // names of a function, table, alias, collation, label, joined columns
	cols  []string  // column aliases
	typ   *TypeName // mCast's type, mTypecast
	call  *FuncCall // mFunc: the call without its arguments
	frame *Frame    // mFrame
	name  string    // an alias
	sort  OrderItem // mSort: direction and place of NULLs
	query *Select   // aHead: what stood before the list
	join  *Join     // aJoin: kind and columns
	cte   *CTE      // aCTE
	table *TableName
	not   bool // of an infix or postfix operator
	quant bool // aInfix before ANY or ALL
	all   bool // ... ALL
	sym   bool // BETWEEN SYMMETRIC
	later bool // aAlias: LATERAL
	fn    bool // aAlias: of a function
	ord   bool // aAlias: WITH ORDINALITY
	rows  bool // aHead of VALUES
}
