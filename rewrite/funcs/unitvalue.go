package funcs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// The rows of what is computed of privacy units (sensitivity/unit, rowunits.go and body.go), which no statement can name. They have no evaluation in the proxy: units' values do not reach it.
var (
	// PersonUnit, ColumnUnit and RowUnit are the texts that units' values are: of a person, of a column's name and value, of a table and its key.
	PersonUnit = unitRow("person's unit", text, unitForms(personText))
	ColumnUnit = unitRow("column's unit", text, unitForms(columnText))
	RowUnit    = unitRow("row's unit", text, unitForms(rowText))
	// UnitText is a unit's value without the letter before it.
	UnitText = unitRow("unit's text", text, unitForms(func(w unitTexts, args []string, _ []sqltype.Type) string { return w.rest(args[0]) }))
	// InSplit and OutsideSplit tell of a unit whether it is in a part of a split, by its value, a salt and the fraction's hexadecimal digits.
	InSplit      = unitRow("in split", yes, splitForms("<"))
	OutsideSplit = unitRow("outside split", yes, splitForms(">="))
	// UnitEquality is the "=" of keys of the same type, which needs no total form in any database.
	UnitEquality = unitRow("=", yes, alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return x[0] + " = " + x[1] }))
)

func unitRow(name string, result sqltype.OID, forms Forms) *Func {
	kind := Function
	if name == "=" {
		kind = Operator
	}
	return &Func{Name: name, Kind: kind, Result: result, TotalForm: forms, RaisingForm: forms}
}

// unitTexts is how a database writes what units' values are made of.
type unitTexts struct {
	// text is the text of a unit's value, the same for equal values of whatever type they have (policy.CanBeUnit): of integers of every width, and of texts of every length, the same
	// text, of numerics the one without trailing zeros, of char(n) the one without blanks.
	text   func(x string, t sqltype.Type) string
	join   func(parts []string) string // NULL where one of them is
	bytes  string                      // the name of a text's length in bytes
	length string                      // in characters
	rest   func(x string) string       // without the first character
	split  func(salt, text, op, digits string) string
}

var unitTextsOf = map[dialect.Dialect]unitTexts{
	Postgres: {
		text: func(x string, t sqltype.Type) string {
			if t.OID == numeric {
				x = "pg_catalog.trim_scale(" + x + ")"
			}
			return "CAST(" + x + " AS pg_catalog.text)"
		},
		join: func(parts []string) string {
			text := parts[len(parts)-1]
			for _, p := range slices.Backward(parts[:len(parts)-1]) {
				text = fmt.Sprintf("pg_catalog.textcat(%s, %s)", p, text)
			}
			return "(" + text + ` COLLATE pg_catalog."C")`
		},
		bytes: "pg_catalog.octet_length", length: "pg_catalog.length",
		rest: func(x string) string { return "pg_catalog.substr(" + x + ", 2)" },
		// every text is valid in SQL_ASCII: its bytes as they are, whatever the database's encoding
		split: func(salt, text, op, digits string) string {
			return fmt.Sprintf(`(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.textcat(%s, %s), 'SQL_ASCII')), 'hex') COLLATE pg_catalog."C" %s %s)`, salt, text, op, digits)
		},
	},
	DuckDB: {
		text: func(x string, t sqltype.Type) string {
			text := "CAST(" + x + " AS VARCHAR)"
			if t.OID == numeric {
				text = fmt.Sprintf("(CASE WHEN contains(%s, '.') THEN rtrim(rtrim(%s, '0'), '.') ELSE %s END)", text, text, text)
			}
			return text
		},
		join:  func(parts []string) string { return "(" + strings.Join(parts, " || ") + ")" },
		bytes: "strlen", length: "length",
		rest: func(x string) string { return "substr(" + x + ", 2)" },
		split: func(salt, text, op, digits string) string {
			return fmt.Sprintf("(sha256(%s || %s) %s %s)", salt, text, op, digits)
		},
	},
}

func unitForms(of func(w unitTexts, args []string, types []sqltype.Type) string) Forms {
	out := Forms{}
	for d, w := range unitTextsOf {
		out[d] = func(args []string, types []sqltype.Type, _ sqltype.Type) string { return of(w, args, types) }
	}
	return out
}

func personText(w unitTexts, args []string, types []sqltype.Type) string {
	return w.join([]string{"'p'", w.text(args[0], types[0])})
}

// columnText is NULL for texts so long that the unit's could not be made of them: no key bounds what such a column holds.
func columnText(w unitTexts, args []string, types []sqltype.Type) string {
	x := args[1]
	if types[1].IsString() {
		x = fmt.Sprintf("(CASE WHEN %s(%s) <= 1000000 THEN %s END)", w.bytes, x, x)
	}
	return w.join([]string{args[0], w.text(x, types[1])})
}

// rowText has the length before each value of a key of several: different keys have different texts.
func rowText(w unitTexts, args []string, types []sqltype.Type) string {
	parts := []string{args[0]}
	for i, x := range args[1:] {
		text := w.text(x, types[i+1])
		if len(args) > 2 {
			parts = append(parts, w.text(w.length+"("+text+")", sqltype.Int4), "':'")
		}
		parts = append(parts, text)
	}
	return w.join(parts)
}

// splitForms compare the digits of a hash of salt and value with those of the fraction.
func splitForms(op string) Forms {
	return unitForms(func(w unitTexts, args []string, types []sqltype.Type) string {
		return w.split(args[1], w.text(args[0], types[0]), op, args[2])
	})
}
