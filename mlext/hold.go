package mlext

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Hold keeps a free name of an analyst's for a training, from before its charge until release: another training of that name, whichever proxy it is asked of, and a RENAME to it
// are refused. On a server it is a lock of a session of its own, so that nothing of it outlives a proxy that died.
func (s *Store) Hold(ctx context.Context, name, owner string, replace bool) (release func(), err error) {
	of := Name{owner, name}
	s.mu.Lock()
	held := s.held[of]
	if !held {
		s.held[of] = true
	}
	s.mu.Unlock()
	if held {
		return nil, s.inTraining(name)
	}
	letGo := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, of)
	}
	lock := lockOf(s.dataset, owner, name)
	switch s.what {
	case ofTables:
		lock = ^lock
	case ofCubes:
		lock = lockOf(s.dataset, owner, "cube\x00"+name)
	}
	unlock, ok, err := s.db.Lock(ctx, lock)
	switch {
	case err != nil:
		letGo()
		return nil, fmt.Errorf("mlext: the models' store: %w", err)
	case !ok:
		letGo()
		return nil, s.inTraining(name)
	}
	release = func() {
		unlock()
		letGo()
	}
	if err := s.taken(ctx, name, owner, replace); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Free refuses a name that the analyst has given already, or trains a model of here.
func (s *Store) Free(ctx context.Context, name, owner string, replace bool) error {
	s.mu.Lock()
	held := s.held[Name{owner, name}]
	s.mu.Unlock()
	if held {
		return s.inTraining(name)
	}
	return s.taken(ctx, name, owner, replace)
}

func (s *Store) inTraining(name string) error {
	if s.what != ofModels {
		return sqlerr.New(sqlerr.DuplicateObject, "%s %q is being made already", s.what, name).WithHint("Take another name, or wait until it is made. Nothing was spent.")
	}
	return sqlerr.New(sqlerr.DuplicateObject, "model %q is being trained already", name).WithHint("Take another name, or wait for the end of that training. Nothing was spent.")
}

// taken refuses a name that a stored model has.
func (s *Store) taken(ctx context.Context, name, owner string, replace bool) error {
	list, err := s.rows(ctx, "", "''", "dataset = $1 AND owner = $2 AND name = $3", s.dataset, owner, name)
	if err != nil || len(list) == 0 || replace {
		return err
	}
	switch s.what {
	case ofCubes:
		return sqlerr.New(sqlerr.DuplicateObject, "cube %q already exists", name).WithHint("Take another name, or DROP DP CUBE %s first.", pgsyntax.QuoteIdent(name))
	case ofTables:
		return sqlerr.New(sqlerr.DuplicateObject, "synthetic table %q already exists", name).WithHint("Take another name, or CREATE OR REPLACE DP SYNTHETIC TABLE %s ...", pgsyntax.QuoteIdent(name))
	}
	return sqlerr.New(sqlerr.DuplicateObject, "model %q already exists", name).WithHint("Take another name, or CREATE OR REPLACE DP MODEL %s ...", pgsyntax.QuoteIdent(name))
}

// Keep stores a trained model. Where its name was taken although it was held (the session that held it was cut off), it overwrites nothing: it is kept by the first free name of m_2, m_3 ..., which is in the error.
func (s *Store) Keep(ctx context.Context, owner string, m *Model, replace bool) error {
	name := m.Name
	for i := 2; ; i++ {
		ok, err := s.put(ctx, owner, m, replace)
		switch {
		case err != nil:
			return err
		case !ok:
			m.Name = fmt.Sprintf("%s_%d", short(name), i)
			replace = false
		case m.Name != name:
			return sqlerr.New(sqlerr.DuplicateObject, "another model %q was stored while this one was trained", name).WithHint("Both are kept, this one as %s. What it cost stays spent.", m.Name)
		default:
			return nil
		}
	}
}

// mostName leaves room for a number in PostgreSQL's 63 bytes of a name.
const mostName = 58

func short(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), mostName)], "")
}

// lockOf is the number of a name's lock.
func lockOf(dataset, owner, name string) int64 {
	h := sha256.Sum256(fmt.Appendf(nil, "dpsql model %q %q %q", dataset, owner, name))
	return int64(binary.BigEndian.Uint64(h[:]))
}
