package pgsyntax

import "strconv"

// The clauses of queries: keywords of PostgreSQL that the skeleton keeps, or replaces by marks.

// queryStart reads what begins a query: SELECT, VALUES, TABLE, WITH or a parenthesis.
func (s *speller) queryStart() error {
	f, t := s.top(), s.tok(0)
	switch {
	case t.is("select"):
		head := atom{kind: aHead, mark: mFunc, query: &Select{Pos: Pos(t.pos)}}
		s.emit("SELECT ")
		f.clause, f.ops, f.rows = cSelect, 0, false
		s.i++
		if s.accept("distinct") {
			head.query.Distinct = true
			head.pos = Pos(t.pos)
			if s.words("on") {
				s.i++
				if !s.tok(0).punct("(") {
					return s.unexpected()
				}
				s.list(s.put("", head, ""), frame{operand: true, then: thenTargets, special: "distinct on"})
				return nil
			}
		} else {
			s.accept("all")
		}
		head.pos = Pos(t.pos)
		s.put("", head, "()")
		return s.targets(head.query.Distinct)
	case t.is("values"):
		if !s.tok(1).punct("(") {
			return syntaxAt(s.tok(1))
		}
		s.put("SELECT ", atom{kind: aHead, mark: mFunc, query: &Select{Pos: Pos(t.pos)}, rows: true}, "(),")
		f.clause, f.ops, f.rows = cSelect, 0, true
		s.i++
	case t.is("table"):
		s.put("SELECT ", atom{kind: aHead, mark: mFunc, query: &Select{Pos: Pos(t.pos)}}, "()")
		s.put(",", atom{kind: aExpr, expr: &Star{Pos: Pos(t.pos)}}, " FROM ")
		s.i++
		if s.words("only") {
			return unsupported(s.tok(0), "ONLY")
		}
		name, err := s.tableName()
		if err != nil {
			return err
		}
		if s.tok(0).kind == tOp && s.tok(0).text == "*" {
			s.i++
		}
		s.put("", atom{kind: aTable, pos: name.Pos, table: name}, "")
		f.clause, f.operand = cNested, false
	case t.is("with"):
		s.emit("WITH ")
		s.i++
		if s.words("recursive") && !s.tok(1).is("as") && !s.tok(1).punct("(") {
			s.emit("RECURSIVE ")
			s.i++
		}
		return s.withQuery()
	case t.punct("(") && s.isQuery(s.i):
		s.openQuery(frame{kind: fQuery, operand: true, then: thenNested})
	default:
		return s.notQuery(t)
	}
	return nil
}

// notQuery is the error of something else where a query must stand.
func (s *speller) notQuery(t *token) error {
	if t.is("insert") || t.is("update") || t.is("delete") || t.is("merge") {
		return unsupported(t, "a data-modifying statement in WITH")
	}
	return syntaxAt(t)
}

// isQuery says whether the parenthesis at i holds a query.
func (s *speller) isQuery(i int) bool {
	if i+1 >= len(s.toks) {
		return false
	}
	t := &s.toks[i+1]
	switch {
	case t.is("select"), t.is("with"), t.is("table"):
		return true
	case t.is("values"):
		return s.toks[i+2].punct("(")
	case t.punct("(") && s.isQuery(i+1):
		after := s.match[i+1] + 1
		if after == s.match[i] {
			return true
		}
		switch a := &s.toks[after]; {
		case a.is("union"), a.is("intersect"), a.is("except"), a.is("order"), a.is("limit"), a.is("offset"), a.is("fetch"), a.is("for"):
			return true
		}
	}
	return false
}

// targets begins the select list, which may be empty but behind DISTINCT.
func (s *speller) targets(needed bool) error {
	t := s.tok(0)
	f := s.top()
	f.operand = false
	empty := t.endsItem() && !t.punct(",")
	switch {
	case empty && needed:
		return syntaxAt(t)
	case !empty:
		s.emit(",")
		f.operand = true
	}
	return nil
}

// withQuery reads the head of one WITH query, up to its parenthesis.
func (s *speller) withQuery() error {
	t := s.tok(0)
	if !t.isColID() {
		return syntaxAt(t)
	}
	a := atom{kind: aCTE, cte: &CTE{Pos: Pos(t.pos), Name: t.text}}
	s.i++
	if s.tok(0).punct("(") {
		cols, err := s.names()
		if err != nil {
			return err
		}
		a.cte.Columns = cols
	}
	if !s.accept("as") {
		return s.unexpected()
	}
	if s.words("materialized") || s.words("not", "materialized") {
		m := !s.accept("not")
		s.i++
		a.cte.Materialized = &m
	}
	if !s.tok(0).punct("(") {
		return s.unexpected()
	}
	a.pos = Pos(t.pos)
	s.put("", a, " AS ")
	s.openQuery(frame{kind: fQuery, operand: true, then: thenCTE})
	return nil
}

