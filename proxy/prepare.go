package proxy

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// PREPARE of SQL makes the same prepared statements as Parse of the protocol; EXECUTE is Bind and Execute. Preparing spends nothing.

func (s *connection) runPrepare(n *pgsyntax.Prepare, text string) (*answer.Answer, error) {
	oids, err := s.typesOf(n.Types)
	if err != nil {
		return nil, err
	}
	st, err := s.prepareInner(n.Query, n.At, text, oids)
	if err != nil {
		return nil, err
	}
	st.sql = true
	if err := s.kept.keepStatement(n.Name, st); err != nil {
		return nil, err
	}
	return tag("PREPARE")
}

// typesOf finds the types that PREPARE names: the engine says what NULLs of them are.
func (s *connection) typesOf(names []pgsyntax.TypeName) ([]sqltype.OID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	sel := &pgsyntax.Select{}
	for i := range names {
		sel.Targets = append(sel.Targets, pgsyntax.Target{Expr: &pgsyntax.Cast{Pos: names[i].Pos, X: &pgsyntax.Literal{Pos: names[i].Pos, Kind: pgsyntax.NullLit}, Type: names[i]}})
	}
	st, err := s.prepareMade(sel)
	if err != nil {
		return nil, err
	}
	oids := make([]sqltype.OID, len(names))
	for i, c := range st.columns {
		oids[i] = c.Type.OID
	}
	return oids, nil
}

// prepareMade prepares a query that stands in no text.
func (s *connection) prepareMade(sel *pgsyntax.Select) (*statement, error) {
	text := pgsyntax.Print(sel)
	return s.prepare(pgsyntax.Statement{Node: sel, Text: text}, text, nil)
}

// maxExecutes bounds an EXECUTE of an EXECUTE, which a client may have prepared by the protocol.
const maxExecutes = 20

func (s *connection) runExecute(n *pgsyntax.Execute) (*answer.Answer, error) {
	if s.cycle.executes++; s.cycle.executes > maxExecutes {
		s.cycle.executes = 0
		return nil, sqlerr.New(sqlerr.TooComplex, "stack depth limit exceeded")
	}
	defer func() { s.cycle.executes = max(s.cycle.executes-1, 0) }()
	st, args, err := s.executed(n)
	if err != nil {
		return nil, err
	}
	answer, err := s.run(st, args)
	return answer, unplaced(err)
}

// executed finds EXECUTE's statement and the values of its arguments.
func (s *connection) executed(n *pgsyntax.Execute) (*statement, []sqltype.Value, error) {
	st, err := s.kept.findStatement(n.Name)
	if err != nil {
		return nil, nil, err
	}
	if len(st.params) == 0 { // PostgreSQL does not look at arguments then
		return st, nil, nil
	}
	if len(n.Args) != len(st.params) {
		return nil, nil, sqlerr.New(sqlerr.Syntax, "wrong number of parameters for prepared statement \"%s\"", n.Name).
			WithDetail("Expected %d parameters but got %d.", len(st.params), len(n.Args))
	}
	args, err := s.evaluate(n.Args, st.params)
	return st, args, err
}

// explained is EXPLAIN of a DECLARE or of an EXECUTE: of the query in it. args are the EXECUTE's, and prepared is its statement.
func (s *connection) explained(n *pgsyntax.Explain) (_ *pgsyntax.Explain, args []sqltype.Value, prepared *statement, err error) {
	of := &pgsyntax.Explain{Pos: n.Pos, Options: n.Options, Query: n.Query}
	switch q := n.Query.(type) {
	case *pgsyntax.DeclareCursor:
		of.Query = q.Query
	case *pgsyntax.Other:
		e, ok := q.Read.(*pgsyntax.Execute)
		if !ok {
			break
		}
		st, values, err := s.executed(e)
		if err != nil {
			return nil, nil, nil, err
		}
		if st.prepared == nil {
			return nil, nil, nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of this statement is not supported").At(int(n.Pos))
		}
		of.Query, args, prepared = st.node, values, st
	}
	return of, args, prepared, nil
}

// unplaced is an error of a statement that stands in another message: a position in that one is none in this.
func unplaced(err error) error {
	if e, ok := err.(*sqlerr.Error); ok {
		e.Pos = 0
	}
	return err
}

