package pgsyntax

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

func upper(s string) string { return strings.ToUpper(s) }

// notPrefix are the operators that PostgreSQL's grammar has only between two operands.
const notPrefix = " * / % ^ < > = <= >= <> "

// Words that stand for a call without parentheses.
var bareCalls = map[string]bool{"current_date": false, "current_time": true, "current_timestamp": true, "localtime": true,
	"localtimestamp": true, "current_role": false, "current_user": false, "user": false, "session_user": false, "system_user": false,
	"current_catalog": false, "current_schema": false} // true: may take a precision

// separators are the words between the arguments of a construct.
var separators = map[string]map[string]mark{
	"extract":   {"from": mFrom},
	"position":  {"in": mIn},
	"substring": {"from": mFrom, "for": mFor, "similar": mSimilar, "escape": mEscape},
	"trim":      {"from": mFrom},
	"overlay":   {"placing": mPlacing, "from": mFrom, "for": mFor},
	"normalize": {},
}

// normalForms are the words of NORMALIZE and IS NORMALIZED.
var normalForms = map[string]bool{"nfc": true, "nfd": true, "nfkc": true, "nfkd": true}

// operand reads what may begin an operand.
func (s *speller) operand() error {
	f, t := s.top(), s.tok(0)
	if e := literal(t); e != nil {
		_, param := e.(*Param)
		s.value(e, param)
		return nil
	}
	switch {
	case t.kind == tList && f.mark == mArgs:
		s.put("", atom{kind: aList, list: t.list}, "")
		s.i++
		s.filled(false)
		return nil
	case t.kind == tList:
		return unsupported(t, "a long list of literals that is no list of IN")
	case t.kind == tOp && t.text == "*":
		s.value(&Star{Pos: Pos(t.pos)}, false)
		return nil
	case t.kind == tOp && !strings.Contains(notPrefix, " "+t.text+" "), t.is("not"):
		s.put("", atom{kind: aPrefix, op: upper(t.text)}, "|")
		s.i++
		f.ops++
		f.fresh = false
		return nil
	case t.is("operator") && s.tok(1).punct("("):
		op, n, err := s.qualifiedOp()
		if err != nil {
			return err
		}
		s.put("", atom{kind: aPrefix, op: op}, "|")
		s.i += n
		f.ops++
		return nil
	case t.punct("(") && s.isQuery(s.i) && (!f.rows || f.clause != cSelect): // a row may hold but a query
		s.put("", atom{kind: aMark, mark: mSubquery}, "|")
		s.openQuery(frame{kind: fQuery, operand: true, indexed: true})
		return nil
	case t.punct("("):
		s.list(s.put("", atom{kind: aCall, mark: mParen}, ""), frame{operand: true, indexed: true})
		return nil
	case t.punct("[") && f.mark == mArray:
		s.list(s.put("", atom{kind: aCall, mark: mArray, op: "["}, ""), frame{operand: true})
		return nil
	case t.punct(":") && f.mark == mIndex && f.fresh:
		s.colon("")
		return nil
	case s.argumentWord():
		return nil
	case t.kind == tWord, t.kind == tQuoted:
		return s.word()
	}
	return syntaxAt(t)
}

// argumentWord reads what may stand in front of a call's argument: VARIADIC, name =>.
func (s *speller) argumentWord() bool {
	f, t := s.top(), s.tok(0)
	if f.kind != fList || f.mark != mFunc || f.special != "" && f.special != "lateral" || f.ordered || s.inArgument() {
		return false
	}
	if c := s.atoms[f.atom].call; c == nil || c.Special {
		return false
	}
	switch u := s.tok(1); {
	case t.is("variadic"):
		s.put("", atom{kind: aMark, mark: mVariadic}, "|")
		s.i++
	case t.isTypeFuncName() && (u.punct("=>") || u.punct(":=")):
		s.put("", atom{kind: aMark, mark: mNamed, name: t.text}, "|")
		s.i += 2
	default:
		return false
	}
	f.fresh = false
	return true
}

