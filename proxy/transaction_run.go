package proxy

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// beginImplicit opens a transaction around statements that stand in no block.
func (s *connection) beginImplicit() {
	if !s.tx.block && !s.tx.implicit {
		s.tx = transaction{implicit: true, begin: s.set.snapshot()}
	}
}

// inBlock reports a transaction that outlives the statement.
func (s *connection) inBlock() bool { return s.tx.block || s.cycle.several }

// endImplicit ends it well, at the end of a message or at Sync.
func (s *connection) endImplicit() {
	if s.tx.implicit && !s.tx.block {
		s.finish(true)
	}
}

// failTransaction is an error's effect. Settings go back at once, to the last savepoint's or to BEGIN's.
func (s *connection) failTransaction() {
	switch {
	case s.tx.block:
		back := s.tx.begin
		if n := len(s.tx.saves); n > 0 {
			back = s.tx.saves[n-1].at
		}
		s.set.restore(back)
		s.tx.broken = true
		for _, p := range s.kept.portals.items { // those of the savepoint's part can only be dropped now
			p.broken = p.broken || p.depth >= len(s.tx.saves)
		}
	case s.tx.implicit:
		s.finish(false)
	}
}

// fail sends a statement's error and gives the transaction up: a block is failed until it ends, an implicit one is over.
func (s *connection) fail(err error, text string) {
	e := s.shown(err)
	s.log.Debug("refused", "code", e.Code, "id", e.ID)
	s.sendError("ERROR", e, text)
	s.srv.opts.Metrics.Statement(e.Code)
	s.failTransaction()
}

// finish ends the transaction: its settings stay or go, its portals die.
func (s *connection) finish(commit bool) {
	if commit {
		s.set.endLocal()
		s.kept.holdPortals()
	} else {
		s.set.restore(s.tx.begin)
	}
	s.kept.dropPortals(held)
	s.tx = transaction{}
}

func (s *connection) runBegin(n *pgsyntax.Begin) (*answer.Answer, error) {
	if s.tx.block {
		s.warn(sqlerr.ActiveTx, "there is already a transaction in progress")
	}
	s.beginImplicit()
	if err := s.setModes(n.Modes, false); err != nil {
		return nil, err
	}
	s.tx.implicit, s.tx.block = false, true // an implicit transaction becomes the block, with what was done in it
	if n.Start {
		return tag("START TRANSACTION")
	}
	return tag("BEGIN")
}

func (s *connection) runCommit(n *pgsyntax.Commit) (*answer.Answer, error) {
	failed, modes := s.tx.broken, s.allModes()
	if !s.tx.block {
		if n.Chain {
			return nil, onlyInBlock("COMMIT AND CHAIN")
		}
		s.warn(sqlerr.NoActiveTx, "there is no transaction in progress")
	}
	s.finish(!failed)
	s.chain(n.Chain, modes)
	if failed {
		return tag("ROLLBACK")
	}
	return tag("COMMIT")
}

func (s *connection) runRollback(n *pgsyntax.Rollback) (*answer.Answer, error) {
	if n.To != "" {
		return s.rollbackTo(n.To)
	}
	modes := s.allModes()
	if !s.tx.block {
		if n.Chain {
			return nil, onlyInBlock("ROLLBACK AND CHAIN")
		}
		s.warn(sqlerr.NoActiveTx, "there is no transaction in progress")
	}
	s.finish(false)
	s.chain(n.Chain, modes)
	return tag("ROLLBACK")
}

// chain opens the next block with the modes of the last.
func (s *connection) chain(on bool, modes map[string]string) {
	if on {
		s.tx = transaction{block: true, begin: s.set.snapshot(), modes: modes}
	}
}

func (s *connection) runSavepoint(n *pgsyntax.Savepoint) (*answer.Answer, error) {
	if !s.tx.block {
		return nil, onlyInBlock("SAVEPOINT")
	}
	if len(s.tx.saves) >= maxSavepoints {
		return nil, sqlerr.New(sqlerr.SessionLimit, "a transaction can hold %d savepoints", maxSavepoints).WithHint("Release those that are not needed any more.")
	}
	s.tx.saves = append(s.tx.saves, savepoint{n.Name, s.set.snapshot()})
	return tag("SAVEPOINT")
}

const maxSavepoints = 1000

func (s *connection) findSavepoint(name, command string) (int, error) {
	if !s.tx.block {
		return 0, onlyInBlock(command)
	}
	for i := len(s.tx.saves) - 1; i >= 0; i-- {
		if s.tx.saves[i].name == name {
			return i, nil
		}
	}
	return 0, sqlerr.New(sqlerr.InvalidSavepoint, "savepoint \"%s\" does not exist", name)
}

