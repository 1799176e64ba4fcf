// Package dialect says how SQL is written for the database that holds a data set. A Dialect has a method for each thing that databases
// write differently, so that a dialect without it does not compile. Its methods take printed texts and PostgreSQL's types, and give a
// text or a refusal. What a dialect prints may raise for no data, unless a method says otherwise.
//
// Packages dialect/postgres and dialect/duckdb implement it. No other package compares with the name of one (internal/rooms).
package dialect

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Dialect is how SQL is written for one kind of database. Dialects can be compared, and are keys of maps.
type Dialect interface {
	Names
	Equality
	Numbers
	Texts
	Rows
	Aggregates

	// String is the dialect's name, such as "postgres".
	String() string
	Facts() Facts
	// Decimals are those of a database whose numerics have a scale and few digits; nil: its numerics hold any number.
	Decimals() Decimals
	// Lists are what a database has in place of arrays; nil: it has PostgreSQL's arrays.
	Lists() Lists
}

// Facts are what else printing depends on. Each zero value is the careful one.
type Facts struct {
	Levels          int  // how deep an expression may be, so that the database takes the statement
	HasTry          bool // TRY(x) is NULL where x raises; neither error() nor a subquery may be in it
	HoldsLongTexts  bool // no text that is computed of a row raises by its length
	ComparesTypes   bool // IS DISTINCT FROM compares values of different types without a loss
	ComparesRows    bool // (a, b) IN (SELECT ...) is what a = x AND b = y is
	TablesFirst     bool // "a"."b" is column b of a table a of any scope around, before it is field b of a column a
	HasTies         bool // FETCH FIRST n ROWS WITH TIES
	LimitParameters bool // LIMIT takes a parameter in a subquery that reads the row around it
	Products        int  // of a network's prediction of a row: 10,000 rows are evaluated in a minute
	ExactAverages   bool // avg of integers and of numerics is PostgreSQL's
	// UnitAggregates are those of plan.AggFacts.IsOfUnit that the database computes as PostgreSQL does.
	UnitAggregates []string
}

// Names are identifiers, types and literals.
type Names interface {
	// Function is the qualified name of a built-in function.
	Function(name string) string
	// TypeName names a type; v, if a decimal, gives a scale to an unmodified numeric.
	TypeName(t sqltype.Type, v sqltype.Value) (string, error)
	// Number is an exact inline number of a type.
	Number(d decimal.Decimal, t sqltype.Type) (string, error)
	// Collation is what follows a text column with a collation of its own, so that it can be compared with others; "" where all can.
	Collation() string
	// Output brings a result to the type that the plan says, where the database's own would differ.
	Output(x string, t sqltype.Type) (string, error)
}

// Equality says which values are equal, and which come first.
type Equality interface {
	// ByBytes is a text with the collation that compares bytes; values of other types stay.
	ByBytes(x string, t sqltype.Type) string
	// CanonicalKey prints a value of a groupable type so that equal ones are spelled alike: without what sets them apart, and NULL where
	// the value has no canonical form.
	CanonicalKey(x string, t sqltype.Type) (string, error)
	// JoinKey prints what is equal where a join's "=" holds values of a groupable type equal.
	JoinKey(x string, t sqltype.Type) (string, error)
	// Spellings are keys that order values of a type and tell all of them apart whose texts or lengths differ.
	Spellings(x string, t sqltype.Type) []string
	// MinMax is GREATEST or LEAST; text is ordered by its bytes, and intervals by their length.
	MinMax(name string, args []string, t sqltype.Type) string
	// DistinctArgument is a side of IS DISTINCT FROM.
	DistinctArgument(x string, t sqltype.Type) string
	// Hash is a 64-bit hash of values and seed. It depends on nothing else.
	Hash(values []string, types []sqltype.Type, seed int64) string
	// SimpleCase is CASE x body END, which computes x once.
	SimpleCase(x, body string) string
}

