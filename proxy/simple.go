package proxy

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// query serves the simple protocol: statements one after the other in one implicit transaction, each with its own result, up to
// the first that fails.
func (s *connection) query(text string) error {
	s.kept.statements.drop("")
	s.kept.portals.drop("")
	statements, err := s.parse(text)
	if err != nil {
		s.fail(err, text)
		return s.ready()
	}
	s.cycle.several = len(statements) > 1
	defer func() { s.cycle.several = false }()
	for _, st := range statements {
		if _, empty := st.Node.(*pgsyntax.Empty); empty {
			s.wire.send(&pgproto3.EmptyQueryResponse{})
			break
		}
		if err := s.simple(st, text); err != nil {
			if err == errQuiet {
				return err
			}
			s.fail(err, text)
			break
		}
		if err := s.relieve(); err != nil {
			return err
		}
	}
	s.endImplicit()
	return s.ready()
}

func (s *connection) simple(st pgsyntax.Statement, text string) error {
	if s.tx.failed() && !endsTransaction(st.Node) {
		return errAborted()
	}
	s.beginImplicit()
	if _, refused := st.Node.(*pgsyntax.Other); st.Params > 0 && !refused {
		return noParam(st.Node)
	}
	p, err := s.prepare(st, text, nil)
	if err != nil {
		return err
	}
	formats := s.simpleFormats(p.node)
	query := p.prepared != nil && selects(p.node)
	if query {
		s.wire.send(s.rowDescription(p.columns, nil))
	}
	answer, err := s.run(p, nil)
	if err != nil {
		return err
	}
	sent := 0
	if p.rows {
		if !query { // as in PostgreSQL its answer is described when it is there
			s.wire.send(s.rowDescription(p.columns, formats))
		}
		if sent, err = s.eachRow(answer, s.sender(p.columns, formats)); err != nil {
			return err
		}
	}
	s.wire.send(&pgproto3.CommandComplete{CommandTag: []byte(commandTag(answer, sent))})
	s.srv.opts.Metrics.Statement("ok")
	return nil
}

func selects(n pgsyntax.Node) bool {
	_, ok := n.(*pgsyntax.Select)
	return ok
}

// noParam names the first $n of a statement: the simple protocol gives no parameters.
func noParam(n pgsyntax.Node) error {
	switch x := n.(type) {
	case *pgsyntax.Explain:
		n = x.Query
	case *pgsyntax.DeclareCursor:
		n = x.Query
	}
	sel, ok := n.(*pgsyntax.Select)
	if !ok {
		return sqlerr.New(sqlerr.UndefinedParam, "parameters are not allowed here")
	}
	if err := noParams(sel); err != nil {
		return err
	}
	return sqlerr.New(sqlerr.UndefinedParam, "parameters are not allowed here")
}