func (s *connection) runRelease(n *pgsyntax.Release) (*answer.Answer, error) {
	i, err := s.findSavepoint(n.Name, "RELEASE SAVEPOINT")
	if err != nil {
		return nil, err
	}
	s.tx.saves = s.tx.saves[:i]
	for _, p := range s.kept.portals.items {
		p.depth = min(p.depth, i)
	}
	return tag("RELEASE")
}

func (s *connection) rollbackTo(name string) (*answer.Answer, error) {
	i, err := s.findSavepoint(name, "ROLLBACK TO SAVEPOINT")
	if err != nil {
		return nil, err
	}
	s.set.restore(s.tx.saves[i].at)
	s.tx.saves = s.tx.saves[:i+1]
	s.kept.dropPortals(i)
	s.tx.broken = false
	return tag("ROLLBACK")
}

func onlyInBlock(command string) error {
	return sqlerr.New(sqlerr.NoActiveTx, "%s can only be used in transaction blocks", command)
}

// readMode turns one of BEGIN's modes into a setting.
func readMode(mode string) (name, value string, ok bool) {
	switch mode {
	case "READ ONLY":
		return modeReadOnly, "on", true
	case "READ WRITE":
		return modeReadOnly, "off", true
	case "DEFERRABLE":
		return modeDeferrable, "on", true
	case "NOT DEFERRABLE":
		return modeDeferrable, "off", true
	}
	level, ok := strings.CutPrefix(mode, "ISOLATION LEVEL ")
	return modeIsolation, strings.ToLower(level), ok
}

// setModes applies modes to the transaction, or to the session's later ones. All isolation levels are given: a statement reads
// one snapshot, and nothing that it reads is shown but through a release.
func (s *connection) setModes(modes []string, session bool) error {
	for _, m := range modes {
		name, value, ok := readMode(m)
		switch {
		case !ok:
			return sqlerr.New(sqlerr.Unsupported, "transaction mode %s is not supported", m)
		case session:
			if err := s.set.assign("default_"+name, []string{value}, false); err != nil {
				return err
			}
		default:
			if err := s.setMode(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// setMode sets a mode of the transaction, if it is not too late for it.
func (s *connection) setMode(name, value string) error {
	now, within := s.mode(name), len(s.tx.saves) > 0
	late := ""
	switch {
	case name == modeIsolation && value != now && s.tx.queried:
		late = "SET TRANSACTION ISOLATION LEVEL must be called before any query"
	case name == modeIsolation && value != now && within:
		late = "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
	case name == modeReadOnly && value == "off" && now == "on" && within:
		late = "cannot set transaction read-write mode inside a read-only transaction"
	case name == modeReadOnly && value == "off" && now == "on" && s.tx.queried:
		late = "transaction read-write mode must be set before any query"
	case name == modeDeferrable && within:
		late = "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction"
	case name == modeDeferrable && s.tx.queried:
		late = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query"
	}
	if late != "" {
		return sqlerr.New(sqlerr.ActiveTx, "%s", late)
	}
	s.tx.setMode(name, value)
	return nil
}

// mode is a mode of the transaction: what was said for it, or what was the session's as it began.
func (s *connection) mode(name string) string {
	if v, ok := s.tx.modes[name]; ok {
		return v
	}
	if s.tx.block || s.tx.implicit {
		return s.set.getAt(&s.tx.begin.values, "default_"+name)
	}
	return s.set.get("default_" + name)
}

// allModes are all modes of the transaction.
func (s *connection) allModes() map[string]string {
	return map[string]string{modeIsolation: s.mode(modeIsolation), modeReadOnly: s.mode(modeReadOnly), modeDeferrable: s.mode(modeDeferrable)}
}

func (s *connection) runSetTransaction(n *pgsyntax.SetTransaction) (*answer.Answer, error) {
	if !n.Session && !s.inBlock() { // it holds up to the Sync
		s.warn(sqlerr.NoActiveTx, "SET TRANSACTION can only be used in transaction blocks")
	}
	if err := s.setModes(n.Modes, n.Session); err != nil {
		return nil, err
	}
	return tag("SET")
}

func tag(t string) (*answer.Answer, error) { return &answer.Answer{Tag: t}, nil }

// textRow is a row of text values.
func textRow(values ...string) []sqltype.Value {
	row := make([]sqltype.Value, len(values))
	for i, v := range values {
		row[i] = v
	}
	return row
}
