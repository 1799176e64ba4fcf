package sqlgen

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// printer writes one statement. Its first error stays.
type printer struct {
	d    dialect.Dialect
	form form
	analysed
	facts

	outer *from // of the query around the one that is printed
	seed  int64 // of the hashes by which rows and groups are kept

	args    arguments
	aliases int
	size    size
	gaps    []Gap
	err     error

	subselect func(x *plan.Subquery, f *from) string // prints a query in an expression
}

// form is how expressions are printed at present.
type form struct {
	exact     bool                // by PostgreSQL's own forms, which may raise: over public tables only
	noisy     map[plan.ColID]bool // columns that an exact form may not raise for
	comparing bool                // what is printed is compared, or asked about
	asList    bool                // a list of DuckDB's may be read here
}

// size is how much is printed.
type size struct {
	scans int // of tables
	texts int // bytes of what is printed and not yet part of a longer text
	made  int // bytes of all that was printed
	elems int // of arrays of texts
}

// add counts a text and says whether that is too much, long before all of a statement is written.
func (s *size) add(text string) bool {
	s.texts, s.made = s.texts+len(text), s.made+len(text)
	return len(text) > maxText || s.texts > mostHeld || s.made > mostMade
}

// arguments are a statement's parameters. Each constant is one of them, however often it is printed.
type arguments struct {
	list  []Arg
	known map[argKey]string // as they are printed
}

// analysed is what the analysis says of a private statement.
type analysed struct {
	safe   map[*plan.Call]int32
	linked map[*plan.Subquery]bool // those that may stand in a private statement
	given  [][][]sqltype.Value     // rows that were released before
	params []sqltype.Value         // the statement's parameters, where they are known
}

// argKey: constants of one type and one text are one argument. A numeric's text has its scale: 1.5 is not 1.50.
type argKey struct {
	t     sqltype.Type
	param int
	text  string
}

func (p *printer) fail(err error) string {
	if p.err == nil {
		p.err = err
	}
	return "NULL"
}

func (p *printer) alias() string {
	p.aliases++
	return quote(fmt.Sprintf("t%d", p.aliases))
}

// mode says how a column is read: as stored, or through its declared range.
type mode int

const (
	stored mode = iota
	inRange
)

// held counts a text that is printed, and ends the printing of a statement that gets too long.
func (p *printer) held(text string) string {
	if p.size.add(text) {
		return p.fail(tooComplex())
	}
	return text
}

// constant prints NULL and booleans in place and everything else as a parameter.
func (p *printer) constant(v sqltype.Value, t sqltype.Type) string {
	switch b := v.(type) {
	case nil:
		name, err := p.typeName(t, nil)
		if err != nil {
			return p.fail(err)
		}
		return "CAST(NULL AS " + name + ")"
	case bool:
		if b {
			return "TRUE"
		}
		return "FALSE"
	}
	return p.argument(Arg{Type: t, Value: v})
}

func (p *printer) argument(a Arg) string {
	if a.Type.OID == sqltype.OIDUnknown {
		a.Type = sqltype.Text
	}
	name, err := p.typeName(a.Type, a.Value)
	if err != nil {
		return p.fail(err)
	}
	key := argKey{a.Type, a.Param, ""}
	if a.Value != nil {
		key.text = sqltype.FormatText(a.Value, a.Type)
	}
	if s, ok := p.args.known[key]; ok {
		return s
	}
	if len(p.args.list) >= maxArgs {
		return p.fail(tooComplex())
	}
	p.args.list = append(p.args.list, a)
	s := fmt.Sprintf("CAST($%d AS %s)", len(p.args.list), name)
	p.args.known[key] = s
	return s
}
