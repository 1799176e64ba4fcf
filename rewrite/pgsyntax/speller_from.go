package pgsyntax

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// FROM: tables, functions, derived tables and joins. Every join is carried as a LEFT JOIN with its kind in front of its condition.

// table reads one entry of FROM up to its bracket or alias.
func (s *speller) table() error {
	f, t := s.top(), s.tok(0)
	lateral := s.accept("lateral")
	if u := s.tok(0); u.punct("(") {
		f.tables = false
		if s.isQuery(s.i) {
			d := frame{kind: fQuery, operand: true, then: thenDerived}
			if lateral {
				d.atom = 1
			}
			s.openQuery(d)
			return nil
		}
		if lateral {
			return syntaxAt(u)
		}
		if after := &s.toks[s.match[s.i]+1]; after.is("as") || after.isColID() { // (a JOIN b) AS j is (SELECT * FROM a JOIN b) AS j: it hides the names a and b
			s.put("(SELECT ", atom{kind: aHead, mark: mFunc, pos: Pos(u.pos), query: &Select{Pos: Pos(u.pos)}}, "()")
			s.put(",", atom{kind: aExpr, expr: &Star{Pos: Pos(u.pos)}}, " FROM (")
			s.push(frame{kind: fJoin, clause: cFrom, tables: true, then: thenAliased})
			return nil
		}
		s.emit("(")
		s.push(frame{kind: fJoin, clause: cFrom, tables: true, then: thenJoined})
		return nil
	}
	switch u := s.tok(0); {
	case s.words("only"):
		return unsupported(u, "ONLY")
	case s.words("rows", "from") && s.tok(2).punct("("):
		return unsupported(u, "ROWS FROM")
	case (u.is("xmltable") || u.is("json_table")) && s.tok(1).punct("("):
		return unsupported(u, upper(u.text))
	case u.kind == tWord && s.isConstruct():
		return unsupported(u, upper(u.text)+" in FROM")
	}
	f.tables = false
	if s.isCall() {
		s.emit("(")
		s.put("SELECT ", atom{kind: aHead, mark: mFunc, pos: Pos(t.pos), query: &Select{Pos: Pos(t.pos)}}, "(),")
		n, err := s.call()
		if err != nil {
			return err
		}
		special := ""
		if lateral {
			special = "lateral"
		}
		s.openCall(n, frame{operand: true, then: thenTableFunc, special: special})
		return nil
	}
	if lateral {
		if s.tok(0).isColID() {
			s.i++
		}
		return s.unexpected()
	}
	name, err := s.tableName()
	if err != nil {
		return err
	}
	if s.tok(0).kind == tOp && s.tok(0).text == "*" { // with its children, as without it
		s.i++
	}
	a := atom{kind: aTable, pos: name.Pos, table: name}
	if err := s.aliasOf(&a); err != nil {
		return err
	}
	name.Alias, name.Columns = a.name, a.cols
	s.i--
	s.put("", a, "")
	s.i++
	return s.endTable()
}

// isConstruct says whether the present word begins a function with a syntax of its own, which PostgreSQL takes in FROM too.
func (s *speller) isConstruct() bool {
	t := s.tok(0)
	if s.tok(1).punct("(") {
		return t.class() == colName && t.text != "values" || t.is("cast") || t.is("collation")
	}
	_, bare := bareCalls[t.text]
	return bare && t.class() >= typeFuncName
}

// tableName reads a possibly qualified table name.
func (s *speller) tableName() (*TableName, error) {
	t := s.tok(0)
	if !t.isColID() {
		return nil, syntaxAt(t)
	}
	names := s.dotted()
	if s.tok(0).punct(".") {
		return nil, syntaxAt(s.tok(1))
	}
	name := &TableName{Pos: Pos(t.pos), Name: names[len(names)-1]}
	switch len(names) {
	case 1:
	case 2:
		name.Schema = names[0]
	case 3:
		name.Catalog, name.Schema = names[0], names[1]
	default:
		return nil, tooManyNames(t, names)
	}
	return name, nil
}

func tooManyNames(t *token, names []string) error {
	return sqlerr.New(sqlerr.Syntax, "improper qualified name (too many dotted names): %s", strings.Join(names, ".")).At(t.pos)
}

// dotted passes a word and the names behind points.
func (s *speller) dotted() []string {
	names := []string{s.tok(0).text}
	s.i++
	for s.tok(0).punct(".") && s.tok(1).isLabel() {
		names = append(names, s.tok(1).text)
		s.i += 2
	}
	return names
}

