package proxy

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// prepare finds a statement's types. oids are the parameter types that the client gave.
func (s *connection) prepare(st pgsyntax.Statement, text string, oids []sqltype.OID) (*statement, error) {
	out := &statement{node: st.Node, text: text, bytes: measure(st.Node, text)}
	if o, ok := st.Node.(*pgsyntax.Other); ok && o.Read != nil {
		out.node = o.Read
	}
	switch n := out.node.(type) {
	case *pgsyntax.Select, *pgsyntax.Explain, *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Models, *pgsyntax.Watch, *pgsyntax.DropWatch, *pgsyntax.Synthesize, *pgsyntax.SyntheticTables, *pgsyntax.Cube, *pgsyntax.DropCube:
		made := false
		out.formats = s.set.formats()
		if e, ok := n.(*pgsyntax.Explain); ok {
			of, args, prepared, err := s.explained(e)
			if err != nil {
				return nil, err
			}
			if _, made = e.Query.(*pgsyntax.Other); made {
				oids, out.args = nil, args
			}
			if prepared != nil {
				for _, p := range prepared.params {
					oids = append(oids, p.OID)
				}
				if prepared.formats.Path == out.formats.Path { // by which the literals were read
					out.formats = prepared.formats
				}
			}
			st.Node = of
		}
		s.tx.queried = true // as by PostgreSQL's analysis, which takes a snapshot
		ctx, done := s.running()
		defer done()
		s.engine.Use(out.formats)
		p, err := s.engine.Prepare(ctx, st, oids)
		if err != nil {
			if made {
				err = unplaced(err)
			}
			return nil, runError(ctx, err)
		}
		out.prepared, out.columns = p, p.Columns()
		out.bytes = max(out.bytes, p.Size()) // what it is bound to may be far more than what is written
		switch n.(type) {
		case *pgsyntax.Models, *pgsyntax.Watch, *pgsyntax.DropWatch, *pgsyntax.SyntheticTables, *pgsyntax.Cube, *pgsyntax.DropCube:
			out.rows = len(out.columns) > 0
		default:
			out.rows = true
		}
		if !made {
			out.params = p.Params()
		}
		out.bytes += typeBytes * (len(out.params) + len(out.columns))
		return out, nil
	case *pgsyntax.Show:
		columns, err := s.set.describe(n)
		if err != nil {
			return nil, err
		}
		out.columns, out.rows = columns, true
	case *pgsyntax.DeclareCursor:
		err := s.prepareCursor(n, text, oids, out)
		return out, err
	case *pgsyntax.Fetch:
		out.columns, out.rows = s.shape(n)
	case *pgsyntax.Execute:
		out.columns, out.rows = s.shape(n)
	case *pgsyntax.Copy:
		if err := s.refuseCopy(pgsyntax.Pos(st.Offset), n); err != nil {
			return nil, err
		}
	case *pgsyntax.Other:
		if n.Verb == "COPY FROM" {
			return nil, s.refuseCopy(n.Pos, nil)
		}
		return nil, notYet(n.Verb, st)
	}
	for _, oid := range oids { // a session statement has no $n, but a client may declare types for it
		out.params = append(out.params, sqltype.Type{OID: oid, Typmod: -1})
	}
	out.bytes += typeBytes * len(out.params)
	return out, nil
}

func notYet(what string, st pgsyntax.Statement) error {
	if what == "NOTIFY" {
		return sqlerr.New(sqlerr.Unsupported, "%s is not supported", what).At(st.Offset).
			WithHint("Analysts send each other nothing through dpsql; LISTEN is taken, and hears nothing.")
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is not supported", what).At(st.Offset).
		WithHint("dpsql answers SELECT and EXPLAIN over the tables that its policy publishes; SET, SHOW, cursors and transactions work as in PostgreSQL.")
}

// endsTransaction reports a statement that a failed transaction still takes.
func endsTransaction(n pgsyntax.Node) bool {
	switch n.(type) {
	case *pgsyntax.Commit, *pgsyntax.Rollback:
		return true
	}
	return false
}

// parse reads a message's statements.
func (s *connection) parse(text string) ([]pgsyntax.Statement, error) {
	if err := sqltype.ValidText([]byte(text)); err != nil {
		return nil, err
	}
	return pgsyntax.Parse(text)
}

// run executes a statement, tells of it and gives its answer; one without rows has only a tag.
func (s *connection) run(st *statement, args []sqltype.Value) (*answer.Answer, error) {
	if st.prepared == nil {
		return s.runSession(st, args)
	}
	answer, err := s.answer(st, args)
	if err != nil {
		return nil, err
	}
	if err := s.hold(s.kept.unread() + answerBytes(answer.Rows)); err != nil {
		_ = answer.Close()
		return nil, err
	}
	s.tell(answer)
	return answer, nil
}

// answer executes what the engine prepared.
func (s *connection) answer(st *statement, args []sqltype.Value) (*answer.Answer, error) {
	if st.args != nil { // its client has none to give
		args = st.args
	}
	s.tx.queried = true
	ctx, done := s.running()
	defer done()
	s.engine.Use(s.set.formats())
	answer, err := st.prepared.Run(ctx, args)
	if err != nil {
		return nil, runError(ctx, err)
	}
	return answer, nil
}
