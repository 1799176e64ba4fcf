package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// castType resolves a written type and its modifiers. In front of a literal char and bit have no length of their own.
func (b *binder) castType(n pgsyntax.TypeName, literal bool) (sqltype.Type, error) {
	t, err := b.namedType(n)
	if err != nil {
		return t, err
	}
	mods := n.Mods
	if len(mods) == 0 && !literal && !n.Quoted && n.Schema == "" && (spelled[n.Name] == "bpchar" || spelled[n.Name] == "bit") {
		mods = []int{1}
	}
	if n.Fields != "" {
		mods = append([]int{}, mods...)
	}
	if len(mods) > 0 || n.Fields != "" {
		if t, err = b.withModifier(t, mods, n); err != nil {
			return t, err
		}
	}
	if n.Dims > 0 {
		array := b.of(b.array(t.OID))
		if array.OID == 0 {
			if b.elem(t.OID) != 0 {
				array = b.of(t.OID)
			} else {
				return t, sqlerr.New(sqlerr.UndefinedObject, "type \"%s[]\" does not exist", n.Name).At(int(n.Pos))
			}
		}
		array.Typmod = t.Typmod
		t = array
	}
	if b.hides(t) || t.OID == sqltype.OIDUnknown {
		return t, unsupportedType(t, n.Pos)
	}
	return t, nil
}

func (b *binder) namedType(n pgsyntax.TypeName) (sqltype.Type, error) {
	name := typeColumn(n)
	if builtinSchema(n.Schema) {
		if n.Name == "float" && !n.Quoted && n.Schema == "" && len(n.Mods) == 1 {
			switch bits := n.Mods[0]; {
			case bits < 1:
				return sqltype.Type{}, sqlerr.New(sqlerr.InvalidParam, "precision for type float must be at least 1 bit").At(int(n.Pos))
			case bits > 53:
				return sqltype.Type{}, sqlerr.New(sqlerr.InvalidParam, "precision for type float must be less than 54 bits").At(int(n.Pos))
			}
		}
		if t := pgcat.TypeNamed(name); t != nil {
			return b.of(t.OID), nil
		}
	}
	if b.find.meta != nil {
		if t, ok := b.find.meta.Type(n.Schema, name); ok {
			return t, nil
		}
	}
	if t, ok := b.enumOf(func(e sqltype.Enum) bool { return e.Name == name && (n.Schema == "" || n.Schema == e.Schema) }); ok {
		return t, nil
	}
	written := n.Name
	if n.Schema != "" {
		written = n.Schema + "." + n.Name
	}
	missing := sqlerr.New(sqlerr.UndefinedObject, "type %q does not exist", written).At(int(n.Pos))
	near := sqlerr.Nearest(n.Name, knownTypes())
	switch {
	case near != "":
		return sqltype.Type{}, missing.WithHint("Perhaps you meant %s.", near)
	case n.Schema == "pg_catalog":
		return sqltype.Type{}, missing.WithHint("docs/sql.md lists the types.")
	}
	return sqltype.Type{}, sqlerr.New(sqlerr.UnsupportedType, "type %q is not known here", written).At(int(n.Pos)).
		WithHint("Cast to the type that a domain is made of; docs/sql.md lists the types.")
}

// enumOf looks through the columns that the analyst may see, in tables of any schema: an enum that none of them has does not exist. Of several it is one of schema public (sqltype.Enum.String), else the first.
func (b *binder) enumOf(wanted func(sqltype.Enum) bool) (found sqltype.Type, ok bool) {
	for _, t := range b.cat.VisibleTables() {
		for _, c := range t.Columns {
			if e, is := c.Type.Enum(); is && c.Visible && wanted(e) && (!ok || e.Schema == "public") {
				b.add(c.Type)
				found, ok = sqltype.EnumType(e), true
			}
		}
	}
	return found, ok
}