// inArgument says whether the present argument of a call has begun.
func (s *speller) inArgument() bool {
	t := &s.toks[s.i-1]
	return !t.punct("(") && !t.punct(",") && !t.is("variadic") && !t.is("distinct") && !t.is("all")
}

// value writes a finished operand of one token.
func (s *speller) value(e Expr, index bool) {
	s.put("", atom{kind: aExpr, expr: e}, "")
	s.i++
	s.filled(index)
}

// filled notes that an operand was written.
func (s *speller) filled(index bool) {
	f := s.top()
	f.operand, f.index, f.fresh = false, index, false
}

// word reads an operand that begins with a word.
func (s *speller) word() error {
	t, next := s.tok(0), s.tok(1)
	if s.grouping() {
		return nil
	}
	if t.kind == tWord {
		if done, err := s.construct(t, next); done || err != nil {
			return err
		}
		if _, ok := sqlTypes[t.text]; ok || t.text == "double" || t.text == "national" {
			save := s.i
			typ, err := s.typeName(true)
			if err == nil && s.tok(0).kind == tString {
				return s.typedLiteral(typ)
			}
			s.i = save
		}
	}
	if s.isCall() {
		n, err := s.call()
		if err != nil {
			return err
		}
		s.openCall(n, frame{operand: true})
		return nil
	}
	save := s.i
	names := s.dotted()
	u := s.tok(0)
	switch {
	case u.kind == tString && (len(names) == 1 && t.isTypeFuncName() || len(names) == 2 && t.isColID()):
		typ := &TypeName{Pos: Pos(t.pos), Name: names[len(names)-1]}
		if len(names) == 2 {
			typ.Schema = names[0]
		}
		if _, ok := sqlTypes[typ.Name]; ok {
			typ.Quoted = true
		}
		return s.typedLiteral(typ)
	case !t.isColID():
		s.i = save
		return syntaxAt(t)
	case u.punct(".") && s.tok(1).kind == tOp && s.tok(1).text == "*":
		s.i++
		s.value(&Star{Pos: Pos(t.pos), Table: names}, false)
		return nil
	case u.punct("."):
		return syntaxAt(s.tok(1))
	case len(names) > 4:
		return tooManyNames(t, names)
	}
	s.i--
	s.value(&ColumnRef{Pos: Pos(t.pos), Path: names}, true)
	return nil
}

// typedLiteral writes a literal with its type in front, at the string.
func (s *speller) typedLiteral(typ *TypeName) error {
	t := s.tok(0)
	lit := &Literal{Pos: Pos(t.pos), Kind: StringLit, Text: t.text}
	s.put("", atom{kind: aExpr, pos: typ.Pos, expr: &Cast{Pos: typ.Pos, X: lit, Type: *typ, Literal: true}}, "")
	n := len(s.atoms) - 1
	s.i++
	s.filled(false)
	if typ.Name != "interval" || typ.Quoted || typ.Schema != "" || len(typ.Mods) > 0 {
		return nil
	}
	fields, mods, err := s.intervalFields()
	if err != nil {
		return err
	}
	if c, ok := s.atoms[n].expr.(*Cast); ok {
		c.Type.Fields, c.Type.Mods = fields, mods
	}
	return nil
}

// grouping reads ROLLUP, CUBE and GROUPING SETS at the start of a GROUP BY item.
func (s *speller) grouping() bool {
	f, t := s.top(), s.tok(0)
	item := f.kind == fQuery && f.clause == cGroup && s.afterComma()
	if !item && (f.mark != mGroups || f.special != "grouping sets") {
		return false
	}
	op := ""
	switch {
	case (t.is("rollup") || t.is("cube")) && s.tok(1).punct("("):
		op = upper(t.text)
	case s.words("grouping", "sets") && s.tok(2).punct("("):
		op = "GROUPING SETS"
		s.i++
	default:
		return false
	}
	n := s.put("", atom{kind: aCall, mark: mGroups, op: op, pos: Pos(t.pos)}, "")
	s.i++
	s.list(n, frame{operand: true, special: strings.ToLower(op)})
	return true
}

