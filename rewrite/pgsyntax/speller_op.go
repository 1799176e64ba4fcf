package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// What may stand behind an operand: operators, separators, clauses, labels.

// operator reads what may follow an operand, or a table.
func (s *speller) operator() error {
	f, t := s.top(), s.tok(0)
	if f.mark == mOver {
		if done, err := s.overWord(); done || err != nil {
			return err
		}
	}
	if done, err := s.joinWord(); done || err != nil {
		return err
	}
	if done, err := s.separator(); done || err != nil {
		return err
	}
	if f.kind == fQuery && f.clause == cFetch && !f.ended {
		return syntaxAt(t) // only ROW or ROWS may follow
	}
	if done, err := s.clauseWord(); done || err != nil {
		return err
	}
	if f.fresh && f.mark == mOver || f.kind == fQuery && f.ended {
		return syntaxAt(t)
	}
	switch t.kind {
	case tOp:
		return s.infix(t.text, 1)
	case tPunct:
		switch t.text {
		case "::":
			return s.typecast()
		case "[":
			if !f.index {
				return syntaxAt(t)
			}
			n := s.put("|", atom{kind: aCall, mark: mIndex}, "")
			s.list(n, frame{operand: true, indexed: true})
			return nil
		case ".":
			if f.index {
				return s.field()
			}
		}
	case tWord:
		if done, err := s.operatorWord(); done || err != nil {
			return err
		}
	}
	return s.label()
}

// field reads .name and .* behind an operand that may have fields.
func (s *speller) field() error {
	u := s.tok(1)
	a := atom{mark: mField}
	switch {
	case u.isLabel():
		a.name = u.text
	case u.kind != tOp || u.text != "*":
		return syntaxAt(u)
	}
	s.postfix(a, 2)
	s.top().index = a.name != ""
	return nil
}

// separator reads commas and the words between the parts of a construct.
func (s *speller) separator() (bool, error) {
	f, t := s.top(), s.tok(0)
	if t.punct(",") {
		switch {
		case f.kind == fList && (f.mark == mCast || f.mark == mIndex || f.mark == mFilter || f.special == "position" || f.mark == mOver && f.special == "frame"):
			return true, syntaxAt(t)
		case f.kind == fCase, f.kind == fJoin:
			return true, syntaxAt(t)
		case f.kind == fQuery && (f.clause == cLimit || f.clause == cOffset):
			return true, sqlerr.New(sqlerr.Syntax, "LIMIT #,# syntax is not supported").At(s.lastLimit()).
				WithHint("Use separate LIMIT and OFFSET clauses.")
		case f.kind == fQuery && f.clause == cWindow:
			s.emit(",")
			s.i++
			return true, s.windowDef()
		case f.kind == fQuery && f.clause != cSelect && f.clause != cGroup && f.clause != cOrder:
			return true, syntaxAt(t)
		}
		if f.special == "normalize" {
			return true, s.normalForm()
		}
		s.emit(",")
		s.i++
		f.operand = true
		return true, nil
	}
	if t.punct(":") && f.mark == mIndex {
		s.colon(",")
		return true, nil
	}
	if t.kind != tWord {
		return false, nil
	}
	if f.kind == fCase {
		switch t.text {
		case "when", "then", "else":
			s.emit(" " + upper(t.text) + " ")
			s.i++
			f.operand = true
			return true, nil
		}
		return false, nil
	}
	if f.kind != fList {
		if f.kind == fQuery && (f.clause == cOffset || f.clause == cFetch) && (t.is("row") || t.is("rows")) {
			return true, s.rowWord()
		}
		return s.sortWord()
	}
	if m, ok := separators[f.special][t.text]; ok {
		s.put(",", atom{kind: aMark, mark: m}, ",")
		s.i++
		f.operand = true
		return true, nil
	}
	if f.mark == mCast && t.is("as") {
		s.i++
		typ, err := s.typeName(false)
		if err != nil {
			return true, err
		}
		s.put(",", atom{kind: aMark, mark: mType, typ: typ, pos: typ.Pos}, "")
		if s.i != s.match[f.open] {
			return true, s.unexpected()
		}
		return true, nil
	}
	if (f.mark == mFunc) && s.words("order", "by") && !f.ordered {
		s.put(",", atom{kind: aMark, mark: mOrder}, ",")
		s.i += 2
		f.operand, f.ordered = true, true
		return true, nil
	}
	return s.sortWord()
}

// lastLimit is where the LIMIT or OFFSET being read stands.
func (s *speller) lastLimit() int {
	for i := len(s.atoms) - 1; i >= 0; i-- {
		if a := &s.atoms[i]; a.kind == aMark && (a.mark == mLimit || a.mark == mOffset) {
			return int(a.pos)
		}
	}
	return s.tok(0).pos
}