// afterCTE goes on behind a WITH query.
func (s *speller) afterCTE() error {
	switch {
	case s.words("search"), s.words("cycle"):
		return unsupported(s.tok(0), "SEARCH and CYCLE of a recursive query")
	case s.acceptPunct(","):
		s.emit(",")
		return s.withQuery()
	}
	s.emit(" ")
	f := s.top()
	f.clause, f.operand = cStart, true
	if s.words("with") {
		return s.unexpected()
	}
	return nil
}

// names reads a bracketed list of names.
func (s *speller) names() ([]string, error) {
	s.i++
	var out []string
	for {
		t := s.tok(0)
		if !t.isColID() {
			return nil, syntaxAt(t)
		}
		out = append(out, t.text)
		s.i++
		if s.acceptPunct(")") {
			return out, nil
		}
		if !s.acceptPunct(",") {
			return nil, s.unexpected()
		}
	}
}

// needFrom writes a FROM where PostgreSQL needs none.
func (s *speller) needFrom() {
	if s.top().clause == cSelect {
		s.put(" FROM ", atom{kind: aNoFrom}, "")
	}
}

// enter begins a clause whose expressions follow its n keywords.
func (s *speller) enter(c clause, piece string, n int) error {
	if err := s.endFrom(); err != nil {
		return err
	}
	f := s.top()
	if c != cFrom {
		s.needFrom()
	}
	s.emit(piece)
	s.i += n
	f.clause, f.operand, f.ordered, f.ops = c, true, c == cOrder, 0
	if c == cFrom {
		f.operand, f.tables = false, true
	}
	return nil
}

// clauseWord reads a keyword that begins a clause or joins two queries. done is false if it is none.
func (s *speller) clauseWord() (done bool, err error) {
	f, t := s.top(), s.tok(0)
	if f.kind != fQuery || t.kind != tWord {
		return false, nil
	}
	if f.clause == cNested && (t.text == "where" || t.text == "group" || t.text == "having" || t.text == "window") {
		return true, syntaxAt(t)
	}
	switch t.text {
	case "from":
		if f.clause != cSelect {
			return true, syntaxAt(t)
		}
		return true, s.enter(cFrom, " FROM ", 1)
	case "where":
		return true, s.enter(cWhere, " WHERE ", 1)
	case "group":
		if !s.words("group", "by") {
			return true, syntaxAt(s.tok(1))
		}
		switch u := s.tok(2); {
		case u.is("distinct"):
			return true, unsupported(u, "GROUP BY DISTINCT")
		case u.is("all"): // the default
			return true, s.enter(cGroup, " GROUP BY ", 3)
		}
		return true, s.enter(cGroup, " GROUP BY ", 2)
	case "having":
		return true, s.enter(cHaving, " HAVING ", 1)
	case "window":
		if err := s.enter(cWindow, " WINDOW ", 1); err != nil {
			return true, err
		}
		return true, s.windowDef()
	case "order":
		if !s.words("order", "by") {
			return true, syntaxAt(s.tok(1))
		}
		return true, s.enter(cOrder, " ORDER BY ", 2)
	case "limit", "offset", "fetch":
		return true, s.limit()
	case "union", "intersect", "except":
		if f.clause >= cOrder && f.clause <= cFetch {
			return true, syntaxAt(t)
		}
		if err := s.endFrom(); err != nil {
			return true, err
		}
		piece := " " + upper(t.text) + " "
		s.i++
		if s.accept("all") {
			piece += "ALL "
		} else {
			s.accept("distinct")
		}
		s.i--
		s.emit(piece)
		s.i++
		f.clause, f.operand, f.ordered = cStart, true, false
		if s.words("with") {
			return true, s.unexpected()
		}
		return true, nil
	case "into":
		return true, unsupported(t, "SELECT INTO")
	case "for":
		return true, unsupported(t, locking(s.tok(1), s.tok(2), s.tok(3)))
	}
	return false, nil
}