func knownTypes() []string {
	out := []string{"bool", "int2", "int4", "int8", "float4", "float8", "text", "date", "timestamptz", "timetz", "uuid", "bytea", "json", "jsonb"}
	for n := range spelled {
		if !strings.HasPrefix(n, "n") || n == "numeric" {
			out = append(out, n)
		}
	}
	return out
}

// withModifier is the type's typmod input function.
func (b *binder) withModifier(t sqltype.Type, mods []int, n pgsyntax.TypeName) (sqltype.Type, error) {
	bad := func(format string, args ...any) (sqltype.Type, error) {
		return t, sqlerr.New(sqlerr.InvalidParam, format, args...).At(int(n.Pos))
	}
	first := 0
	if len(mods) > 0 {
		first = mods[0]
	}
	switch t.OID {
	case sqltype.OIDNumeric:
		return b.numericModifier(t, mods, n)
	case sqltype.OIDVarchar, sqltype.OIDBPChar, oidBit, oidVarbit:
		name, most, add := map[sqltype.OID]string{sqltype.OIDVarchar: "varchar", sqltype.OIDBPChar: "char", oidBit: "bit", oidVarbit: "varbit"}[t.OID], 10485760, int32(4)
		if t.OID == oidBit || t.OID == oidVarbit {
			most, add = 83886080, 0
		}
		switch {
		case len(mods) != 1:
			return bad("invalid type modifier")
		case first < 1:
			return bad("length for type %s must be at least 1", name)
		case first > most:
			return bad("length for type %s cannot exceed %d", name, most)
		}
		t.Typmod = int32(first) + add
		return t, nil
	case sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		word, zone := "TIME", ""
		if t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz {
			word = "TIMESTAMP"
		}
		if t.OID == sqltype.OIDTimetz || t.OID == sqltype.OIDTimestamptz {
			zone = " WITH TIME ZONE"
		}
		switch {
		case len(mods) != 1:
			return bad("invalid type modifier")
		case first < 0:
			return bad("%s(%d)%s precision must not be negative", word, first, zone)
		}
		t.Typmod = int32(min(first, 6))
		return t, nil
	case sqltype.OIDInterval:
		fields := sqltype.IntervalFields(0)
		if n.Fields != "" {
			var ok bool
			if fields, ok = sqltype.ParseIntervalFields(n.Fields); !ok {
				return bad("invalid INTERVAL type modifier")
			}
		}
		precision := -1
		if len(mods) == 1 {
			if precision = min(first, 6); first < 0 {
				return bad("INTERVAL(%d) precision must not be negative", first)
			}
		}
		return sqltype.IntervalOf(fields, precision), nil
	}
	if n.Name == "float" && !n.Quoted && n.Schema == "" {
		return t, nil
	}
	return t, sqlerr.New(sqlerr.Syntax, "type modifier is not allowed for type %q", n.Name).At(int(n.Pos))
}

// The limits of numeric's modifier (utils/numeric.h).
const (
	maxPrecision = 1000
	maxScale     = 1000
)

func (b *binder) numericModifier(t sqltype.Type, mods []int, n pgsyntax.TypeName) (sqltype.Type, error) {
	bad := func(format string, args ...any) (sqltype.Type, error) {
		return t, sqlerr.New(sqlerr.InvalidParam, format, args...).At(int(n.Pos))
	}
	precision, scale := mods[0], 0
	if len(mods) > 1 {
		scale = mods[1]
	}
	switch {
	case len(mods) > 2:
		return bad("invalid NUMERIC type modifier")
	case precision < 1 || precision > maxPrecision:
		return bad("NUMERIC precision %d must be between 1 and %d", precision, maxPrecision)
	case scale < -maxScale || scale > maxScale:
		return bad("NUMERIC scale %d must be between %d and %d", scale, -maxScale, maxScale)
	case (scale < 0 || scale > precision) && !b.find.open:
		return t, unsupported(n.Pos, "a numeric scale outside 0 to its precision is")
	}
	return sqltype.NumericOf(precision, scale), nil
}