// colon writes the mark between the bounds of a slice; either may be left out.
func (s *speller) colon(before string) {
	after := ","
	f := s.top()
	if f.operand = !s.tok(1).punct("]"); !f.operand {
		after = ""
	}
	s.put(before, atom{kind: aMark, mark: mColon}, after)
	s.i++
	f.fresh = false
}

// normalForm reads the second argument of NORMALIZE.
func (s *speller) normalForm() error {
	if !normalForms[s.tok(1).text] || s.tok(1).kind != tWord || !s.tok(2).punct(")") {
		return syntaxAt(s.tok(1))
	}
	s.i++
	t := s.tok(0)
	s.put(",", atom{kind: aMark, mark: mForm, expr: &Literal{Pos: Pos(t.pos), Kind: StringLit, Text: upper(t.text)}}, "")
	s.i++
	return nil
}

// infix writes an operator between two operands, n tokens long.
func (s *speller) infix(op string, n int) error {
	a := atom{kind: aInfix, op: op}
	f := s.top()
	if u := s.tok(n); (u.is("any") || u.is("some") || u.is("all")) && op != "AND" && op != "OR" && op != "ESCAPE" && op != "AT TIME ZONE" && op != "OVERLAPS" {
		if !s.tok(n + 1).punct("(") {
			return syntaxAt(s.tok(n + 1))
		}
		a.quant, a.all = true, u.is("all")
		s.put("|", a, "|")
		s.i += n + 1
		f.ops++
		return s.args()
	}
	s.put("|", a, "|")
	s.i += n
	f.operand = true
	f.ops++
	return nil
}

// args opens the parenthesis behind IN, ANY and ALL.
func (s *speller) args() error {
	if !s.tok(0).punct("(") {
		return s.unexpected()
	}
	if s.isQuery(s.i) {
		s.openQuery(frame{kind: fQuery, operand: true})
		return nil
	}
	s.list(s.put("", atom{kind: aCall, mark: mArgs}, ""), frame{operand: true})
	return nil
}

// postfix writes an operator behind its operand, n tokens long.
func (s *speller) postfix(a atom, n int) {
	a.kind = aPostfix
	s.put("|", a, "")
	s.i += n
	s.top().index = false
	s.top().ops++
}

func (s *speller) typecast() error {
	at := s.i
	s.i++
	typ, err := s.typeName(false)
	if err != nil {
		return err
	}
	end := s.i
	s.i = at
	s.postfix(atom{mark: mTypecast, typ: typ}, end-at)
	return nil
}

// operatorWords begin an operator, and may be labels in PostgreSQL where no operator follows.
var operatorWords = map[string]bool{"and": true, "or": true, "not": true, "between": true, "like": true, "ilike": true, "similar": true, "in": true,
	"is": true, "escape": true, "at": true, "collate": true, "operator": true}

// operatorWord reads an operator made of words. done is false if the word may be a label.
func (s *speller) operatorWord() (done bool, err error) {
	f, t := s.top(), s.tok(0)
	if f.kind == fQuery && f.clause == cSelect && operatorWords[t.text] && s.tok(1).endsItem() {
		return true, sqlerr.New(sqlerr.Unsupported, "the label %s without AS is not supported", upper(t.text)).At(t.pos).
			WithHint("Write AS \"%s\".", t.text)
	}
	switch t.text {
	case "and", "or":
		return true, s.infix(upper(t.text), 1)
	case "not", "between", "like", "ilike", "similar", "in":
		return true, s.predicate()
	case "is":
		return true, s.is()
	case "isnull", "notnull":
		s.postfix(atom{op: "NULL", not: t.text == "notnull"}, 1)
		return true, nil
	case "escape":
		return true, s.infix("ESCAPE", 1)
	case "overlaps":
		return true, s.infix("OVERLAPS", 1)
	case "at":
		switch {
		case s.words("at", "time", "zone"):
			return true, s.infix("AT TIME ZONE", 3)
		case s.words("at", "local"):
			return true, unsupported(t, "AT LOCAL")
		}
		if s.tok(1).is("time") {
			return true, syntaxAt(s.tok(2))
		}
		return true, syntaxAt(s.tok(1))
	case "collate":
		if !s.tok(1).isColID() {
			return true, syntaxAt(s.tok(1))
		}
		at := s.i
		s.i++
		names := s.dotted()
		n := s.i - at
		s.i = at
		s.postfix(atom{op: "COLLATE", names: names}, n)
		return true, nil
	case "operator":
		if !s.tok(1).punct("(") {
			return true, syntaxAt(s.tok(1)) // no label either
		}
		op, n, err := s.qualifiedOp()
		if err != nil {
			return true, err
		}
		return true, s.infix(op, n)
	case "filter":
		if !s.tok(1).punct("(") {
			break
		}
		if !s.tok(2).is("where") {
			return true, syntaxAt(s.tok(2))
		}
		n := s.put("|", atom{kind: aCall, mark: mFilter}, "")
		s.i++
		s.list(n, frame{operand: true})
		s.i++
		return true, nil
	case "within":
		if !s.words("within", "group") {
			break
		}
		switch {
		case !s.tok(2).punct("("):
			return true, syntaxAt(s.tok(2))
		case !s.tok(3).is("order"):
			return true, syntaxAt(s.tok(3))
		case !s.tok(4).is("by"):
			return true, syntaxAt(s.tok(4))
		}
		n := s.put("|", atom{kind: aCall, mark: mWithin}, "")
		s.i += 2
		s.list(n, frame{operand: true, ordered: true})
		s.i += 2
		return true, nil
	case "over":
		u := s.tok(1)
		switch {
		case u.punct("("):
			n := s.put("|", atom{kind: aCall, mark: mOver}, "")
			s.i++
			s.list(n, frame{})
			s.overStart()
			return true, nil
		case u.isColID():
			s.postfix(atom{mark: mOverName, names: []string{u.text}}, 2)
			return true, nil
		case s.toks[s.i-1].punct(")"):
			return true, syntaxAt(u)
		}
	}
	return false, nil
}