// afterComma says whether the present token begins an item of a list.
func (s *speller) afterComma() bool {
	t := &s.toks[s.i-1]
	return t.punct(",") || t.is("by") || t.is("all")
}

// construct reads the words with a syntax of their own. done is false if the word is a plain name here.
func (s *speller) construct(t, next *token) (done bool, err error) {
	paren := next.punct("(")
	switch t.text {
	case "null":
		s.value(&Literal{Pos: Pos(t.pos), Kind: NullLit}, false)
	case "true", "false":
		s.value(&Literal{Pos: Pos(t.pos), Kind: BoolLit, Text: t.text}, false)
	case "case":
		s.put("", atom{kind: aMark, mark: mCase}, "|CASE ")
		s.push(frame{kind: fCase, operand: !next.is("when")})
	case "exists", "array":
		m := mExists
		if t.text == "array" {
			m = mArrayOf
			if next.punct("[") {
				n := s.put("", atom{kind: aCall, mark: mArray}, "")
				s.i++
				s.list(n, frame{operand: true})
				return true, nil
			}
		} else if !paren {
			return false, nil
		}
		if !paren || !s.isQuery(s.i+1) {
			return true, syntaxAt(s.tok(2))
		}
		s.put("", atom{kind: aMark, mark: m}, "|")
		s.i++
		s.openQuery(frame{kind: fQuery, operand: true})
	case "row", "cast":
		if !paren {
			return false, nil
		}
		m := mRow
		if t.text == "cast" {
			m = mCast
		}
		n := s.put("", atom{kind: aCall, mark: m}, "")
		s.i++
		s.list(n, frame{operand: true, special: t.text})
	case "extract", "position", "substring", "overlay", "trim", "normalize":
		if !paren {
			return false, nil
		}
		return true, s.special(t)
	case "coalesce", "greatest", "least", "nullif", "grouping":
		if !paren {
			return false, nil
		}
		n := s.put("", atom{kind: aCall, mark: mFunc, call: &FuncCall{Pos: Pos(t.pos), Name: t.text, Special: true}, op: t.text}, "")
		s.i++
		s.list(n, frame{operand: true})
	case "collation":
		if !next.is("for") {
			return false, nil
		}
		if !s.tok(2).punct("(") {
			return true, syntaxAt(s.tok(2))
		}
		n := s.put("", atom{kind: aCall, mark: mFunc, call: &FuncCall{Pos: Pos(t.pos), Name: "pg_collation_for", Special: true}, op: t.text}, "")
		s.i += 2
		s.list(n, frame{operand: true})
	case "json_object":
		if !paren {
			return false, nil
		}
		if s.tok(2).punct(")") { // version 17's: an empty object
			return true, unsupported(t, "JSON_OBJECT")
		}
		n := s.put("", atom{kind: aCall, mark: mFunc, call: &FuncCall{Pos: Pos(t.pos), Name: t.text}}, "")
		s.i++
		s.openCall(n, frame{operand: true})
	case "default":
		return true, sqlerr.New(sqlerr.Syntax, "DEFAULT is not allowed in this context").At(t.pos)
	case "unique":
		return true, unsupported(t, "UNIQUE")
	default:
		if paren && t.class() == colName {
			if _, ok := sqlTypes[t.text]; (!ok || t.text == "json") && t.text != "values" && t.text != "between" && t.text != "none" && t.text != "out" &&
				t.text != "inout" && t.text != "setof" {
				return true, unsupported(t, upper(t.text))
			}
		}
		if precision, ok := bareCalls[t.text]; ok {
			return s.bareCall(t, precision)
		}
		return false, nil
	}
	return true, nil
}

