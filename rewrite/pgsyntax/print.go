package pgsyntax

import (
	"strconv"
	"strings"
)

// Print gives a tree as PostgreSQL's text: Parse(Print(x)) is the same tree but for positions. An expression that must stand in
// parentheses for its precedence is put there.
func Print(n Node) string {
	p := &printer{}
	p.node(n)
	return p.b.String()
}

// PrintExpr gives an expression as PostgreSQL's text.
func PrintExpr(e Expr) string {
	p := &printer{}
	p.expr(e)
	return p.b.String()
}

type printer struct{ b strings.Builder }

func (p *printer) str(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// list writes n things with commas between.
func (p *printer) list(n int, one func(int)) {
	for i := 0; i < n; i++ {
		if i > 0 {
			p.str(", ")
		}
		one(i)
	}
}

func (p *printer) idents(names []string, between string) {
	for i, n := range names {
		if i > 0 {
			p.str(between)
		}
		p.str(ident(n))
	}
}

// columns writes (a, b) if there are any.
func (p *printer) columns(names []string) {
	if len(names) > 0 {
		p.str("(")
		p.idents(names, ", ")
		p.str(")")
	}
}

func (p *printer) exprs(list []Expr) { p.list(len(list), func(i int) { p.expr(list[i]) }) }

// query writes a query.
func (p *printer) query(s *Select) {
	if len(s.With) > 0 {
		p.str("WITH ")
		if s.Recursive {
			p.str("RECURSIVE ")
		}
		p.list(len(s.With), func(i int) { p.cte(&s.With[i]) })
		p.str(" ")
	}
	switch {
	case s.Op != NoOp:
		p.branch(s.Left, s.Op, false)
		p.str(" ", string(s.Op), " ")
		if s.All {
			p.str("ALL ")
		}
		p.branch(s.Right, s.Op, true)
	case s.Values != nil:
		p.str("VALUES ")
		p.list(len(s.Values), func(i int) {
			p.str("(")
			p.exprs(s.Values[i])
			p.str(")")
		})
	default:
		p.clauses(s)
	}
	if len(s.OrderBy) > 0 {
		p.str(" ORDER BY ")
		p.sort(s.OrderBy)
	}
	switch t := s.Limit.(type) {
	case nil:
	case *Ties:
		p.str(" FETCH FIRST (")
		p.expr(t.X)
		p.str(") ROWS WITH TIES")
	default:
		p.str(" LIMIT ")
		p.expr(t)
	}
	if s.Offset != nil {
		p.str(" OFFSET ")
		p.expr(s.Offset)
	}
}

func (p *printer) cte(c *CTE) {
	p.str(ident(c.Name))
	p.columns(c.Columns)
	p.str(" AS ")
	if c.Materialized != nil {
		if !*c.Materialized {
			p.str("NOT ")
		}
		p.str("MATERIALIZED ")
	}
	p.sub(c.Query)
}

// sub writes a query in parentheses.
func (p *printer) sub(s *Select) {
	p.str("(")
	p.query(s)
	p.str(")")
}

// branch writes one side of a set operation, in parentheses where it would be read otherwise.
func (p *printer) branch(s *Select, op SetOp, right bool) {
	own := len(s.With) > 0 || len(s.OrderBy) > 0 || s.Limit != nil || s.Offset != nil
	tighter := s.Op == NoOp || s.Op == Intersect && op != Intersect
	same := !right && (s.Op == Intersect) == (op == Intersect)
	if own || !tighter && !same {
		p.sub(s)
		return
	}
	p.query(s)
}

// clauses writes a SELECT up to WINDOW.
func (p *printer) clauses(s *Select) {
	p.str("SELECT")
	if s.Distinct {
		p.str(" DISTINCT")
		if len(s.DistinctOn) > 0 {
			p.str(" ON (")
			p.exprs(s.DistinctOn)
			p.str(")")
		}
	}
	if len(s.Targets) > 0 {
		p.str(" ")
	}
	p.list(len(s.Targets), func(i int) {
		p.expr(s.Targets[i].Expr)
		if a := s.Targets[i].Alias; a != "" {
			p.str(" AS ", ident(a))
		}
	})
	if len(s.From) > 0 {
		p.str(" FROM ")
		p.list(len(s.From), func(i int) { p.table(s.From[i]) })
	}
	if s.Where != nil {
		p.str(" WHERE ")
		p.expr(s.Where)
	}
	if len(s.GroupBy) > 0 {
		p.str(" GROUP BY ")
		p.list(len(s.GroupBy), func(i int) { p.groupItem(s.GroupBy[i]) })
	}
	if s.Having != nil {
		p.str(" HAVING ")
		p.expr(s.Having)
	}
	if len(s.Windows) > 0 {
		p.str(" WINDOW ")
		p.list(len(s.Windows), func(i int) {
			p.str(ident(s.Windows[i].Name), " AS ")
			p.window(&s.Windows[i].Def)
		})
	}
}

func (p *printer) sort(items []OrderItem) {
	p.list(len(items), func(i int) {
		p.expr(items[i].Expr)
		if items[i].Desc {
			p.str(" DESC")
		}
		if f := items[i].NullsFirst; f != nil {
			p.str(" NULLS ", map[bool]string{true: "FIRST", false: "LAST"}[*f])
		}
	})
}

// groupItem writes an entry of GROUP BY.
func (p *printer) groupItem(e Expr) {
	switch x := e.(type) {
	case *Grouping:
		p.str(x.Kind, "(")
		p.list(len(x.Sets), func(i int) {
			if set := x.Sets[i]; len(set) == 1 {
				p.groupItem(set[0])
			} else {
				p.str("(")
				p.exprs(set)
				p.str(")")
			}
		})
		p.str(")")
	case *Row:
		if len(x.Elems) == 0 && !x.Explicit {
			p.str("()")
			return
		}
		p.expr(x)
	default:
		p.expr(e)
	}
}

// table writes an entry of FROM.
func (p *printer) table(t TableExpr) {
	switch x := t.(type) {
	case *TableName:
		for _, q := range []string{x.Catalog, x.Schema} {
			if q != "" {
				p.str(ident(q), ".")
			}
		}
		p.str(ident(x.Name))
		p.alias(x.Alias, x.Columns)
	case *Derived:
		if x.Lateral {
			p.str("LATERAL ")
		}
		p.sub(x.Query)
		p.alias(x.Alias, x.Columns)
	case *TableFunc:
		if x.Lateral {
			p.str("LATERAL ")
		}
		p.expr(x.Call)
		if x.Ordinality {
			p.str(" WITH ORDINALITY")
		}
		p.alias(x.Alias, x.Columns)
	case *Join:
		p.join(x)
	}
}

func (p *printer) alias(name string, columns []string) {
	if name != "" {
		p.str(" AS ", ident(name))
		p.columns(columns)
	}
}

func (p *printer) join(j *Join) {
	p.table(j.Left)
	p.str(" ")
	if j.Natural {
		p.str("NATURAL ")
	}
	p.str(string(j.Kind), " JOIN ")
	if _, nested := j.Right.(*Join); nested {
		p.str("(")
		p.table(j.Right)
		p.str(")")
	} else {
		p.table(j.Right)
	}
	switch {
	case j.On != nil:
		p.str(" ON ")
		p.expr(j.On)
	case len(j.Using) > 0:
		p.str(" USING ")
		p.columns(j.Using)
	}
}

// window writes a window specification in parentheses.
func (p *printer) window(w *Window) {
	if w.Bare {
		p.str(ident(w.Name))
		return
	}
	p.str("(")
	sep := ""
	part := func(s string) {
		p.str(sep, s)
		sep = " "
	}
	if w.Name != "" {
		part(ident(w.Name))
	}
	if len(w.PartitionBy) > 0 {
		part("PARTITION BY ")
		p.exprs(w.PartitionBy)
	}
	if len(w.OrderBy) > 0 {
		part("ORDER BY ")
		p.sort(w.OrderBy)
	}
	if f := w.Frame; f != nil {
		part(f.Mode + " BETWEEN ")
		p.bound(f.Start)
		p.str(" AND ")
		p.bound(f.End)
		if f.Exclude != "" {
			p.str(" EXCLUDE ", f.Exclude)
		}
	}
	p.str(")")
}

func (p *printer) bound(b FrameBound) {
	if b.Offset != nil {
		// In parentheses: PRECEDING and AND would bind into an operator's right side.
		p.str("(")
		p.expr(b.Offset)
		p.str(") ")
	}
	p.str(b.Kind)
}

// String is a type as PostgreSQL's text.
func (t *TypeName) String() string {
	name := t.Name
	if _, sql := sqlTypes[name]; !sql || t.Quoted || t.Schema != "" {
		name = ident(name)
	}
	if t.Schema != "" {
		name = ident(t.Schema) + "." + name
	}
	mods := ""
	for i, m := range t.Mods {
		if i > 0 {
			mods += ","
		}
		mods += strconv.Itoa(m)
	}
	if mods != "" {
		mods = "(" + mods + ")"
	}
	zone := " with time zone"
	switch {
	case t.Fields != "":
		name += " " + t.Fields + mods
	case strings.HasSuffix(name, zone) && !t.Quoted:
		name = strings.TrimSuffix(name, zone) + mods + zone
	default:
		name += mods
	}
	return name + strings.Repeat("[]", t.Dims)
}
