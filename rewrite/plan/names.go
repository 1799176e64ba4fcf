package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// typeSpellings maps a type's written name to its type and its name in pg_type (which names a column: '1'::int is int4).
var typeSpellings = map[string]struct {
	t    sqltype.Type
	name string
}{
	"bool": {sqltype.Bool, "bool"}, "boolean": {sqltype.Bool, "bool"},
	"int2": {sqltype.Int2, "int2"}, "smallint": {sqltype.Int2, "int2"},
	"int4": {sqltype.Int4, "int4"}, "int": {sqltype.Int4, "int4"}, "integer": {sqltype.Int4, "int4"},
	"int8": {sqltype.Int8, "int8"}, "bigint": {sqltype.Int8, "int8"},
	"float4": {sqltype.Float4, "float4"}, "real": {sqltype.Float4, "float4"},
	"float8": {sqltype.Float8, "float8"}, "double precision": {sqltype.Float8, "float8"}, "float": {sqltype.Float8, "float8"},
	"numeric": {sqltype.Numeric, "numeric"}, "decimal": {sqltype.Numeric, "numeric"}, "dec": {sqltype.Numeric, "numeric"},
	"text": {sqltype.Text, "text"}, "varchar": {sqltype.Varchar, "varchar"}, "character varying": {sqltype.Varchar, "varchar"},
	"date": {sqltype.Date, "date"}, "timestamp": {sqltype.Timestamp, "timestamp"}, "timestamp without time zone": {sqltype.Timestamp, "timestamp"},
}

// castType resolves a written type and its modifiers; name is what it calls a column.
func castType(n pgsyntax.TypeName) (t sqltype.Type, name string, err error) {
	s, ok := typeSpellings[strings.ToLower(n.Name)]
	switch {
	case n.Dims > 0:
		return t, "", unsupported(n.Pos, "an array type is")
	case !ok || !builtinSchema(n.Schema):
		return t, "", sqlerr.New(sqlerr.UndefinedObject, "type %q does not exist", n.Name).At(int(n.Pos)).
			WithHint("dpsql casts to boolean, smallint, integer, bigint, real, double precision, numeric, text, varchar, date, timestamp.")
	case len(n.Mods) == 0:
		return s.t, s.name, nil
	case s.t.OID == sqltype.OIDNumeric && len(n.Mods) <= 2:
		scale := 0
		if len(n.Mods) == 2 {
			scale = n.Mods[1]
		}
		if n.Mods[0] < 1 || n.Mods[0] > 1000 {
			return t, "", sqlerr.New(sqlerr.InvalidParam, "NUMERIC precision %d must be between 1 and 1000", n.Mods[0]).At(int(n.Pos))
		}
		if scale < 0 || scale > n.Mods[0] {
			return t, "", unsupported(n.Pos, "a numeric scale outside 0 to its precision is")
		}
		return sqltype.NumericOf(n.Mods[0], scale), s.name, nil
	case s.name == "float8" && strings.EqualFold(n.Name, "float") && len(n.Mods) == 1 && n.Mods[0] >= 1 && n.Mods[0] <= 53:
		if n.Mods[0] <= 24 {
			return sqltype.Float4, "float4", nil
		}
		return s.t, s.name, nil
	}
	return t, "", unsupported(n.Pos, "a modifier of type "+n.Name+" is")
}

const anonymous = "?column?"

// outputName is PostgreSQL's name of an unnamed output column (parse_target.c, FigureColname).
func outputName(x pgsyntax.Expr) string {
	if name, _ := figure(x); name != "" {
		return name
	}
	return anonymous
}

// figure gives a name and how much it is worth: 2 from a column or function, 1 from a type or a construct.
func figure(x pgsyntax.Expr) (string, int) {
	switch x := x.(type) {
	case *pgsyntax.ColumnRef:
		return x.Path[len(x.Path)-1], 2
	case *pgsyntax.FuncCall:
		return x.Name, 2
	case *pgsyntax.Cast:
		if name, worth := figure(x.X); worth > 1 {
			return name, worth
		}
		if _, name, err := castType(x.Type); err == nil {
			return name, 1
		}
	case *pgsyntax.Case:
		if x.Else != nil {
			if name, worth := figure(x.Else); worth > 1 {
				return name, worth
			}
		}
		return "case", 1
	case *pgsyntax.Collate:
		return figure(x.X)
	case *pgsyntax.Exists:
		return "exists", 2
	case *pgsyntax.Array:
		return "array", 2
	case *pgsyntax.Row:
		return "row", 2
	}
	return "", 0
}
