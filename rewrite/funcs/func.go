package funcs

import (
	"time"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/dialect/duckdb"
	"github.com/dpsql/dpsql/rewrite/dialect/postgres"
)

// The dialects of the registry.
var (
	Postgres = postgres.Dialect
	DuckDB   = duckdb.Dialect
)

// Func is one overload of a function, operator or cast.
type Func struct {
	Name   string // PostgreSQL's name or operator; a cast is "cast"
	Kind   Kind
	Args   []sqltype.OID
	Result sqltype.OID
	// Typmod gives the result's modifier from the arguments' types (nil: -1).
	Typmod func(args []sqltype.Type) int32
	// MayBeNull says that the total form can be NULL although no argument is (where PostgreSQL would raise). Every row is
	// strict: NULL in, NULL out.
	MayBeNull bool
	// Range derives the interval of the result from the arguments' (nil entries and a nil result: unknown; a nil func: unknown).
	Range func(args []*num.Interval, types []sqltype.Type) *num.Interval
	// Results are all whole numbers that the total form can be, whatever its arguments hold; nil: not known to be few.
	Results []int64
	// Safe reports that PostgreSQL cannot raise, and the result cannot be NULL, for non-NULL arguments in these intervals: then
	// RaisingForm may be printed in place of TotalForm. A nil func: never known. An interval holds what is a number: what has one is not infinite, but may be NaN.
	Safe func(args []*num.Interval, types []sqltype.Type) bool
	// RaisesNaN says that Safe holds only where no argument is NaN.
	RaisesNaN bool
	// TotalForm prints the total form from printed, parenthesised arguments: it never raises on any stored value and equals
	// PostgreSQL's own result wherever that one does not raise. result carries the typmod. An empty text is a refusal: the
	// backend has no such form. Each argument is mentioned so rarely that nested calls do not multiply (see guard).
	TotalForm Forms
	// RaisingForm prints PostgreSQL's own form (it may raise): for statements over public tables only.
	RaisingForm Forms
	// Refused says, for each dialect without a total form, why it has none: there TotalForm is empty.
	Refused map[dialect.Dialect]string
	// Short has the places of texts of at most MaxShort bytes, because the cost of each row grows with them: constants and parameters are checked before
	// the statement runs, and for a longer one that is made of columns the total form is NULL.
	Short []int
	// Const has the places of the arguments that must be constants of the plan (not NULL, no parameter), and With gives the row for them: of the
	// same name, arguments, result and Const, without With; its forms need no text for those places. Zoned says that With needs the session's
	// time zone. A row with With and with TotalForm serves where they are no constants, too.
	Const  []int
	Zoned  bool
	Zone   *time.Location // in which With's row of a Zoned one reads an instant
	With   func(c Constants) (*Func, error)
	leaves []Gap // of this row alone, on both backends; see Gaps
	// OnNull says that Eval is called with NULL arguments, too: of functions of the catalogs.
	OnNull bool
	// Rows computes what a function that gives rows gives, a value for each of its columns; Outs are those of a function that pg_proc does not name them for.
	Rows func(args []sqltype.Value, types []sqltype.Type) ([][]sqltype.Value, error)
	Outs []Out
	// Eval computes it on non-NULL released values; it raises PostgreSQL's errors as *sqlerr.Error.
	Eval func(args []sqltype.Value, types []sqltype.Type, result sqltype.Type) (sqltype.Value, error)
	// Slow is Eval for long texts, over which one call may take seconds: it asks stop now and then, and ends with the error that it gives.
	Slow func(stop func() error, args []sqltype.Value, types []sqltype.Type, result sqltype.Type) (sqltype.Value, error)
}

// Out is a column of the rows that a function gives.
type Out struct {
	Name string
	OID  sqltype.OID
}

// MaxShort is the length of texts in the places of Short, in bytes.
const MaxShort = 1000

// Constants are what a row may take from the plan: the values at the places of Const, and the session's time zone.
type Constants struct {
	Values []sqltype.Value
	Zone   string
}

// Kind tells operators, functions and casts apart.
type Kind string

// The kinds.
const (
	Operator Kind = "operator"
	Function Kind = "function"
	Cast     Kind = "cast"
)

// Gap says for what a row's total form is NULL although PostgreSQL may give a value. Statements warn of it, by their text alone.
type Gap struct {
	Words  string
	Rare   bool // values at the ends of a type, NaN, infinities and very long texts only
	AtEnd  bool // rare values at the ends of a type only, which hardly any data has
	Raises bool // PostgreSQL gives no value there, but an error that people meet: a divisor of 0, a text that is no number
}

func rare(words string) Gap { return Gap{Words: words, Rare: true} }

func atEnd(words string) Gap { return Gap{Words: words, Rare: true, AtEnd: true} }
