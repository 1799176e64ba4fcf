package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Normal writes plans so that texts are equal for more plans of one meaning than Canonical's: inner joins, filters and computed columns are taken apart to tables and conditions, in an order
// of their own, and conditions are brought to one form. Equal texts still are equal plans, whose rows are the same but for their order.
//
// Proof: by what is left out. (1) Inner joins, filters and projections of rows are one relation: all combinations of the tables' rows for which every condition is true, in which a computed column is its
// expression; the order of tables and conditions says nothing, nor does a condition that stands twice, nor a column that nobody reads. (2) Where rows are padded, computed columns of the padded side are no expressions
// any more (they are NULL in padded rows), and keep numbers of their own (sealed). (3) What compares whole rows (DISTINCT, set operations) says which columns. (4) Scalars: by the rules of three-valued logic and of total orders
// (normalText). (5) Every other node is written as it is, with all that it says, over its inputs' texts; columns are numbered where they are first written, one number each. So the text can be read back as a plan.
type Normal struct{ p *printer }

// normalizer is what a printer of normal texts holds beside.
type normalizer struct {
	defs   map[ColID]Scalar // of computed columns that stand for their expressions
	texts  map[ColID]string // theirs
	long   []string         // of those that are too long to be written more than once
	alone  map[Rel]string   // tables as they are alone: their order
	values []sqltype.Value  // of parameters; nil: they stand as they are
}

// NewNormal begins a numbering. Parameters are written by their values, where these are given.
func NewNormal(values []sqltype.Value) *Normal {
	return &Normal{&printer{numbers: map[ColID]int{}, normal: &normalizer{defs: map[ColID]Scalar{}, texts: map[ColID]string{}, alone: map[Rel]string{}, values: values}}}
}

// Rows is a relation whose rows are counted and added up, so that their order says nothing: what its tables are, and the conditions on them.
type Rows struct {
	Tables string
	Conds  []Cond // sorted by their texts, each once
}

// Cond is a condition of Rows.
type Cond struct {
	Text string
	X    Scalar
}

// Rows writes the relation that numbers the columns.
func (n *Normal) Rows(r Rel) Rows {
	f := &taken{unordered: true}
	n.p.gather(r, f)
	out := Rows{Tables: n.p.tables(f)}
	for _, c := range f.conds {
		out.Conds = append(out.Conds, n.p.split(c, false, nil)...)
	}
	slices.SortStableFunc(out.Conds, func(x, y Cond) int { return cmp.Compare(x.Text, y.Text) })
	out.Conds = slices.CompactFunc(out.Conds, func(x, y Cond) bool { return x.Text == y.Text })
	return out
}

// Scalar writes an expression over the relation's columns.
func (n *Normal) Scalar(x Scalar) string { return n.p.scalar(x) }

// Condition writes a condition, "" for none.
func (n *Normal) Condition(x Scalar) string {
	if x == nil {
		return ""
	}
	return n.p.condition(x)
}

// Col writes a column, which may be a computed one.
func (n *Normal) Col(id ColID) string { return n.p.ref(id) }

// Defined is what a column stands for: a column of a table, or an expression.
func (n *Normal) Defined(x Scalar) Scalar { return n.p.behind(x) }

// Columns are those that an expression reads, and those that they stand for.
func (n *Normal) Columns(x Scalar) []ColID {
	seen := map[ColID]bool{}
	var out []ColID
	var visit func(Scalar)
	visit = func(x Scalar) {
		c, ok := x.(*Col)
		switch {
		case !ok:
			for _, y := range Children(x) {
				visit(y)
			}
		case seen[c.ID]:
		default:
			seen[c.ID], out = true, append(out, c.ID)
			if d := n.p.normal.defs[c.ID]; d != nil {
				visit(d)
			}
		}
	}
	visit(x)
	return out
}

// Long are the expressions that texts written so far name, in order.
func (n *Normal) Long() []string { return n.p.normal.long }

// taken is a relation taken apart.
type taken struct {
	unordered bool
	rels      []Rel
	conds     []Scalar
}

func (p *printer) taken(r Rel) *taken {
	f := &taken{}
	p.gather(r, f)
	return f
}

func (p *printer) gather(r Rel, f *taken) {
	switch n := r.(type) {
	case *Filter:
		f.conds = append(f.conds, n.Cond)
		p.gather(n.Input, f)
		return
	case *Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*Col); !ok || c.ID != it.ID {
				p.normal.defs[it.ID] = it.Expr
			}
		}
		p.gather(n.Input, f)
		return
	case *Join:
		if n.Kind == InnerJoin && !n.Lateral {
			if n.On != nil {
				f.conds = append(f.conds, n.On)
			}
			p.gather(n.Left, f)
			p.gather(n.Right, f)
			return
		}
	case *Sort:
		if f.unordered {
			p.gather(n.Input, f)
			return
		}
	case *OneRow: // joins with it change nothing
		return
	}
	f.rels = append(f.rels, r)
}

