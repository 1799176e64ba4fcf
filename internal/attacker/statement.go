package attacker

import (
	"fmt"
	"slices"
	"strings"
)

// Rand is where an attacker's choices come from: of math/rand, which tests alone import.
type Rand interface {
	IntN(n int) int
	Shuffle(n int, swap func(i, j int))
}

// Table is a source of rows that statements read, with what the attacker knows of the target's own values there.
type Table struct {
	From    string // a FROM clause
	Unit    string // the unit's column
	Target  string // the target's value of it, as a literal
	Columns []Column
}

// Column is one that conditions, groups and aggregates use.
type Column struct {
	Name   string
	Number bool
	Values []string // literals: the target's own values first, then others'
}

// Statement is one gene of an attack: a SELECT in its parts.
type Statement struct {
	table   *Table
	explain bool
	agg     string
	filter  string // a condition; empty for none
	where   []string
	groups  []string
	having  string
	order   string
}

// SQL is the statement's text, which dpsql and PostgreSQL both read.
func (s Statement) SQL() string {
	var b strings.Builder
	if s.explain {
		b.WriteString("explain ")
	}
	b.WriteString("select ")
	for _, g := range s.groups {
		b.WriteString(g + ", ")
	}
	b.WriteString(s.agg)
	if s.filter != "" {
		b.WriteString(" filter (where " + s.filter + ")")
	}
	b.WriteString(" from " + s.table.From)
	if len(s.where) > 0 {
		b.WriteString(" where " + strings.Join(s.where, " and "))
	}
	if len(s.groups) > 0 {
		b.WriteString(" group by " + strings.Join(s.groups, ", "))
	}
	if s.having != "" {
		b.WriteString(" having " + s.having)
	}
	return b.String() + s.order
}

// Grammar makes statements about one person.
type Grammar struct {
	Tables []Table
	rnd    Rand
}

// NewGrammar draws from rnd.
func NewGrammar(rnd Rand, tables ...Table) *Grammar { return &Grammar{Tables: tables, rnd: rnd} }

func (g *Grammar) oneIn(n int) bool { return g.rnd.IntN(n) == 0 }

func pick[T any](rnd Rand, list []T) T { return list[rnd.IntN(len(list))] }

// Statement is a random one.
func (g *Grammar) Statement() Statement {
	s := Statement{table: &g.Tables[g.rnd.IntN(len(g.Tables))]}
	s.agg = g.aggregate(s.table)
	for range g.rnd.IntN(3) {
		s.where = append(s.where, g.condition(s.table, 2))
	}
	if g.oneIn(3) {
		s.groups = g.groupsOf(s.table)
	}
	for range 2 {
		s = g.once(s)
	}
	return s
}

// Mutate changes one part of a statement.
func (g *Grammar) Mutate(s Statement) Statement {
	s.where, s.groups = slices.Clone(s.where), slices.Clone(s.groups)
	return g.once(s)
}

func (g *Grammar) once(s Statement) Statement {
	switch g.rnd.IntN(9) {
	case 0:
		s.agg = g.aggregate(s.table)
	case 1, 2:
		s.where = append(s.where, g.condition(s.table, 2))
	case 3:
		if len(s.where) > 0 {
			i := g.rnd.IntN(len(s.where))
			s.where = slices.Delete(s.where, i, i+1)
		}
	case 4:
		if s.groups = nil; g.oneIn(2) {
			s.groups = g.groupsOf(s.table)
		}
	case 5:
		if s.filter = ""; g.oneIn(2) {
			s.filter = g.condition(s.table, 1)
		}
	case 6:
		if s.having = ""; g.oneIn(2) {
			s.having = fmt.Sprintf("count(*) %s %d", pick(g.rnd, []string{">", "<", "="}), g.rnd.IntN(12))
		}
	case 7:
		if s.order = ""; g.oneIn(2) {
			s.order = fmt.Sprintf(" order by %d desc limit %d", len(s.groups)+1, 1+g.rnd.IntN(3))
		}
	case 8:
		s.explain = g.oneIn(6)
	}
	if s.order != "" {
		s.order = fmt.Sprintf(" order by %d desc limit 1", len(s.groups)+1)
	}
	return s
}

// Same is a statement of the same meaning and another text.
func (g *Grammar) Same(s Statement) Statement {
	s.where = slices.Clone(s.where)
	always := pick(g.rnd, []string{"%d = %[1]d", "%d < 1000000", "'a%d' is not null", "not (%d > 1000000)"})
	s.where = append(s.where, fmt.Sprintf(always, g.rnd.IntN(100_000)))
	g.rnd.Shuffle(len(s.where), func(i, j int) { s.where[i], s.where[j] = s.where[j], s.where[i] })
	return s
}

func (g *Grammar) groupsOf(t *Table) []string {
	var out []string
	for range 1 + g.rnd.IntN(2) {
		if c := pick(g.rnd, t.Columns).Name; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

func (g *Grammar) number(t *Table) Column {
	for {
		if c := pick(g.rnd, t.Columns); c.Number {
			return c
		}
	}
}

func (g *Grammar) aggregate(t *Table) string {
	switch g.rnd.IntN(6) {
	case 0, 1:
		return "count(*)"
	case 2:
		return "count(distinct " + t.Unit + ")"
	default:
		return pick(g.rnd, []string{"sum", "avg", "min", "max", "count"}) + "(" + g.number(t).Name + ")"
	}
}

// condition is one about the target: what the target is, what nobody else is, or what fails for the target's values alone in a proxy that hands expressions to the database as they are.
func (g *Grammar) condition(t *Table, depth int) string {
	c := pick(g.rnd, t.Columns)
	v := c.Values[0]
	if g.oneIn(3) {
		v = pick(g.rnd, c.Values)
	}
	switch n := g.rnd.IntN(11); {
	case n < 2:
		return fmt.Sprintf("%s = %s", c.Name, v)
	case n == 2:
		return fmt.Sprintf("%s <> %s", c.Name, v)
	case n == 3:
		return fmt.Sprintf("%s is %snull", c.Name, pick(g.rnd, []string{"", "not "}))
	case n < 6:
		return fmt.Sprintf("%s %s %s", t.Unit, pick(g.rnd, []string{"=", "<>", "<=", ">="}), t.Target)
	case n == 6:
		c = g.number(t)
		return fmt.Sprintf("%s %s %s", c.Name, pick(g.rnd, []string{"<=", ">="}), pick(g.rnd, c.Values))
	case n == 7: // fails for the target alone
		bad := pick(g.rnd, []string{"1 / (%s - %s) < 2", "sqrt(abs(%s - %s) - 0.5) > -1", "ln(abs(%s - %s)) < 99"})
		return fmt.Sprintf(bad, t.Unit, t.Target)
	case n == 8:
		c = g.number(t)
		return fmt.Sprintf("%s / (%s - %s) is not null", c.Name, c.Name, c.Values[0])
	case n == 9 && depth > 0:
		return fmt.Sprintf("case when %s then %s else %s end", g.condition(t, depth-1), g.condition(t, depth-1), pick(g.rnd, []string{"true", "false"}))
	case n == 10 && depth > 0:
		return fmt.Sprintf("not (%s)", g.condition(t, depth-1))
	}
	return fmt.Sprintf("%s = %s", t.Unit, t.Target)
}
