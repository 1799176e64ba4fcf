package sqlgen

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// PostgreSQL raises at texts of a gigabyte, and keeps all that is computed of a row until the row is done; so a statement over private rows must not make such a text of a person's
// row, nor very many long ones, however it multiplies it. What functions make of a text and a number ends at funcs.MaxText bytes, and so does what is put together of texts (chain), mostJoined of
// them at most; what gets a name in a subquery, from where it could be put together again, is NULL above that. A statement makes mostTexts texts of a row at most, which are 256 MB, and
// its arrays of texts have mostElements together. Texts that are stored stay as they are: a row would need one of megabytes.
const (
	mostJoined   = 500
	mostElements = 1000
	mostTexts    = 4000
	arrayTexts   = 16                // an array of the parts of a text takes as much as so many texts
	mostPadded   = funcs.MaxText / 4 // of char(n), in characters
)

// textMakers are functions whose results take memory, as so many texts.
var textMakers = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for _, f := range funcs.All() {
		t := sqltype.Type{OID: f.Result, Typmod: -1}
		switch {
		case f.Kind != funcs.Function:
		case t.IsArray():
			out[f.Name] = arrayTexts
		case t.IsString() || f.Result == sqltype.OIDBytea || f.Result == sqltype.OIDJSON || f.Result == sqltype.OIDJSONB:
			out[f.Name] = max(out[f.Name], 1)
		}
	}
	return out
})

// textsMade is how many texts a printed statement makes of a row, if it computes everything in it: by calls, || and casts.
func textsMade(sql string) int {
	n := strings.Count(sql, "||")
	makers := textMakers()
	for at, b := range []byte(sql) {
		switch {
		case b == '(':
			from := at
			for from > 0 && wordByte(sql[from-1]) {
				from--
			}
			n += makers[strings.TrimLeft(sql[from:at], "0123456789_")]
		case b == 'A' && strings.HasPrefix(sql[at:], "AS "):
			from := at + len("AS ")
			if strings.HasPrefix(sql[from:], "pg_catalog.") {
				from += len("pg_catalog.")
			}
			to := from
			for to < len(sql) && wordByte(sql[to]) {
				to++
			}
			if word := sql[from:to]; word == "text" || word == "varchar" || word == "bpchar" || word == "char" {
				n++
			}
		}
	}
	return n
}

func wordByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' }

// chain prints texts that are put together, NULL where they are longer than funcs.MaxText together: with each || for itself the first of them would be kept once more for
// each further one.
func (p *printer) chain(n *plan.Call, f *from, m mode) string {
	var parts []string
	var visit func(x plan.Scalar)
	visit = func(x plan.Scalar) {
		if c, ok := x.(*plan.Call); ok && c.Fn == n.Fn {
			for _, a := range c.Args {
				visit(a)
			}
			return
		}
		parts = append(parts, p.scalar(x, f, m))
	}
	visit(n)
	return p.d.Joined(parts, n.T, funcs.MaxText)
}

// computed tells whether a text is more than a column of a table or of a subquery, or a constant.
func (p *printer) computed(x plan.Scalar, f *from) bool {
	if p.form.exact || p.d.Facts().HoldsLongTexts || !x.Type().IsString() {
		return false
	}
	switch n := x.(type) {
	case *plan.Const, *plan.Param:
		return false
	case *plan.Col:
		return p.computedColumn(n.ID, f)
	}
	return true
}

func (p *printer) computedColumn(id plan.ColID, f *from) bool {
	for ; f != nil; f = f.outer {
		if c, ok := f.cols[id]; ok {
			return c.expr != nil && p.computed(c.expr, f)
		}
	}
	return false
}

// short is a text, NULL where it is too long.
func (p *printer) short(text string) string {
	return fmt.Sprintf("(CASE WHEN %s <= %d THEN %s END)", p.d.ByteLength(text), funcs.MaxText, text)
}

// named is a column that gets a name in a subquery.
func (p *printer) named(f *from, id plan.ColID, m mode) string {
	text := f.column(p, id, m)
	if p.computedColumn(id, f) {
		return p.short(text)
	}
	return text
}

// arguments are those of a function whose result gets a name in a subquery.
func (p *printer) arguments(xs []plan.Scalar, f *from) []string {
	out := p.list(xs, f, stored)
	for i, x := range xs {
		if p.computed(x, f) {
			out[i] = p.short(out[i])
		}
	}
	return out
}

// elements are an array's, each NULL where it is a text too long.
func (p *printer) elements(n *plan.ArrayExpr, f *from, m mode) []string {
	out := p.list(n.Elems, f, m)
	if elem, ok := n.T.Elem(); p.form.exact || !ok || !elem.IsString() {
		return out
	}
	for i, x := range n.Elems {
		if c, ok := x.(*plan.Const); !ok || isLong(c.Value) {
			out[i] = p.short(out[i])
		}
	}
	if p.size.elems += len(out); p.size.elems > mostElements {
		p.fail(tooMany("elements of arrays of texts", mostElements))
	}
	return out
}

func isLong(v sqltype.Value) bool {
	s, _ := v.(string)
	return len(s) > funcs.MaxText
}

// checkLength refuses a call whose text the statement alone could make too long.
func (p *printer) checkLength(n *plan.Call, text string) {
	if p.form.exact || p.d.Facts().HoldsLongTexts {
		return
	}
	switch {
	case n.Fn.Kind == funcs.Cast && n.T.OID == sqltype.OIDBPChar && n.T.Typmod-4 > mostPadded:
		p.fail(sqlerr.New(sqlerr.PrivateFunction, "%s over private rows is not supported", n.T).At(n.Pos).WithHint("Use varchar, which has no blanks at its end."))
	case n.Fn.Name != "||" && n.Fn.Name != "overlay":
	case strings.Count(text, " || ")+strings.Count(text, "overlay(") > mostJoined:
		p.fail(tooMany("texts put together", mostJoined))
	}
}

func tooMany(what string, most int) error {
	return sqlerr.New(sqlerr.TooComplex, "%s over private rows are at most %d once the statement is written out", what, most).
		WithHint("Use fewer, and fewer expressions over those of subqueries.")
}