// text is the relation's.
func (f *taken) text(p *printer) string {
	text := p.tables(f)
	var conds []string
	for _, c := range f.conds {
		conds = append(conds, p.conjuncts(c)...)
	}
	if slices.Sort(conds); len(conds) > 0 {
		text += " where " + strings.Join(slices.Compact(conds), " AND ")
	}
	return "{" + text + "}"
}

// tables writes a relation's in the order of their texts as they are alone; those that are alike in the order of the statement.
func (p *printer) tables(f *taken) string {
	if len(f.rels) > 1 {
		alone := map[Rel]string{}
		for _, r := range f.rels {
			text, ok := p.normal.alone[r]
			if !ok {
				own := *p.normal
				own.defs, own.texts, own.long = maps.Clone(own.defs), map[ColID]string{}, nil
				text = (&printer{numbers: map[ColID]int{}, normal: &own}).single(r)
				p.normal.alone[r] = text
			}
			alone[r] = text
		}
		slices.SortStableFunc(f.rels, func(x, y Rel) int { return cmp.Compare(alone[x], alone[y]) })
	}
	texts := make([]string, len(f.rels))
	for i, r := range f.rels {
		texts[i] = p.single(r)
	}
	return strings.Join(texts, ", ")
}

// single writes what is no inner join, filter or projection.
func (p *printer) single(r Rel) string {
	switch n := r.(type) {
	case *Scan:
		if n.Rows == nil {
			return p.line(n)
		}
		return "rows " + p.rel(n.Rows) // whose columns are its own, by their numbers
	case *Join:
		left, right := "", ""
		if n.Kind == FullJoin {
			left, right = p.sealed(n.Left), p.sealed(n.Right)
		} else if left = p.rel(n.Left); n.Kind == LeftJoin {
			right = p.sealed(n.Right)
		} else {
			right = p.rel(n.Right)
		}
		return p.line(n) + "(" + left + "," + right + ")"
	case *Distinct:
		inner := p.rel(n.Input)
		return "distinct [" + p.cols(n.Cols()) + "]" + inner
	}
	var ins []string
	for _, in := range Inputs(r) {
		ins = append(ins, p.rel(in))
	}
	return p.line(r) + "(" + strings.Join(ins, ",") + ")"
}

// sealed is a padded relation: outside, its computed columns are columns.
func (p *printer) sealed(r Rel) string {
	text := p.rel(r)
	var made []string
	var ids []ColID
	for _, id := range r.Cols() {
		if p.normal.defs[id] != nil {
			d := p.behind(p.normal.defs[id])
			if _, ok := d.(*Col); !ok {
				made, ids = append(made, p.scalar(d)), append(ids, id)
			}
		}
	}
	for i, id := range ids {
		delete(p.normal.defs, id)
		delete(p.normal.texts, id)
		made[i] = p.col(id) + "=" + made[i]
	}
	if len(made) == 0 {
		return text
	}
	return text + "with " + strings.Join(made, ", ")
}

// longText is how long an expression may be that is written wherever its column is read: expressions of expressions would grow without end.
const longText = 500

// ref writes a column that is read.
func (p *printer) ref(id ColID) string {
	if p.normal == nil || p.normal.defs[id] == nil {
		return p.col(id)
	}
	text, ok := p.normal.texts[id]
	if !ok {
		text = p.scalar(p.normal.defs[id])
		if len(text) > longText {
			at := slices.Index(p.normal.long, text)
			if at < 0 {
				at = len(p.normal.long)
				p.normal.long = append(p.normal.long, text)
			}
			text = fmt.Sprintf("long %d", at)
		}
		p.normal.texts[id] = text
	}
	return text
}

// The comparisons: what says the same with sides exchanged, and what is true where one is false. "=" and "<>" are their own mirrors.
var (
	mirrors   = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
	negations = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
)

// normalText is the text of what has a form of its own here.
//
// Proof: NOT is brought to the leaves by De Morgan's laws, which hold for three values; a comparison is false where its negation is true and NULL where that is NULL, since each type has one total order (PostgreSQL's, NaN in it);
// x IN (a, b) is x = a OR x = b, as PostgreSQL defines it; x = true is x; AND and OR, "+" and "*" of one type, say the same in any order, and AND and OR with a part that stands twice.
func (p *printer) normalText(x Scalar) (string, bool) {
	switch x := x.(type) {
	case *Col:
		return p.ref(x.ID), true
	case *Param:
		if c, ok := p.value(x).(*Const); ok {
			return p.text(c), true
		}
	case *Logic, *In, *DistinctFrom, *Is:
		return p.truth(x, false), true
	case *Call:
		if isComparison(x) {
			return p.truth(x, false), true
		}
	}
	return "", false
}