// aliasOf reads [AS] name [(columns)] into an atom.
func (s *speller) aliasOf(a *atom) error {
	as := s.accept("as")
	t := s.tok(0)
	switch {
	case as && t.punct("(") && a.fn:
		return unsupported(t, "a column definition list")
	case as && !t.isColID():
		return syntaxAt(t)
	case !as && !t.isColID():
		return s.tail()
	}
	a.name = t.text
	s.i++
	if s.tok(0).punct("(") {
		if a.fn && s.tok(1).isColID() && s.tok(2).isLabel() {
			return unsupported(s.tok(2), "a column definition list")
		}
		var err error
		if a.cols, err = s.names(); err != nil {
			return err
		}
	}
	return s.tail()
}

// tail refuses what may follow a table.
func (s *speller) tail() error {
	switch t := s.tok(0); {
	case s.words("tablesample"):
		return sqlerr.New(sqlerr.Unsupported, "TABLESAMPLE is not supported").At(t.pos).WithHint("Leave it out: an answer about all rows has a smaller error at the same price. For fewer rows, write a condition in WHERE.")
	case s.words("with", "ordinality"):
		return syntaxAt(t)
	}
	return nil
}

// alias writes the alias of a derived table or a function; the parser wants one always.
func (s *speller) alias(a atom) error {
	a.ord = a.fn && s.accept("with", "ordinality")
	if err := s.aliasOf(&a); err != nil {
		return err
	}
	s.i--
	s.put(" ", a, "")
	s.i++
	return s.endTable()
}

// endTable gives CROSS and NATURAL joins their condition: they need none written.
func (s *speller) endTable() error {
	f := s.top()
	f.operand = false
	for n := len(f.joins); n > 0; n-- {
		j := s.atoms[f.joins[n-1]].join
		if j.Kind != CrossJoin && !j.Natural {
			return nil
		}
		s.on(n-1, "")
	}
	return nil
}

// on writes the condition's mark of pending join n.
func (s *speller) on(n int, after string) {
	f := s.top()
	// The atom was made at the join's word; its number is written here.
	s.emit(" ON " + number(f.joins[n]) + after)
	f.joins = f.joins[:n]
}

// endFrom refuses a join without its condition.
func (s *speller) endFrom() error {
	if len(s.top().joins) > 0 {
		return s.unexpected()
	}
	return nil
}

// joinWord reads the words of a join, ON, USING and the comma between tables.
func (s *speller) joinWord() (done bool, err error) {
	f, t := s.top(), s.tok(0)
	if f.clause != cFrom || f.kind != fQuery && f.kind != fJoin {
		return false, nil
	}
	switch {
	case t.punct(","):
		if f.kind == fJoin {
			return true, syntaxAt(t)
		}
		if err := s.endFrom(); err != nil {
			return true, err
		}
		s.emit(",")
		s.i++
		f.tables = true
		return true, nil
	case t.is("on"), t.is("using"):
		n := len(f.joins)
		if n == 0 {
			return true, syntaxAt(t)
		}
		if t.is("on") {
			s.on(n-1, "|")
			s.i++
			f.operand = true
			return true, nil
		}
		j := s.atoms[f.joins[n-1]].join
		s.i++
		if !s.tok(0).punct("(") {
			return true, s.unexpected()
		}
		if j.Using, err = s.names(); err != nil {
			return true, err
		}
		if s.words("as") {
			return true, unsupported(s.tok(0), "an alias of USING")
		}
		s.i--
		s.on(n-1, "")
		s.i++
		return true, nil
	}
	j := &Join{Pos: Pos(t.pos), Kind: InnerJoin}
	save := s.i
	j.Natural = s.accept("natural")
	switch {
	case s.accept("inner"):
	case !j.Natural && s.words("cross", "join"):
		j.Kind = CrossJoin
		s.i++
	case s.words("left"), s.words("right"), s.words("full"):
		j.Kind = JoinKind(upper(s.tok(0).text))
		s.i++
		s.accept("outer")
	}
	if !s.words("join") {
		if s.i > save {
			return true, s.unexpected()
		}
		return false, nil
	}
	s.emit(" LEFT JOIN ")
	s.i++
	s.atoms = append(s.atoms, atom{kind: aJoin, pos: j.Pos, join: j})
	f.joins = append(f.joins, len(s.atoms)-1)
	f.tables = true
	return true, nil
}
