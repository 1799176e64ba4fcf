package plan

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Catalog is the world as one analyst may see it. What a policy does not list, or this analyst may not see, does not exist
// here; tests fill one from text.
type Catalog interface {
	// Table resolves a possibly qualified name (schema is empty if none was written).
	Table(schema, name string) (*Table, bool)
	// VisibleTables lists what may be seen, for hints and to find enums.
	VisibleTables() []*Table
}

// PublicReader reads the distinct tuples of some columns of a public table, at most limit+1 of them. The engine implements it
// on the backend; values are public.
type PublicReader interface {
	Distinct(ctx context.Context, t *Table, columns []int, limit int) ([][]sqltype.Value, error)
}

// FrequencyReader is a PublicReader that also reads how many rows of a public relation have one value of some of its columns, at most. NULL is a value. Of no column it is the number of rows.
type FrequencyReader interface {
	MostOften(ctx context.Context, r Rel, by []ColID) (uint64, error)
}

// Table is a relation of the catalog with what the policy declares of it.
type Table struct {
	OID          uint32 // stable, above 16384
	Schema, Name string // as analysts write it and as it is printed, qualified, for the backend
	Public       bool   // its rows belong to nobody
	Description  string // of dpsql's own
	Columns      []TableColumn
	Keys         [][]int // column sets that the database keeps unique
	Unprotected  bool    // people whom its rows name in a second way are outside the promise

	References []Reference // the database's foreign keys to listed tables

	// For private tables:
	Units   dp.Units  // who its rows belong to: one unit of each kind; where Of is nil and there are several, of no kind that statements may read
	UnitCol int       // its own column that holds the unit's value, or -1: reached through Path only
	Path    *UnitPath // the foreign key by which the unit is reached; nil for the unit's own table
	// UnitElse are the columns of unit: coalesce(column, ...) after the first: where that leads to no person, the first of them that is not NULL is the row's unit, together with its name.
	UnitElse []int
	OwnKey   []int  // rows_without_unit: own: the key, never NULL, by which a row that leads to no person is a unit of its own; nil: such rows are dropped
	MaxRows  uint64 // max_rows_per_unit; 0 = automatic. The unit's own table has 1 if the unit column is a key
	// MaxFrequency says how many rows with one value of a key are kept in a join on it that is bounded by declared frequencies (truncation). Others are left out there, so it need not hold in the data; where frequencies are measured it says nothing.
	MaxFrequency []MaxFrequency

	// Of a table whose rows belong to a unit of each of several kinds: the same table as rows of one kind, in the order of Units, whose Whole it is. UnitCol (-1), Path (nil) and MaxRows (0) say
	// nothing of it then. Paths of these lead to tables as rows of that kind.
	Of    []*Table
	Whole *Table
}

// MaxFrequency is a cap on rows that agree in Columns, which are in ascending order.
type MaxFrequency struct {
	Columns []int
	Most    uint64
}

// As is the table as rows of one kind of units: itself, or one of Of; nil where its rows belong to no unit of that kind.
func (t *Table) As(u dp.Unit) *Table {
	for i, of := range t.Of {
		if t.Units[i] == u {
			return of
		}
	}
	if len(t.Units) == 1 && t.Units[0] == u {
		return t
	}
	return nil
}

// Reference is a foreign key of the database, as the catalogs show it: no proof uses it.
type Reference struct {
	Columns    []int
	Table      *Table
	RefColumns []int
}

// UnitPath is a declared foreign key on the way to the unit. Where the child carries the unit's column too (UnitCol >= 0 and
// Columns has more than it), equality of the unit's columns is part of every join along the path.
type UnitPath struct {
	Columns       []int
	Parent        *Table
	ParentColumns []int
}

// Spelled is the table's name as a statement finds it: with its schema, unless that is the backend's usual one.
func (t *Table) Spelled() string {
	if t.Schema == "" || t.Schema == "public" || t.Schema == "main" {
		return QuoteIdent(t.Name)
	}
	return QuoteIdent(t.Schema) + "." + QuoteIdent(t.Name)
}

// TableColumn is one column. A column that is not Visible exists only for the unit path.
type TableColumn struct {
	Name        string
	Type        sqltype.Type
	NotNull     bool // by a constraint of the database or a checked file
	Visible     bool
	Unread      bool             // listed for this analyst, of a type that dpsql does not read
	Collate     bool             // a text with a collation of its own (sqltype.RelationColumn)
	System      bool             // of PostgreSQL's catalogs: a name may be tableoid, and * has it not
	Range       *num.Interval    // declared; enforced by a clamp at the scan where a proof uses it
	Domain      *Domain          // declared public domain
	Step        *decimal.Decimal // declared grid
	Elements    *Elements        // declared of an array or a bytea: how many numbers of what range
	Description string
	Unprotected bool // a person whom it names is outside the promise
}

// Values is how many values the column may have by a listed domain, or by the range of whole numbers or days; false: the policy does not say.
func (c *TableColumn) Values() (n uint64, ok bool) {
	switch {
	case c.Domain != nil && len(c.Domain.Values) > 0:
		return uint64(len(c.Domain.Values)), true
	case c.Range != nil && (c.Type.IsInteger() || c.Type.OID == sqltype.OIDDate):
		n := c.Range.Hi.Sub(c.Range.Lo).Add(decimal.NewFromInt(1)).BigInt()
		return n.Uint64(), n.Sign() > 0 && n.IsUint64()
	}
	return 0, false
}

// RangeTexts are the ends of the range as the type writes them: ranges of dates count from 2000-01-01.
func (c *TableColumn) RangeTexts() (lo, hi string) {
	text := func(x decimal.Decimal) string {
		switch c.Type.OID {
		case sqltype.OIDDate:
			return sqltype.FormatText(sqltype.Days(x.IntPart()), c.Type) //nolint:gosec // G115: ends of a range are dates
		case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			return sqltype.FormatText(sqltype.Micros(x.IntPart()), c.Type)
		}
		return x.String()
	}
	return text(c.Range.Lo), text(c.Range.Hi)
}

// Elements are an array's: Length numbers within Range, in as many dimensions as Shape has. The array itself is stored with one.
type Elements struct {
	Shape  []int
	Length int
	Range  num.Interval
}

// Domain is a public domain: a list (nil stands for NULL), or the values of a public table's column.
type Domain struct {
	Values     []sqltype.Value
	From       *Table
	FromColumn int
	OrNull     bool // beside From: NULL too
	Enforced   bool // the database holds the column to Values and NULL
}

// AttNum is the number of a column among those that may be seen: pg_attribute's attnum.
func (t *Table) AttNum(column int) (n int16) {
	for _, c := range t.Columns[:column+1] {
		if c.Visible {
			n++
		}
	}
	return n
}