// predicate reads [NOT] BETWEEN, IN, LIKE, ILIKE and SIMILAR TO.
func (s *speller) predicate() error {
	n := 0
	not := s.words("not")
	if not {
		n = 1
	}
	a := atom{kind: aInfix, not: not, pos: Pos(s.tok(0).pos)}
	prefix := ""
	if not {
		prefix = "NOT "
	}
	switch t := s.tok(n); {
	case t.is("between"):
		a.op = "BETWEEN"
		n++
		if s.tok(n).is("symmetric") {
			a.sym = true
			n++
		} else if s.tok(n).is("asymmetric") {
			n++
		}
	case t.is("in"):
		a.op = "IN"
		s.put("|", a, "|")
		s.i += n + 1
		s.top().ops++
		return s.args()
	case t.is("like"), t.is("ilike"):
		return s.infix(prefix+upper(t.text), n+1)
	case t.is("similar"):
		if !s.tok(n + 1).is("to") {
			return syntaxAt(s.tok(n + 1))
		}
		a.op = prefix + "SIMILAR TO"
		n += 2
	default:
		return syntaxAt(t)
	}
	s.put("|", a, "|")
	s.i += n
	f := s.top()
	f.operand = true
	f.ops++
	return nil
}

// is reads what stands behind IS.
func (s *speller) is() error {
	n := 1
	not := s.tok(1).is("not")
	if not {
		n = 2
	}
	switch t := s.tok(n); {
	case t.is("null"), t.is("true"), t.is("false"), t.is("unknown"):
		s.postfix(atom{op: upper(t.text), not: not}, n+1)
	case t.is("distinct"):
		if !s.tok(n + 1).is("from") {
			return syntaxAt(s.tok(n + 1))
		}
		op := "IS DISTINCT FROM"
		if not {
			op = "IS NOT DISTINCT FROM"
		}
		s.put("|", atom{kind: aInfix, op: op}, "|")
		s.i += n + 2
		f := s.top()
		f.operand = true
		f.ops++
	case t.is("document"), t.is("json"):
		return unsupported(s.tok(0), "IS "+upper(t.text))
	case t.is("normalized"):
		s.postfix(atom{op: "NORMALIZED", not: not}, n+1)
	case t.kind == tWord && normalForms[t.text] && s.tok(n+1).is("normalized"):
		s.postfix(atom{op: "NORMALIZED", not: not, expr: &Literal{Pos: Pos(t.pos), Kind: StringLit, Text: upper(t.text)}}, n+2)
	default:
		return syntaxAt(t)
	}
	return nil
}

// label reads the name of a select-list entry.
func (s *speller) label() error {
	f, t := s.top(), s.tok(0)
	if last := &s.toks[s.i-1]; last.kind == tOp && last.text == "*" && !s.toks[s.i-2].punct(".") {
		return syntaxAt(t) // a bare star has no name
	}
	as := t.is("as")
	u := t
	if as {
		u = s.tok(1)
	}
	if f.kind != fQuery || f.clause != cSelect || as && !u.isLabel() || !as && !u.isBareLabel() {
		return syntaxAt(u)
	}
	s.put(" ", atom{kind: aLabel, pos: Pos(u.pos), name: u.text}, "")
	s.i++
	if as {
		s.i++
	}
	f.index = false
	return nil
}
