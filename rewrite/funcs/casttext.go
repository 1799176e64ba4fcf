package funcs

import (
	"strconv"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

var strings3 = []sqltype.OID{text, sqltype.OIDVarchar, sqltype.OIDBPChar}

// fromText are the casts of strings to other types. A string that PostgreSQL would not read is NULL; which others are, gapRules has in words.
func fromText() []*Func {
	var out []*Func
	for _, s := range strings3 {
		for _, t := range intOIDs {
			out = append(out, read(s, t, textToInt(t)))
		}
		for _, t := range floatOIDs {
			out = append(out, read(s, t, textToFloat(t)))
		}
		out = append(out, textToNumeric(s), read(s, yes, textToBool()), read(s, day, textToDate(day)), read(s, stamp, textToDate(stamp)),
			read(s, clock, textToClock()), read(s, sqltype.OIDUUID, textToUUID()))
	}
	return append(out, cutTo(sqltype.OIDVarchar), cutTo(sqltype.OIDBPChar))
}

const (
	space         = `[ \t\n\r\f\v]*`
	significand   = `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)`
	number        = significand + `([eE][+-]?0*[0-9]{1,3})?`
	duckTrimmed   = "trim({x}, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13))"
	shortText     = "octet_length({x}) <= 1000"
	duckShortText = "strlen({x}) <= 1000"
)

// read makes a cast's row. PostgreSQL's own is the plain cast.
func read(from, to sqltype.OID, f forms) *Func {
	name := sqlName(to)
	f.own = "CAST({x} AS " + name + ")"
	r := row(Cast, "cast", oids(from), to, true, f)
	if from == sqltype.OIDBPChar { // without its blanks
		of := func(d dialect.Dialect, form Form) Form {
			return func(x []string, types []sqltype.Type, t sqltype.Type) string {
				return form([]string{unpadded[d](x[0])}, types, t)
			}
		}
		r.TotalForm = r.TotalForm.each(of)
		if f.duck != "" {
			r.RaisingForm[DuckDB] = of(DuckDB, r.RaisingForm[DuckDB])
		}
	}
	if isInt(to) {
		r.Range = func([]*num.Interval, []sqltype.Type) *num.Interval { return plainRange(to) }
	}
	return r.eval(func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		s := v[0].(string)
		if from == sqltype.OIDBPChar {
			s = trimBlanks(s)
		}
		out, err := sqltype.ParseText(s, t)
		if sqlerr.ID(err) == sqlerr.Unsupported.ID { // NaN and infinities, which released numerics do not have
			return nil, outOfRange("value")
		}
		return out, err
	})
}

// unpadded is a char(n) as a text without its blanks.
var unpadded = map[dialect.Dialect]func(v string) string{
	Postgres: func(v string) string { return "CAST(" + v + " AS text)" },
	DuckDB:   func(v string) string { return "rtrim(" + v + ", ' ')" },
}

// shapedAs tests a text against a pattern that both backends read the same, and only then computes.
func shapedAs(pattern, pg, duck string) forms {
	return forms{pg: "CASE WHEN {x} ~ " + quoted("^"+pattern+"$") + " THEN CASE WHEN " + shortText + " THEN " + pg + " END END",
		duck: "CASE WHEN regexp_full_match({x}, '" + pattern + "') THEN CASE WHEN " + duckShortText + " THEN " + duck + " END END"}
}

// textToInt looks at the digits from the first one that is not 0 on.
func textToInt(t sqltype.OID) forms {
	r := plainRange(t)
	pattern := space + "[+-]?0*[0-9]{1,19}" + space
	return forms{pg: "CASE WHEN {x} ~ " + quoted("^"+pattern+"$") + " THEN CASE WHEN CAST({x} AS numeric) BETWEEN " + r.Lo.String() + " AND " + r.Hi.String() + " THEN CAST({x} AS " + sqlName(t) + ") END END",
		duck: "CASE WHEN regexp_full_match({x}, '" + pattern + "') THEN " + duckWithin("TRY_CAST("+duckTrimmed+" AS HUGEINT)", t) + " END"}
}

