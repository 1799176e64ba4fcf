package plan

import "github.com/dpsql/dpsql/rewrite/pgsyntax"

// Anonymous is PostgreSQL's name of a column that has none.
const Anonymous = "?column?"

// outputName is PostgreSQL's name of an unnamed output column (parse_target.c, FigureColname).
func outputName(x pgsyntax.Expr) string {
	if name, _ := figure(x); name != "" {
		return name
	}
	return Anonymous
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
		return typeColumn(x.Type), 1
	case *pgsyntax.Case:
		if x.Else != nil {
			if name, worth := figure(x.Else); worth > 1 {
				return name, worth
			}
		}
		return "case", 1
	case *pgsyntax.Collate:
		return figure(x.X)
	case *pgsyntax.Subscript:
		return figure(x.X)
	case *pgsyntax.Paren:
		return figure(x.X)
	case *pgsyntax.Field:
		return x.Name, 2
	case *pgsyntax.Exists:
		return "exists", 2
	case *pgsyntax.Subquery:
		if x.Array {
			return "array", 2
		}
		return subqueryName(x.Query), 2
	case *pgsyntax.Array:
		return "array", 2
	case *pgsyntax.Row:
		return "row", 2
	}
	return "", 0
}

// subqueryName is that of a subquery's first column.
func subqueryName(s *pgsyntax.Select) string {
	for s.Left != nil {
		s = s.Left
	}
	switch {
	case len(s.Targets) == 0:
		return ""
	case s.Targets[0].Alias != "":
		return s.Targets[0].Alias
	}
	return outputName(s.Targets[0].Expr)
}

func unbracketed(x pgsyntax.Expr) pgsyntax.Expr {
	for p, is := x.(*pgsyntax.Paren); is; p, is = x.(*pgsyntax.Paren) {
		x = p.X
	}
	return x
}

var errorNames = map[string]ErrorKind{string(ErrorHalfWidth): ErrorHalfWidth, string(ErrorLow): ErrorLow, string(ErrorHigh): ErrorHigh}

// isErrorFunction reports a call of dp_error, dp_low or dp_high.
func isErrorFunction(f *pgsyntax.FuncCall) bool {
	_, is := errorNames[f.Name]
	return is && f.Over == nil && (f.Schema == ownSchema || builtinSchema(f.Schema))
}

// medianName is dpsql's own aggregate median(x): percentile_cont(0.5) WITHIN GROUP (ORDER BY x), or percentile_disc of what percentile_cont does not take, such as dates.
const medianName = "median"

// ownSchema is where the catalogs show dpsql's own functions; it may be left out.
const ownSchema = "dpsql"

func inOwnSchema(x *pgsyntax.FuncCall) bool { return x.Schema == "" || x.Schema == ownSchema }

func builtinSchema(s string) bool { return s == "" || s == "pg_catalog" }

// typeColumn is what a type calls a column, or "".
func typeColumn(n pgsyntax.TypeName) string {
	if n.Quoted || n.Schema != "" {
		return n.Name
	}
	if name, ok := spelled[n.Name]; ok {
		if n.Name == "float" && len(n.Mods) == 1 && n.Mods[0] <= 24 {
			return "float4"
		}
		return name
	}
	return n.Name
}

// spelled has the types that SQL spells with words of its own, by their name in pg_type (which names a column: '1'::int is int4).
var spelled = map[string]string{
	"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "real": "float4", "boolean": "bool", "double precision": "float8",
	"float": "float8", "decimal": "numeric", "dec": "numeric", "numeric": "numeric", "bit": "bit", "bit varying": "varbit",
	"character": "bpchar", "char": "bpchar", "nchar": "bpchar", "national character": "bpchar", "national char": "bpchar",
	"varchar": "varchar", "character varying": "varchar", "char varying": "varchar", "nchar varying": "varchar",
	"national character varying": "varchar", "national char varying": "varchar",
	"timestamp": "timestamp", "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
	"time": "time", "time without time zone": "time", "time with time zone": "timetz", "interval": "interval",
}
