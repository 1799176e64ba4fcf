package pgsyntax

import (
	"sort"
	"strconv"
	"strings"
)

// node writes a statement.
func (p *printer) node(n Node) {
	switch x := n.(type) {
	case *Select:
		p.query(x)
	case *Explain:
		p.explain(x)
	case *Train:
		p.train(x)
	case *Evaluate:
		p.evaluate(x)
	case *Models:
		p.models(x)
	case *Watch:
		p.watch(x)
	case *DropWatch:
		p.dropWatch(x)
	case *Cube:
		p.cube(x)
	case *DropCube:
		p.dropCube(x)
	case *Synthesize:
		p.synthesize(x)
	case *SyntheticTables:
		p.syntheticTables(x)
	case *Set:
		p.set(x)
	case *SetTransaction:
		p.str("SET ")
		if x.Session {
			p.str("SESSION CHARACTERISTICS AS ")
		}
		p.str("TRANSACTION")
		p.modes(x.Modes)
	case *Reset:
		p.str("RESET ", setting(x.Name, x.All))
	case *Show:
		p.str("SHOW ", setting(x.Name, x.All))
	case *Begin:
		if x.Start {
			p.str("START TRANSACTION")
		} else {
			p.str("BEGIN")
		}
		p.modes(x.Modes)
	case *Commit:
		p.str("COMMIT", chained(x.Chain))
	case *Rollback:
		p.str("ROLLBACK", chained(x.Chain))
		if x.To != "" {
			p.str(" TO SAVEPOINT ", ident(x.To))
		}
	case *Savepoint:
		p.str("SAVEPOINT ", ident(x.Name))
	case *Release:
		p.str("RELEASE SAVEPOINT ", ident(x.Name))
	case *Deallocate:
		p.str("DEALLOCATE ", setting(x.Name, x.All))
	case *Discard:
		p.str("DISCARD ", x.What)
	case *CloseCursor:
		p.str("CLOSE ", setting(x.Name, x.All))
	case *DeclareCursor:
		p.declare(x)
	case *Fetch:
		p.fetch(x)
	case *Listen:
		p.str("LISTEN ", ident(x.Name))
	case *Unlisten:
		if x.All {
			p.str("UNLISTEN *")
		} else {
			p.str("UNLISTEN ", ident(x.Name))
		}
	case *SetConstraints:
		p.str("SET CONSTRAINTS ALL ", map[bool]string{true: "DEFERRED", false: "IMMEDIATE"}[x.Deferred])
	case *Other:
		if x.Read != nil {
			p.node(x.Read)
		} else {
			p.str(x.Verb)
		}
	case *Copy:
		p.copy(x)
	case *Prepare:
		p.str("PREPARE ", ident(x.Name), " ")
		if len(x.Types) > 0 {
			p.str("(")
			p.list(len(x.Types), func(i int) { p.str(x.Types[i].String()) })
			p.str(") ")
		}
		p.str("AS ")
		p.query(x.Query)
	case *Execute:
		p.str("EXECUTE ", ident(x.Name))
		if len(x.Args) > 0 {
			p.str("(")
			p.exprs(x.Args)
			p.str(")")
		}
	}
}

func (p *printer) modes(modes []string) {
	if len(modes) > 0 {
		p.str(" ", strings.Join(modes, ", "))
	}
}

func chained(c bool) string {
	if c {
		return " AND CHAIN"
	}
	return ""
}

// setting is a setting's name, each part quoted where it must be, or ALL.
func setting(name string, all bool) string {
	if all {
		return "ALL"
	}
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = ident(parts[i])
	}
	return strings.Join(parts, ".")
}

func (p *printer) set(x *Set) {
	p.str("SET ")
	if x.Local {
		p.str("LOCAL ")
	}
	if x.Interval {
		p.str("TIME ZONE INTERVAL ", quote(x.Values[0]), " HOUR TO MINUTE")
		return
	}
	p.str(setting(x.Name, false), " TO ")
	if x.Default {
		p.str("DEFAULT")
		return
	}
	p.list(len(x.Values), func(i int) { p.str(quote(x.Values[i])) })
}

func (p *printer) declare(x *DeclareCursor) {
	p.str("DECLARE ", ident(x.Name))
	for _, o := range [...]struct {
		on   bool
		word string
	}{{x.Binary, " BINARY"}, {x.Insensitive, " INSENSITIVE"}, {x.Asensitive, " ASENSITIVE"}, {x.Scroll, " SCROLL"}, {x.NoScroll, " NO SCROLL"}} {
		if o.on {
			p.str(o.word)
		}
	}
	p.str(" CURSOR ")
	if x.Hold {
		p.str("WITH HOLD ")
	}
	p.str("FOR ")
	p.query(x.Query)
}

func (p *printer) fetch(x *Fetch) {
	p.str(map[bool]string{true: "MOVE ", false: "FETCH "}[x.Move], x.Direction, " ")
	count := strconv.FormatInt(x.Count, 10)
	switch x.Direction {
	case "ABSOLUTE", "RELATIVE":
		p.str(count, " ")
	case "FORWARD", "BACKWARD":
		if x.Count < 0 {
			count = "ALL"
		}
		p.str(count, " ")
	}
	p.str("FROM ", ident(x.Name))
}

func (p *printer) explain(x *Explain) {
	p.str("EXPLAIN ")
	names := make([]string, 0, len(x.Options))
	for n := range x.Options {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(names) > 0 {
		p.str("(")
		p.list(len(names), func(i int) {
			p.str(ident(names[i]))
			if v := x.Options[names[i]]; v != "" {
				p.str(" ", quote(v))
			}
		})
		p.str(") ")
	}
	p.node(x.Query)
}

func (p *printer) copy(c *Copy) {
	p.str("COPY ")
	if c.Query != nil {
		p.sub(c.Query)
	} else {
		p.table(c.Table)
		p.columns(c.Table.Columns)
	}
	switch {
	case c.Program != "":
		p.str(" TO PROGRAM ", quote(c.Program))
	case c.File != "":
		p.str(" TO ", quote(c.File))
	default:
		p.str(" TO STDOUT")
	}
	if len(c.Options) == 0 {
		return
	}
	p.str(" WITH (")
	p.list(len(c.Options), func(i int) {
		o := c.Options[i]
		p.str(`"`, strings.ReplaceAll(o.Name, `"`, `""`), `"`)
		switch {
		case len(o.Values) == 1 && o.Values[0] == "*":
			p.str(" *")
		case len(o.Values) == 1 && !o.List:
			p.str(" ", quote(o.Values[0]))
		case len(o.Values) > 0:
			p.str(" (")
			p.list(len(o.Values), func(j int) { p.str(quote(o.Values[j])) })
			p.str(")")
		}
	})
	p.str(")")
}