// textToFloat asks the numeric whether the float can hold it; the limits are those of numberCast.
func textToFloat(t sqltype.OID) forms {
	most, least := "1.7976931348623158079e308", "2.4703282292062327209e-324"
	if t == sqltype.OIDFloat4 {
		most, least = "3.4028235677973366163e38", "7.006492321624085355e-46"
	}
	n, cast := "CAST({x} AS numeric)", "CAST({x} AS "+sqlName(t)+")"
	duckCast := "TRY_CAST(" + duckTrimmed + " AS " + sqlName(t) + ")"
	written := shapedAs(space+number+space, "CASE WHEN "+n+" = 0 OR abs("+n+") > numeric '"+least+"' AND abs("+n+") < numeric '"+most+"' THEN "+cast+" END", duckCast)
	named := shapedAs(space+"([+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])"+space, cast, duckCast)
	return forms{pg: "coalesce(" + written.pg + ", " + named.pg + ")", duck: "coalesce(" + written.duck + ", " + named.duck + ")"}
}

// textToNumeric has a scale on DuckDB only by a modifier.
func textToNumeric(from sqltype.OID) *Func {
	f := read(from, numeric, shapedAs(space+"("+number+"|[nN][aA][nN])"+space, "CAST({x} AS numeric)", ""))
	f.Refused = map[dialect.Dialect]string{DuckDB: "DuckDB's numerics have a declared scale: cast to numeric(p, s)"}
	plain := f.TotalForm[Postgres]
	f.TotalForm = Forms{
		Postgres: func(x []string, types []sqltype.Type, t sqltype.Type) string {
			if _, _, ok := t.NumericMod(); ok {
				return pgNumberCast(plain(x, types, t), numeric, t)
			}
			return plain(x, types, t)
		},
		DuckDB: func(x []string, _ []sqltype.Type, t sqltype.Type) string {
			p, s, ok := t.NumericMod()
			if !ok || p > 38 || s < 0 || s > p {
				return ""
			}
			if from == sqltype.OIDBPChar {
				x = []string{unpadded[DuckDB](x[0])}
			}
			return duckFill(shapedAs(space+significand+"([eE][+]?0*[0-9]{1,3})?"+space, "", "TRY_CAST("+duckTrimmed+" AS "+duckDecimal(p, s)+")").duck, x)
		},
	}
	f.RaisingForm = Forms{DuckDB: f.TotalForm[DuckDB], Postgres: exactCast}
	return f
}

// textToBool lists what boolin reads: the beginnings of true, false, yes and no, on, off, 1 and 0.
func textToBool() forms {
	form := func(word string) string {
		return "CASE WHEN " + word + " IN ('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1') THEN TRUE WHEN " + word + " IN ('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0') THEN FALSE END"
	}
	return forms{pg: form(`lower(btrim({x}, E' \t\n\r\f\v') COLLATE "C")`), duck: form("lower(" + duckTrimmed + ")")}
}

// cutTo is the explicit cast to varchar(n) or char(n), which cuts without an error.
func cutTo(to sqltype.OID) *Func {
	f := &Func{Name: "cast", Kind: Cast, Args: oids(to), Result: to}
	name := "varchar"
	if to == sqltype.OIDBPChar {
		name = "bpchar"
	}
	f.TotalForm = Forms{Postgres: func(x []string, _ []sqltype.Type, t sqltype.Type) string {
		if t.Typmod > 4 {
			return "CAST(" + x[0] + " AS " + name + "(" + strconv.Itoa(int(t.Typmod-4)) + "))"
		}
		return "CAST(" + x[0] + " AS " + name + ")"
	}}
	if to == sqltype.OIDBPChar {
		f.refuse(DuckDB, paddedThere)
	} else {
		f.TotalForm[DuckDB] = func(x []string, _ []sqltype.Type, t sqltype.Type) string {
			if t.Typmod > 4 {
				return "substr(" + x[0] + ", 1, " + strconv.Itoa(int(t.Typmod-4)) + ")"
			}
			return x[0]
		}
	}
	f.RaisingForm = f.TotalForm
	return f.safe(harmless).eval(func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		s, n := v[0].(string), int64(t.Typmod-4)
		switch {
		case n <= 0:
			return s, nil
		case to == sqltype.OIDBPChar:
			return pad(s, n, " ", false)
		}
		return substring(s, 1, n), nil
	})
}
