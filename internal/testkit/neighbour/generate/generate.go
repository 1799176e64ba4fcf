package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Source gives numbers from 0 to n-1.
type Source func(n int) int

// Statement is a random statement.
type Statement struct {
	root  *query
	Nodes map[string]int // what it is made of, by name
}

// New makes a statement over tables.
func New(draw Source, tables []*plan.Table) *Statement {
	g := &generator{draw: draw, nodes: map[string]int{}}
	for _, t := range tables {
		if t.Public {
			g.public = append(g.public, t)
		} else {
			g.private = append(g.private, t)
		}
	}
	return &Statement{root: g.statement(), Nodes: g.nodes}
}

type generator struct {
	draw            Source
	private, public []*plan.Table
	names           int
	nodes           map[string]int
	later           []string // conditions of joins that have no ON
}

func (g *generator) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// of takes one of a list; the first is the simplest.
func (g *generator) of(list ...string) string { return list[g.draw(len(list))] }

// odds is true one time in n.
func (g *generator) odds(n int) bool { return g.draw(n) == n-1 }

// way takes one of several, each as often as its weight says, and counts it. The first is the simplest.
func (g *generator) way(ways ...way) {
	total := 0
	for _, w := range ways {
		total += w.weight
	}
	at := g.draw(total)
	for _, w := range ways {
		if at -= w.weight; at < 0 {
			if w.name != "" {
				g.nodes[w.name]++
			}
			w.do()
			return
		}
	}
}

type way struct {
	weight int
	name   string
	do     func()
}

// kind is what may be done with a value.
type kind string

const (
	number  kind = "number" // a whole one
	decimal kind = "decimal"
	float   kind = "float"
	text    kind = "text"
	truth   kind = "truth"
	day     kind = "day"
	moment  kind = "moment"
)

func kindOf(t sqltype.Type) kind {
	switch {
	case t.IsInteger():
		return number
	case t.IsFloat():
		return float
	case t.OID == sqltype.OIDNumeric:
		return decimal
	case t.OID == sqltype.OIDBool:
		return truth
	case t.OID == sqltype.OIDDate:
		return day
	case t.OID == sqltype.OIDTimestamp:
		return moment
	}
	return text
}

// column is one that can be read.
type column struct {
	text   string // as it is written: t1.days
	kind   kind
	unit   bool // the privacy unit's
	ranged bool // a range is declared for it, or follows
	table  *plan.Table
	at     int // of table, where it is stored there as it is
}

func (c *column) stored(t *plan.Table, at int) bool { return c.table == t && t != nil && c.at == at }

// scope is what expressions may read: columns of relations beside each other.
type scope []column

// pick takes a column of a kind; nil if there is none.
func (g *generator) pick(s scope, kinds ...kind) *column {
	var fits []*column
	for i := range s {
		for _, k := range kinds {
			if s[i].kind == k {
				fits = append(fits, &s[i])
			}
		}
	}
	if len(fits) == 0 {
		return nil
	}
	return fits[g.draw(len(fits))]
}

func (s scope) unit() *column {
	for i := range s {
		if s[i].unit {
			return &s[i]
		}
	}
	return nil
}

// unit takes a column of the unit, now and then another than the first: that of a side which a join may pad. nil if there is none.
func (g *generator) unit(s scope) *column {
	units := slices.DeleteFunc(slices.Clone(s), func(c column) bool { return !c.unit })
	if len(units) > 1 && g.odds(3) {
		return &units[len(units)-1]
	}
	return s.unit()
}

// query is a SELECT, or a set operation of two.
type query struct {
	start       string // SELECT or SELECT DISTINCT ...
	items       []item
	from        *rel
	where       []string
	group       []string
	having      string
	tail        string // ORDER BY, LIMIT
	op          string // with other: a set operation
	other       *query
	tautologies []string // that may be added to where
}

type item struct {
	expr, name string
	kind       kind
}

// rel is an item of FROM: a table, a derived table, or a join, whose right side is no join.
type rel struct {
	table, alias string
	sub          *query
	values       string // instead of sub: VALUES with its column names
	join         string
	left, right  *rel
	on           string
	lateral      bool
}

// item adds an expression to a query's list; it gives its name.
func (g *generator) item(q *query, expr string, k kind) string {
	name := g.fresh("c")
	q.items = append(q.items, item{expr, name, k})
	return name
}

// level says where a sum stands; of nobody's rows it is 0 where it is released, and NULL elsewhere.
type level int

