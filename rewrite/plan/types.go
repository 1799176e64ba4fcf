package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// PostgreSQL's pseudo-types and the likes that resolution treats on their own.
const (
	oidAny             sqltype.OID = 2276
	oidAnyArray        sqltype.OID = 2277
	oidAnyElement      sqltype.OID = 2283
	oidAnyNonArray     sqltype.OID = 2776
	oidAnyEnum         sqltype.OID = 3500
	oidAnyRange        sqltype.OID = 3831
	oidAnyMultirange   sqltype.OID = 4537
	oidCompatible      sqltype.OID = 5077
	oidCompatArray     sqltype.OID = 5078
	oidCompatNonArray  sqltype.OID = 5079
	oidCompatRange     sqltype.OID = 5080
	oidCompatMultirnge sqltype.OID = 4538
	oidRecord          sqltype.OID = 2249
	oidInt2Vector      sqltype.OID = 22
	oidOidVector       sqltype.OID = 30
	oidBit             sqltype.OID = 1560
	oidVarbit          sqltype.OID = 1562
	oidTextArray       sqltype.OID = 1009
)

// types are pg_type with the enums that the statement's tables have.
type types struct {
	enums map[sqltype.OID]*pgcat.Type
	full  map[sqltype.OID]sqltype.Type // of the enums and their arrays
}

// add makes a column's enum known.
func (ts *types) add(t sqltype.Type) {
	e, ok := t.Enum()
	if !ok || ts.enums[e.OID] != nil {
		return
	}
	if ts.enums == nil {
		ts.enums, ts.full = map[sqltype.OID]*pgcat.Type{}, map[sqltype.OID]sqltype.Type{}
	}
	enum := sqltype.EnumType(e)
	ts.enums[e.OID] = &pgcat.Type{OID: e.OID, Name: e.Name, Len: 4, Kind: 'e', Category: 'E', Array: e.Array}
	ts.full[e.OID] = enum
	if array, ok := sqltype.ArrayOf(enum); ok {
		ts.enums[array.OID] = &pgcat.Type{OID: array.OID, Name: "_" + e.Name, Len: -1, Kind: 'b', Category: 'A', Elem: e.OID, TrueArray: true}
		ts.full[array.OID] = array
	}
}

var noType = &pgcat.Type{Category: 'X'}

func (ts *types) info(o sqltype.OID) *pgcat.Type {
	if t := pgcat.TypeOf(o); t != nil {
		return t
	}
	if t := ts.enums[o]; t != nil {
		return t
	}
	return noType
}

// of is the unmodified type.
func (ts *types) of(o sqltype.OID) sqltype.Type {
	if t, ok := ts.full[o]; ok {
		return t
	}
	return sqltype.Type{OID: o, Typmod: -1}
}

func (ts *types) category(o sqltype.OID) byte { return ts.info(o).Category }

// base is the type below domains.
func (ts *types) base(o sqltype.OID) sqltype.OID {
	for {
		t := ts.info(o)
		if t.Kind != 'd' || t.Base == 0 {
			return o
		}
		o = t.Base
	}
}

// elem is the element type of a true array, or 0.
func (ts *types) elem(o sqltype.OID) sqltype.OID {
	if t := ts.info(o); t.TrueArray {
		return t.Elem
	}
	return 0
}

func (ts *types) array(o sqltype.OID) sqltype.OID { return ts.info(o).Array }

// polymorphic is IsPolymorphicType.
func polymorphic(o sqltype.OID) bool { return polyFamily1(o) || polyFamily2(o) }

func polyFamily1(o sqltype.OID) bool {
	switch o {
	case oidAnyElement, oidAnyArray, oidAnyNonArray, oidAnyEnum, oidAnyRange, oidAnyMultirange:
		return true
	}
	return false
}

func polyFamily2(o sqltype.OID) bool {
	switch o {
	case oidCompatible, oidCompatArray, oidCompatNonArray, oidCompatRange, oidCompatMultirnge:
		return true
	}
	return false
}

// sqlSpelling has the types whose name format_type spells as SQL does and sqltype does not know.
var sqlSpelling = map[sqltype.OID]string{oidBit: "bit", oidVarbit: "bit varying", oidAny: `"any"`}

// name is format_type_be: the type as messages spell it, without modifier.
func (ts *types) name(o sqltype.OID) string {
	if t := ts.of(o); t.IsKnown() {
		return t.String()
	}
	if e := ts.elem(o); e != 0 {
		return ts.name(e) + "[]"
	}
	if s, ok := sqlSpelling[o]; ok {
		return s
	}
	if t := ts.info(o); t != noType {
		return t.Name
	}
	return ts.of(o).String()
}

// names is an argument list as messages spell it.
func (ts *types) names(list []sqltype.OID) string {
	out := make([]string, len(list))
	for i, o := range list {
		out[i] = ts.name(o)
	}
	return strings.Join(out, ", ")
}

// bare is the type without its modifier.
func bare(t sqltype.Type) sqltype.Type {
	t.Typmod = -1
	return t
}

// typeName is the type as PostgreSQL's messages spell it, without modifiers.
func typeName(t sqltype.Type) string {
	return (&types{full: map[sqltype.OID]sqltype.Type{t.OID: bare(t)}}).name(t.OID)
}

func oidsOf(args []Scalar) []sqltype.OID {
	out := make([]sqltype.OID, len(args))
	for i, a := range args {
		out[i] = a.Type().OID
	}
	return out
}

// unordered are the types without operators to sort or group by: json, xml, and geometry.
var unordered = map[sqltype.OID]bool{sqltype.OIDJSON: true, 142: true, 600: true, 601: true, 602: true, 603: true, 604: true, 628: true, 718: true}