// limit reads LIMIT, OFFSET and FETCH FIRST. They are carried at the end of ORDER BY, which belongs to the same query.
func (s *speller) limit() error {
	f, t := s.top(), s.tok(0)
	m, c, n := mLimit, cLimit, 1
	switch t.text {
	case "offset":
		m, c = mOffset, cOffset
	case "fetch":
		c, n = cFetch, 2
		if u := s.tok(1); !u.is("first") && !u.is("next") {
			return syntaxAt(u)
		}
	}
	bit := uint8(1)
	if m == mOffset {
		bit = 2
	}
	if f.limited&bit != 0 {
		return syntaxAt(t)
	}
	f.limited |= bit
	piece := " ORDER BY "
	if f.clause >= cOrder && f.clause <= cFetch {
		piece = ","
	} else if err := s.endFrom(); err != nil {
		return err
	} else {
		s.needFrom()
	}
	s.put(piece, atom{kind: aMark, mark: m}, ",")
	s.i += n
	f.clause, f.operand, f.ordered, f.ended, f.ops = c, true, false, false, 0
	switch {
	case c == cLimit && s.words("all"):
		s.put("", atom{kind: aMark, mark: mAll}, "")
		s.i++
		f.operand = false
	case c == cFetch && (s.words("row") || s.words("rows")):
		s.put("", atom{kind: aExpr, expr: &Literal{Pos: Pos(s.tok(0).pos), Kind: IntegerLit, Text: "1"}}, "")
		f.operand = false
		return s.rowWord()
	}
	return nil
}

// rowWord reads ROW or ROWS behind the number of OFFSET and FETCH, and how FETCH ends.
func (s *speller) rowWord() error {
	f := s.top()
	t := s.tok(0)
	if !t.is("row") && !t.is("rows") || f.ops > 0 && !s.signedNumber() {
		return syntaxAt(t)
	}
	s.i++
	f.ops++
	f.ended = true
	if f.clause == cFetch {
		switch {
		case s.accept("only"):
		case s.words("with", "ties"):
			s.put(",", atom{kind: aMark, mark: mTies}, "")
			s.i += 2
		default:
			return s.unexpected()
		}
	}
	return nil
}

// signedNumber says whether a clause has only had a number with its sign so far.
func (s *speller) signedNumber() bool {
	if s.i < 3 {
		return false
	}
	first, sign, n := &s.toks[s.i-3], &s.toks[s.i-2], &s.toks[s.i-1]
	return (first.is("first") || first.is("next") || first.is("offset")) && sign.kind == tOp && (sign.text == "+" || sign.text == "-") &&
		(n.kind == tInteger || n.kind == tNumeric)
}

// sortWord reads ASC, DESC, NULLS FIRST and NULLS LAST behind a sort key.
func (s *speller) sortWord() (done bool, err error) {
	f, t := s.top(), s.tok(0)
	if !f.ordered || t.kind != tWord {
		return false, nil
	}
	var a atom
	switch last := &s.toks[s.i-1]; {
	case (t.is("asc") || t.is("desc")) && (last.is("asc") || last.is("desc")):
		return true, syntaxAt(t)
	case t.is("using"):
		return true, unsupported(t, "ORDER BY ... USING")
	case t.is("asc"), t.is("desc"):
		a.sort.Desc = t.is("desc")
		a.pos = Pos(t.pos)
		s.i++
	case !t.is("nulls"):
		return false, nil
	}
	if s.words("nulls") {
		first := s.tok(1).is("first")
		if !first && !s.tok(1).is("last") {
			return true, syntaxAt(s.tok(0))
		}
		a.sort.NullsFirst = &first
		s.i += 2
	}
	a.kind, a.mark, a.pos = aPostfix, mSort, Pos(t.pos)
	s.i--
	s.put("|", a, "")
	s.i++
	return true, nil
}

// literal is the literal of a token, nil if it is none.
func literal(t *token) Expr {
	switch t.kind {
	case tString, tInteger, tNumeric, tBit, tHex:
		return &Literal{Pos: Pos(t.pos), Kind: literalKinds[t.kind], Text: t.text}
	case tParam:
		n, _ := strconv.Atoi(t.text) // the lexer wrote it
		return &Param{Pos: Pos(t.pos), N: n}
	}
	return nil
}

// locking names the clause behind FOR.
func locking(t, next, last *token) string {
	switch {
	case t.is("no") && next.is("key"):
		return "FOR NO KEY " + upper(last.text)
	case t.is("key"), t.is("read"):
		return "FOR " + upper(t.text) + " " + upper(next.text)
	}
	return "FOR " + upper(t.text)
}