const (
	inside  level = iota // of a person's rows
	private              // of many persons' rows
	above                // of an answer
	below                // of many persons' rows, under another aggregate
	levels
)

// sum marks a sum by its level.
func (l level) sum(text string) string { return string(rune(1+2*l)) + text + string(rune(2+2*l)) }

// outer marks what a LATERAL reads of the relations before it: it cannot be named by WITH.
const outer = "\x10"

// spelled takes the marks out of a text; sums of the levels in zero are 0 over nothing.
func spelled(text string, zero int) string {
	pairs := []string{outer, ""}
	for l := level(0); l < levels; l++ {
		from, to := "", ""
		if zero>>l&1 == 1 {
			from, to = "coalesce(", ", 0)"
		}
		pairs = append(pairs, string(rune(1+2*l)), from, string(rune(2+2*l)), to)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Text is what the analyst writes.
func (s *Statement) Text() string { return spelled(s.print(Plain), 0) }

// Oracles are the texts that mean what an answer is, by which of its sums are released; the likely ones first.
func (s *Statement) Oracles() []string {
	text := s.print(Plain)
	var out []string
	for _, zero := range []int{1 << private, 0, 1 << above, 1 << inside, 1<<private | 1<<inside, 1<<private | 1<<above, 1<<above | 1<<inside, 1<<private | 1<<above | 1<<inside} {
		for _, released := range []int{1 << below, 0} {
			if t := spelled(text, zero|released); !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// Variant is another text of the same meaning.
type Variant string

// The variants.
const (
	Plain     Variant = "plain"
	Tautology Variant = "tautology" // a condition more that is always true
	Swapped   Variant = "another order of joins"
	Named     Variant = "WITH for derived tables"
	Wrapped   Variant = "derived tables around tables"
)

// Variants are those that change something.
var Variants = []Variant{Tautology, Swapped, Named, Wrapped}

// Variant is the text of a variant; the same as Text where there is nothing to change.
func (s *Statement) Variant(v Variant) string {
	return spelled(s.print(v), 0)
}

func (s *Statement) print(v Variant) string {
	p := &printer{variant: v}
	text := p.query(s.root)
	if len(p.with) > 0 && strings.HasPrefix(text, "with ") {
		text = "with " + strings.Join(p.with, ", ") + ", " + strings.TrimPrefix(text, "with ")
	} else if len(p.with) > 0 {
		text = "with " + strings.Join(p.with, ", ") + " " + text
	}
	return text
}

type printer struct {
	variant Variant
	with    []string
}

func (p *printer) query(q *query) string {
	var b strings.Builder
	b.WriteString(q.start + " ")
	for i, it := range q.items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(it.expr + " as " + it.name)
	}
	b.WriteString(" from " + p.rel(q.from))
	where := q.where
	if p.variant == Tautology {
		where = append(append([]string(nil), q.tautologies...), where...)
	}
	if len(where) > 0 {
		b.WriteString(" where " + strings.Join(where, " and "))
	}
	if len(q.group) > 0 {
		b.WriteString(" group by " + strings.Join(q.group, ", "))
	}
	if q.having != "" {
		b.WriteString(" having " + q.having)
	}
	if q.other != nil {
		b.WriteString(" " + q.op + " " + p.query(q.other))
	}
	b.WriteString(q.tail)
	return b.String()
}

func (p *printer) rel(r *rel) string {
	switch {
	case r.join != "":
		left, right, join := p.rel(r.left), p.rel(r.right), r.join
		if r.lateral {
			right = "lateral " + right
		}
		if p.variant == Swapped && !r.lateral {
			if r.left.join != "" {
				left = "(" + left + ")"
			}
			left, right = right, left
			join = map[string]string{"left join": "right join", "right join": "left join"}[join]
			if join == "" {
				join = r.join
			}
		}
		if r.on == "" {
			return left + " " + join + " " + right
		}
		return left + " " + join + " " + right + " on " + r.on
	case r.values != "":
		return r.values
	case r.sub != nil:
		text := p.query(r.sub)
		switch p.variant {
		case Named:
			if !strings.Contains(text, outer) {
				name := "w" + r.alias
				p.with = append(p.with, name+" as ("+text+")")
				return name + " " + r.alias
			}
		case Wrapped:
			text = "select * from (" + text + ") s" + r.alias
		}
		return "(" + strings.ReplaceAll(text, outer, "") + ") " + r.alias
	}
	if p.variant == Wrapped {
		return "(select * from " + r.table + ") " + r.alias
	}
	return r.table + " " + r.alias
}