// Numbers are whole numbers: sums, quotients, clamps and steps.
type Numbers interface {
	// Big casts to a bigint, Wide to a type that holds sums and products of bigints.
	Big(x string) string
	Wide(x string) string
	// Summand is an integer whose sum does not overflow; few: the sum of a unit's rows is below 2^63 as they are small. small says that
	// the sum is a bigint then.
	Summand(x string, t sqltype.Type, few bool) (text string, small bool)
	// Factor is a count that is multiplied with a number; fits: their product is a bigint.
	Factor(count string, fits bool) string
	// Shared is a sum that Share can multiply.
	Shared(sum string) string
	// Share is x n/k toward zero, in exact integers.
	Share(x string, n uint64, k string) string
	// Quotient is x/y of wide whole numbers toward zero.
	Quotient(x, y string) string
	// Divided is the quotient of bigints toward zero.
	Divided(x string, n int64) string
	// RootAbove is a whole number that is at least the square root of a sum of squares, and hardly more.
	RootAbove(squares string) string
	// EdgesBelow is the number of edges, which ascend, below a positive whole number.
	EdgesBelow(x string, edges []string, t sqltype.Type) string
	// Rounded is a numeric or float8 as a whole number of steps.
	Rounded(r Rounding) (string, error)
	// TimeSteps are the days of a date, or the microseconds of a timestamp, since 2000.
	TimeSteps(x string, t sqltype.Type) string
	// RangeKey is a date or an integer as the order of a frame of RANGE with offsets, RangeOffset an offset.
	RangeKey(x string, t sqltype.Type) string
	RangeOffset(n int64) string
}

// Texts are casts to text and long texts.
type Texts interface {
	// AsText casts to text.
	AsText(x string) string
	// ByteLength is the number of a text's bytes.
	ByteLength(x string) string
	// Joined is texts, or bytea, put together; NULL where they are longer than most bytes together.
	Joined(parts []string, t sqltype.Type, most int) string
}

// Rows are released rows, and what a statement's parameters may hold.
type Rows interface {
	// Released is an item of FROM with these rows; constant prints a value in place or as a parameter.
	Released(types []sqltype.Type, rows [][]sqltype.Value, constant func(sqltype.Value, sqltype.Type) string) (string, error)
	// CheckRows refuses values that the database could only round: what differs here would be equal there.
	CheckRows(types []sqltype.Type, rows [][]sqltype.Value) error
	// ParamType is the type that a parameter is sent as; v is its value, nil where it is not known.
	ParamType(t sqltype.Type, v sqltype.Value) sqltype.Type
}

// Aggregates are those that the database computes as PostgreSQL does.
type Aggregates interface {
	HasAggregate(fn string) bool
	HasWindowFunction(fn string) bool
	// UnitSum gives a sum within a unit's rows its type; false where it could raise.
	UnitSum(sum string, t sqltype.Type) (string, bool)
	// UnitSummand is a numeric without a precision whose sum within a unit's rows has room; distinct: in its canonical form.
	UnitSummand(x string, distinct bool) string
}

// Decimals have a fixed scale and few digits: what has no room raises, and so is asked for before.
type Decimals interface {
	// Digits are those of the widest decimal.
	Digits() int32
	// Holds tells whether a constant is a decimal there.
	Holds(v sqltype.Value, t sqltype.Type) bool
	// ToScale brings a decimal to a scale in all digits; NULL where it has no room.
	ToScale(x string, scale int32) string
	// Try is NULL where x would raise. It takes no subqueries.
	Try(x string) (string, error)
	// InSteps is a decimal that is at most so many steps of 10^-k, times 10^k.
	InSteps(x string, k int32, most int64, s Places) (string, error)
	// ClampSteps is a whole number of steps in [lo, hi], value for what is in between.
	ClampSteps(x, value string, grid decimal.Decimal, lo, hi int64, s Places) (string, error)
}

// Lists are of one dimension.
type Lists interface {
	// Element is a constant as an element.
	Element(v sqltype.Value, elem sqltype.Type) (string, error)
	// Build makes a list of elements.
	Build(elements []string) string
	// Cast is a list, or NULL, as one of elements of a type.
	Cast(x string, elem sqltype.Type) (string, error)
}

// Places are the decimal places of a decimal, at most.
type Places struct {
	N     int32
	Known bool
}