// evaluate computes EXECUTE's arguments. Strings are read as the parameters' types, as they are in text form; all else is an expression of
// no table, which the engine computes and which spends nothing.
func (s *connection) evaluate(list []pgsyntax.Expr, params []sqltype.Type) ([]sqltype.Value, error) {
	args := make([]sqltype.Value, len(list))
	row, cast, at := []pgsyntax.Expr(nil), &pgsyntax.Select{}, []int(nil)
	for i, x := range list {
		if lit, ok := x.(*pgsyntax.Literal); ok && (lit.Kind == pgsyntax.NullLit || lit.Kind == pgsyntax.StringLit) {
			if lit.Kind == pgsyntax.NullLit {
				continue
			}
			formats := s.set.formats()
			v, err := formats.Decode([]byte(lit.Text), params[i], sqltype.TextFormat)
			if e, ok := err.(*sqlerr.Error); ok {
				e.Pos = 0
				return nil, e.At(int(lit.Pos))
			}
			if err != nil {
				return nil, err
			}
			args[i] = v
			continue
		}
		if err := plainArgument(x); err != nil {
			return nil, err
		}
		at = append(at, i)
		row = append(row, x)
		cast.Targets = append(cast.Targets, pgsyntax.Target{Expr: &pgsyntax.Cast{Pos: x.Position(), X: x, Type: typeName(params[i], x.Position())}})
	}
	if len(at) == 0 {
		return args, nil
	}
	given, err := s.prepareMade(&pgsyntax.Select{Values: [][]pgsyntax.Expr{row}}) // which takes no aggregates, windows and functions that give rows either
	if err != nil {
		return nil, ofArguments(err)
	}
	for k, i := range at {
		if t := given.columns[k].Type; !assignable(t, params[i]) {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", i+1, t, params[i]).
				At(int(leftmost(list[i]))).WithHint("You will need to rewrite or cast the expression.")
		}
	}
	st, err := s.prepareMade(cast)
	if err != nil {
		return nil, err
	}
	answer, err := s.run(st, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	if len(answer.Rows) != 1 {
		return nil, sqlerr.New(sqlerr.Internal, "EXECUTE's arguments are %d rows", len(answer.Rows))
	}
	for k, i := range at {
		args[i] = answer.Rows[0][k]
	}
	return args, nil
}

// ofArguments names EXECUTE's arguments where an error is about the VALUES that they were put into.
func ofArguments(err error) error {
	e, ok := err.(*sqlerr.Error)
	if !ok {
		return err
	}
	if text, is := strings.CutSuffix(e.Message, " are not allowed in VALUES"); is {
		of := *e
		of.Message = text + " are not allowed in EXECUTE parameters"
		return &of
	}
	return err
}

// plainArgument refuses subqueries and parameters in an argument.
func plainArgument(x pgsyntax.Expr) (err error) {
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{
		Query: func(q *pgsyntax.Select) bool {
			if err == nil {
				err = noSubquery(q.Pos)
			}
			return false
		},
		Expr: func(x pgsyntax.Expr) bool {
			switch x := x.(type) {
			case *pgsyntax.Param:
				err = noSuchParam(x)
			case *pgsyntax.Subquery:
				err = noSubquery(x.Pos)
			case *pgsyntax.Exists:
				err = noSubquery(x.Pos)
			}
			return err == nil
		},
	})
	return err
}

func noSubquery(pos pgsyntax.Pos) error {
	return sqlerr.New(sqlerr.Unsupported, "cannot use subquery in EXECUTE parameter").At(int(pos))
}

// leftmost is where an expression begins.
func leftmost(x pgsyntax.Expr) pgsyntax.Pos {
	first := x.Position()
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Expr: func(y pgsyntax.Expr) bool {
		first = min(first, y.Position())
		return true
	}})
	return first
}

// assignable says whether a value of type t is taken for a parameter of type p without a cast.
func assignable(t, p sqltype.Type) bool {
	if of, ok := p.Elem(); ok {
		if elem, ok := t.Elem(); ok {
			return assignable(elem, of)
		}
		return t.OID == sqltype.OIDUnknown
	}
	days := []sqltype.OID{sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz}
	return t.OID == p.OID || t.IsNumber() && p.IsNumber() || p.IsString() || t.OID == sqltype.OIDUnknown ||
		slices.Contains(days, t.OID) && slices.Contains(days, p.OID)
}

// typeName spells a type.
func typeName(t sqltype.Type, pos pgsyntax.Pos) pgsyntax.TypeName {
	name := pgsyntax.TypeName{Pos: pos}
	if e, ok := t.Elem(); ok {
		t, name.Dims = e, 1
	}
	t.Typmod = -1
	name.Name = t.String()
	if e, ok := t.Enum(); ok {
		name.Schema, name.Name, name.Quoted = e.Schema, e.Name, true
	}
	if t.OID == sqltype.OIDChar {
		name.Name, name.Quoted = "char", true
	}
	return name
}