// bareCall reads CURRENT_DATE and its like.
func (s *speller) bareCall(t *token, precision bool) (bool, error) {
	if t.text == "current_schema" && s.tok(1).punct("(") {
		return false, nil // also a plain function
	}
	call := &FuncCall{Pos: Pos(t.pos), Name: t.text, Bare: true, Special: true}
	s.put("", atom{kind: aExpr, expr: call}, "")
	s.i++
	if precision && s.tok(0).punct("(") {
		if n := s.tok(1); !n.isIconst() || !s.tok(2).punct(")") {
			return true, syntaxAt(n)
		}
		call.Args = []Expr{literal(s.tok(1))}
		s.i += 3
	}
	s.filled(false)
	return true, nil
}

// special opens EXTRACT, POSITION, SUBSTRING, OVERLAY, TRIM and NORMALIZE.
func (s *speller) special(t *token) error {
	n := s.put("", atom{kind: aCall, mark: mFunc, op: t.text, call: &FuncCall{Pos: Pos(t.pos), Name: t.text, Special: true}}, "")
	s.i++
	s.list(n, frame{operand: true, special: t.text})
	u := s.tok(0)
	switch t.text {
	case "extract":
		if !u.isLabel() && u.kind != tString || u.kind == tWord && u.class() != plainWord && !intervalWord(u) {
			return syntaxAt(u)
		}
		s.value(&Literal{Pos: Pos(u.pos), Kind: StringLit, Text: u.text}, false)
		if !s.words("from") {
			return s.unexpected()
		}
	case "trim":
		if u.is("both") || u.is("leading") || u.is("trailing") {
			s.atoms[n].call.Name = map[string]string{"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[u.text]
			s.i++
		} else {
			s.atoms[n].call.Name = "btrim"
		}
		if s.words("from") {
			s.put("", atom{kind: aMark, mark: mFrom}, ",")
			s.i++
		}
	}
	return nil
}

func intervalWord(t *token) bool {
	switch t.text {
	case "year", "month", "day", "hour", "minute", "second":
		return true
	}
	return false
}

// isCall says whether the present word begins the name of a function with its parenthesis.
func (s *speller) isCall() bool {
	n := 1
	for s.tok(n).punct(".") && s.tok(n+1).isLabel() {
		n += 2
	}
	if !s.tok(n).punct("(") {
		return false
	}
	if n == 1 {
		return s.tok(0).isTypeFuncName()
	}
	return s.tok(0).isColID()
}

// call writes the name of a function.
func (s *speller) call() (int, error) {
	t := s.tok(0)
	save := s.i
	names := s.dotted()
	c := &FuncCall{Pos: Pos(t.pos), Name: names[len(names)-1]}
	switch len(names) {
	case 1:
	case 2:
		c.Schema = names[0]
	default:
		return 0, unsupported(t, "a function name with a database")
	}
	end := s.i
	s.i = save
	n := s.put("", atom{kind: aCall, mark: mFunc, call: c}, "")
	s.i = end
	return n, nil
}

// openCall opens the parenthesis of a call and reads what may stand first in it.
func (s *speller) openCall(n int, f frame) {
	s.list(n, f)
	c := s.atoms[n].call
	switch {
	case s.tok(0).kind == tOp && s.tok(0).text == "*" && s.tok(1).punct(")"):
		c.Star = true
		s.i++
	case s.accept("distinct"):
		c.Distinct = true
		s.top().fresh = false
	case s.accept("all"):
		s.top().fresh = false
	}
}

// qualifiedOp reads OPERATOR(schema.op) and gives its spelling and number of tokens.
func (s *speller) qualifiedOp() (string, int, error) {
	var b strings.Builder
	b.WriteString("OPERATOR(")
	n := 2
	for s.tok(n).isColID() && s.tok(n+1).punct(".") {
		b.WriteString(ident(s.tok(n).text) + ".")
		n += 2
	}
	if s.tok(n).kind != tOp {
		if s.tok(n).isColID() {
			n++ // a schema, without its point
		}
		return "", 0, syntaxAt(s.tok(n))
	}
	b.WriteString(s.tok(n).text + ")")
	if !s.tok(n + 1).punct(")") {
		return "", 0, syntaxAt(s.tok(n + 1))
	}
	return b.String(), n + 2, nil
}
