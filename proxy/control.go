package proxy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// runSession executes a session statement.
func (s *connection) runSession(st *statement, args []sqltype.Value) (*answer.Answer, error) {
	switch st.node.(type) { // all others take a snapshot in PostgreSQL, which fixes the isolation level
	case *pgsyntax.Begin, *pgsyntax.Commit, *pgsyntax.Rollback, *pgsyntax.Savepoint, *pgsyntax.Release, *pgsyntax.SetTransaction, *pgsyntax.Set, *pgsyntax.Reset, *pgsyntax.Show,
		*pgsyntax.SetConstraints, *pgsyntax.Fetch, *pgsyntax.Listen, *pgsyntax.Unlisten:
	default:
		s.tx.queried = true
	}
	switch n := st.node.(type) {
	case *pgsyntax.Begin:
		return s.runBegin(n)
	case *pgsyntax.Commit:
		return s.runCommit(n)
	case *pgsyntax.Rollback:
		return s.runRollback(n)
	case *pgsyntax.Savepoint:
		return s.runSavepoint(n)
	case *pgsyntax.Release:
		return s.runRelease(n)
	case *pgsyntax.SetTransaction:
		return s.runSetTransaction(n)
	case *pgsyntax.Set:
		return s.runSet(n)
	case *pgsyntax.Reset:
		return s.runReset(n)
	case *pgsyntax.Show:
		return s.runShow(n)
	case *pgsyntax.Deallocate:
		return s.runDeallocate(n)
	case *pgsyntax.Discard:
		return s.runDiscard(n)
	case *pgsyntax.CloseCursor:
		return s.runClose(n)
	case *pgsyntax.DeclareCursor:
		return s.runDeclare(n, st, args)
	case *pgsyntax.Fetch:
		return s.runFetch(n)
	case *pgsyntax.Copy:
		return s.runCopy(n, st.text)
	case *pgsyntax.Prepare:
		return s.runPrepare(n, st.text)
	case *pgsyntax.Execute:
		return s.runExecute(n)
	case *pgsyntax.Listen: // nobody can NOTIFY
		return tag("LISTEN")
	case *pgsyntax.Unlisten:
		return tag("UNLISTEN")
	case *pgsyntax.SetConstraints: // nothing is written that they could hold for
		if !s.inBlock() {
			s.warn(sqlerr.NoActiveTx, "SET CONSTRAINTS can only be used in transaction blocks")
		}
		return tag("SET CONSTRAINTS")
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

func (s *connection) runSet(n *pgsyntax.Set) (*answer.Answer, error) {
	if n.Local && !s.inBlock() {
		s.warn(sqlerr.NoActiveTx, "SET LOCAL can only be used in transaction blocks")
	}
	var err error
	switch {
	case isMode(n.Name):
		err = s.setModeByName(n)
	case n.Default:
		err = s.set.reset(n.Name, n.Local)
	default:
		err = s.set.assign(n.Name, zoneValue(n.Values, n.Interval), n.Local)
	}
	if err != nil {
		return nil, err
	}
	return tag("SET")
}

// setModeByName is SET transaction_isolation = ...: it lasts as long as the transaction.
func (s *connection) setModeByName(n *pgsyntax.Set) error {
	list := n.Values
	if n.Default {
		list = []string{s.set.get("default_" + n.Name)}
	}
	p := parameters[n.Name]
	v, err := p.check(p, list)
	if err == nil {
		err = s.setMode(n.Name, v)
	}
	return err
}

func (s *connection) runReset(n *pgsyntax.Reset) (*answer.Answer, error) {
	var err error
	switch {
	case n.All:
		s.set.resetAll()
	case isMode(n.Name):
		s.tx.setMode(n.Name, s.set.get("default_"+n.Name))
	default:
		err = s.set.reset(n.Name, false)
	}
	if err != nil {
		return nil, err
	}
	return tag("RESET")
}

// describe gives SHOW's columns, which carry the setting's name as PostgreSQL spells it.
func (s *settings) describe(n *pgsyntax.Show) ([]answer.Column, error) {
	if n.All {
		return []answer.Column{{Name: "name", Type: sqltype.Text}, {Name: "setting", Type: sqltype.Text}, {Name: "description", Type: sqltype.Text}}, nil
	}
	name := n.Name
	if strings.HasPrefix(name, enginePrefix) {
		if _, ok, err := s.engine.Show(name); err != nil || !ok {
			return nil, cmp.Or(err, unknownParameter(name))
		}
	} else {
		p, err := findParameter(name)
		if err != nil {
			return nil, err
		}
		name = p.name
	}
	return []answer.Column{{Name: name, Type: sqltype.Text}}, nil
}

func (s *connection) runShow(n *pgsyntax.Show) (*answer.Answer, error) {
	if n.All {
		return s.showAll(), nil
	}
	v, err := s.set.shown(n.Name)
	if err != nil {
		return nil, err
	}
	return &answer.Answer{Tag: "SHOW", Rows: [][]sqltype.Value{textRow(v)}}, nil
}

// showAll lists dpsql's settings among PostgreSQL's, by name.
func (s *connection) showAll() *answer.Answer {
	a := &answer.Answer{Tag: "SHOW"}
	own := s.engine.Settings()
	for _, name := range allNames {
		for len(own) > 0 && own[0].Name < name {
			a.Rows, own = append(a.Rows, textRow(own[0].Name, own[0].Value, own[0].About)), own[1:]
		}
		if v, err := s.set.shown(name); err == nil && !hidden[name] {
			a.Rows = append(a.Rows, textRow(parameters[name].name, v, parameters[name].about))
		}
	}
	return a
}

func (s *connection) runDeallocate(n *pgsyntax.Deallocate) (*answer.Answer, error) {
	if n.All {
		s.kept.dropStatements()
		return tag("DEALLOCATE ALL")
	}
	if _, ok := s.kept.statements.get(n.Name); !ok || n.Name == "" {
		return nil, sqlerr.New(sqlerr.InvalidStatement, "prepared statement \"%s\" does not exist", n.Name)
	}
	s.kept.statements.drop(n.Name)
	return tag("DEALLOCATE")
}

func (s *connection) runDiscard(n *pgsyntax.Discard) (*answer.Answer, error) {
	if n.What == "ALL" {
		if s.inBlock() {
			return nil, sqlerr.New(sqlerr.ActiveTx, "DISCARD ALL cannot run inside a transaction block")
		}
		s.set.resetAll()
		s.kept.dropStatements()
		s.kept.portals.clear()
	}
	return tag(fmt.Sprintf("DISCARD %s", n.What))
}

// runClose closes cursors, which are portals by another name.
func (s *connection) runClose(n *pgsyntax.CloseCursor) (*answer.Answer, error) {
	if n.All {
		s.kept.closePortals()
		return tag("CLOSE CURSOR ALL")
	}
	p, ok := s.kept.portals.get(n.Name)
	switch {
	case !ok:
		return nil, noCursor(n.Name)
	case p == s.kept.active:
		return nil, sqlerr.New(sqlerr.CursorState, "cannot drop active portal \"%s\"", n.Name)
	}
	s.kept.portals.drop(n.Name)
	return tag("CLOSE CURSOR")
}
