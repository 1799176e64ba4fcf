package mlext

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/sidetable"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Store keeps the models of a data set: in a file beside a SQLite ledger, or in the database of a shared one, where all proxies see them. What is in it was
// released, so losing it loses what was paid for and nobody's privacy; with the owner's key, which seals stored releases, it is sealed as they are. A model is its trainer's, and of those whom they granted it; names are each trainer's own, so that nobody learns of another's.
type Store struct {
	db      sidetable.Table
	dataset string
	key     Sealer

	mu   sync.Mutex
	held map[Name]bool // by Hold

	counts  map[string]modelBytes // by Bytes
	changes time.Time             // of the last change here

	beside   []*Store    // what lies beside the models, each in a table of its own: synthetic tables and cubes
	what     string      // this one has: ofModels, ofTables or ofCubes
	read     []readTable // synthetic tables whose rows were read, the last one last
	listed   []Stored    // by Recent; nil: none was listed
	listedAt time.Time
}

// Stored is a model in the store. Model is there where one was asked for by its name.
type Stored struct {
	Name, Owner string
	Readers     []string
	Head
	Model   *Model
	rows    *Table // of a synthetic table whose body was read
	cube    *Cube  // and of a cube
	broken  error  // its text cannot be read
	readers string // Readers as they are stored
}

// Head is what a list shows of a model beside its name; empty where it was sealed by another key. That of a synthetic table has the table without its cells, and that of a cube the cube without its releases.
type Head struct {
	Kind, Method, Target string
	Table                *Table `json:",omitempty"`
	Cube                 *Cube  `json:",omitempty"`
}

// OpenFile opens the store in a file, which one process owns. key may be nil: texts lie there as they are.
func OpenFile(path, dataset string, key Sealer) (*Store, error) {
	db, err := sidetable.OpenFile(path, table)
	if err != nil {
		return nil, fmt.Errorf("mlext: the models' file: %w", err)
	}
	return newStore(db, dataset, key)
}

// OpenServer opens the store in a PostgreSQL ledger's database, in the ledger's schema. Nothing is asked before the first statement about models.
func OpenServer(url, dataset string, key Sealer) (*Store, error) {
	db, err := sidetable.OnServer(url, table)
	if err != nil {
		return nil, err
	}
	return newStore(db, dataset, key)
}

const columns = "dataset text NOT NULL, name text NOT NULL, owner text NOT NULL, readers text NOT NULL, head text NOT NULL, body text NOT NULL, PRIMARY KEY (dataset, owner, name)"

// What a store has, as messages say it.
const (
	ofModels = "model"
	ofTables = "synthetic table"
	ofCubes  = "cube"
)

// The tables that hold models, synthetic tables and cubes.
var (
	table  = sidetable.Spec{Name: "models", Columns: columns}
	tables = sidetable.Spec{Name: "synthetic_tables", Columns: columns, Called: "models"}
	cubes  = sidetable.Spec{Name: "cubes", Columns: columns, Called: "models"}
)

func newStore(models sidetable.Table, dataset string, key Sealer) (*Store, error) {
	of := func(db sidetable.Table, what string) *Store {
		return &Store{db: db, dataset: dataset, key: key, what: what, held: map[Name]bool{}}
	}
	s := of(models, ofModels)
	for _, b := range []struct {
		spec sidetable.Spec
		what string
	}{{tables, ofTables}, {cubes, ofCubes}} {
		db, err := models.Beside(b.spec)
		if err != nil {
			return nil, err
		}
		s.beside = append(s.beside, of(db, b.what))
	}
	return s, nil
}

// object is a model's row as one JSON text, with an expression for its body.
func (s *Store) object(body string) string {
	return s.db.Object("'Dataset', dataset, 'Name', name, 'Owner', owner, 'Readers', readers, 'Head', head, 'Body', " + body)
}

// Close ends it.
func (s *Store) Close() error { return s.db.Close() }

// put stores a model; ok is false where its name is taken, and it is not to replace that.
func (s *Store) put(ctx context.Context, owner string, m *Model, replace bool) (ok bool, err error) {
	text, err := m.Encode()
	if err != nil {
		return false, err
	}
	return s.putText(ctx, owner, m.Name, Head{Kind: m.Kind, Method: m.Method, Target: m.Target.Name}, text, replace)
}

func (s *Store) putText(ctx context.Context, owner, name string, of Head, text []byte, replace bool) (ok bool, err error) {
	body, err := s.seal(owner, text)
	if err != nil {
		return false, err
	}
	if text, err = json.Marshal(of); err != nil {
		return false, err
	}
	head, err := s.seal(owner, text)
	if err != nil {
		return false, err
	}
	conflict := "NOTHING"
	if replace {
		conflict = "UPDATE SET head = excluded.head, body = excluded.body"
	}
	defer s.changed()
	stored, err := s.db.Read(ctx, "INSERT INTO models AS m (dataset, name, owner, readers, head, body) VALUES ($1, $2, $3, '[]', $4, $5) ON CONFLICT (dataset, owner, name) DO "+conflict+" RETURNING name", s.dataset, name, owner, head, body)
	return len(stored) > 0, err
}

// CopyTo copies all models and what lies beside them, of all data sets, into another store, over those that it has of their names: sealed ones as they are. It counts the models.
func (s *Store) CopyTo(ctx context.Context, to *Store) (int, error) {
	for i, b := range s.beside {
		if _, err := b.CopyTo(ctx, to.beside[i]); err != nil {
			return 0, err
		}
	}
	texts, err := s.db.Read(ctx, "SELECT "+s.object("''")+" FROM models WHERE true ORDER BY dataset, owner, name")
	if err != nil {
		return 0, err
	}
	for _, t := range texts { // one after the other: all together may be more than memory holds
		var r row
		if err := json.Unmarshal([]byte(t), &r); err != nil {
			return 0, err
		}
		one, err := s.db.Read(ctx, "SELECT "+s.object("body")+" FROM models WHERE dataset = $1 AND owner = $2 AND name = $3", r.Dataset, r.Owner, r.Name)
		if err != nil {
			return 0, err
		}
		if len(one) == 0 {
			return 0, fmt.Errorf("mlext: %s %q of %q was dropped while it was copied", s.what, r.Name, r.Owner)
		}
		if err := json.Unmarshal([]byte(one[0]), &r); err != nil {
			return 0, err
		}
		if err := to.db.Exec(ctx, "INSERT INTO models (dataset, name, owner, readers, head, body) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (dataset, owner, name) DO UPDATE SET readers = excluded.readers, head = excluded.head, body = excluded.body", r.Dataset, r.Name, r.Owner, r.Readers, r.Head, r.Body); err != nil {
			return 0, err
		}
	}
	return len(texts), nil
}

// row is a model as it is read.
type row struct {
	Dataset, Name, Owner, Readers, Head, Body string
}

// rows reads models; body is an expression for their texts, and models without one are not decoded, nor are those that the analyst may not use.
func (s *Store) rows(ctx context.Context, analyst, body, where string, args ...string) ([]Stored, error) {
	texts, err := s.db.Read(ctx, "SELECT "+s.object(body)+" FROM models WHERE "+where+" ORDER BY name, owner", args...)
	if err != nil {
		return nil, fmt.Errorf("mlext: the models' store: %w", err)
	}
	var out []Stored
	for _, t := range texts {
		var r row
		st, err := Stored{}, json.Unmarshal([]byte(t), &r)
		if err == nil {
			st.Name, st.Owner, st.readers = r.Name, r.Owner, r.Readers
			err = json.Unmarshal([]byte(r.Readers), &st.Readers)
		}
		switch {
		case r.Body == "":
		case s.what == ofTables:
			st.rows, st.broken = s.decodeTable(&r)
		case s.what == ofCubes:
			st.cube, st.broken = s.decodeCube(&r)
		case st.usableBy(analyst):
			st.Model, st.broken = s.decode(&r)
		}
		if err != nil {
			return nil, fmt.Errorf("mlext: the models' store: %w", err)
		}
		if text, err := s.open(r.Owner, r.Head); err == nil {
			err = json.Unmarshal(text, &st.Head)
			if err != nil {
				return nil, fmt.Errorf("mlext: the models' store: %w", err)
			}
		}
		if s.what == ofTables && st.Table == nil || s.what == ofCubes && st.Cube == nil {
			st.broken = errOtherKey
		}
		out = append(out, st)
	}
	return out, nil
}

func (s *Store) decode(r *row) (*Model, error) {
	text, err := s.open(r.Owner, r.Body)
	if err != nil {
		return nil, err
	}
	m, err := Decode(text)
	if err == nil {
		m.Name = r.Name // it may have got another one since its card was written
		for i := range m.Card {
			if m.Card[i].Name == "model" {
				m.Card[i].Value = r.Name
			}
		}
	}
	return m, err
}

// List gives the models that an analyst may use, without their coefficients.
func (s *Store) List(ctx context.Context, analyst string) ([]Stored, error) {
	list, err := s.rows(ctx, analyst, "''", "dataset = $1", s.dataset)
	return slices.DeleteFunc(list, func(m Stored) bool { return !m.usableBy(analyst) }), err
}

// countedFor is how long Bytes goes by what it counted, where another proxy stores models too.
const countedFor = time.Minute

type modelBytes struct {
	bytes int64
	at    time.Time
}

// Bytes is what an analyst's models take, in the store's data set: each is asked about for every charge, and the database seldom.
func (s *Store) Bytes(ctx context.Context, analyst string) (n int64, err error) {
	s.mu.Lock()
	known, ok := s.counts[analyst]
	s.mu.Unlock()
	if ok && time.Since(known.at) < countedFor {
		return known.bytes, nil
	}
	at := time.Now()
	list, err := s.db.Read(ctx, "SELECT CAST(COALESCE(sum(octet_length(body)), 0) AS text) FROM models WHERE dataset = $1 AND owner = $2", s.dataset, analyst)
	if err == nil && len(list) == 1 {
		n, err = strconv.ParseInt(list[0], 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("mlext: the models' store: %w", err)
	}
	for _, b := range s.beside {
		more, err := b.Bytes(ctx, analyst)
		if err != nil {
			return 0, err
		}
		n += more
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]modelBytes{}
	}
	if s.changes.Before(at) {
		s.counts[analyst] = modelBytes{n, at}
	}
	return n, nil
}

// changed makes Bytes count anew.
func (s *Store) changed() {
	s.mu.Lock()
	s.counts, s.changes, s.listed = nil, time.Now(), nil
	s.mu.Unlock()
}

// Named counts the models, synthetic tables and cubes that are an analyst's, and the models that were granted to that name, of the store's data set.
func (s *Store) Named(ctx context.Context, analyst string) (own, granted int, err error) {
	list, err := s.rows(ctx, "", "''", "dataset = $1", s.dataset)
	for _, b := range s.beside {
		var more int
		if err == nil {
			more, _, err = b.Named(ctx, analyst)
		}
		own += more
	}
	for _, m := range list {
		switch {
		case m.Owner == analyst:
			own++
		case m.usableBy(analyst):
			granted++
		}
	}
	return own, granted, err
}

func (m *Stored) usableBy(analyst string) bool {
	return m.Owner == analyst || slices.Contains(m.Readers, analyst)
}

// Name is a model's name; without an owner it may be written owner.name.
type Name struct{ Owner, Text string }

// String is the name as it was written.
func (n Name) String() string {
	if n.Owner == "" {
		return n.Text
	}
	return n.Owner + "." + n.Text
}

// Get finds a model that an analyst may use: their own, or the one of that name that was granted to them. Others do not exist for them.
func (s *Store) Get(ctx context.Context, name Name, analyst string) (*Stored, error) {
	m, err := s.find(ctx, name, analyst)
	if err == nil {
		err = m.broken
	}
	return m, err
}

func (s *Store) find(ctx context.Context, name Name, analyst string) (*Stored, error) {
	list, err := s.rows(ctx, analyst, "CASE WHEN (name = $2 OR owner || '.' || name = $2) AND (owner = $3 OR readers <> '[]') THEN body ELSE '' END", "dataset = $1", s.dataset, name.String(), analyst)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(m Stored) bool { return !m.usableBy(analyst) })
	var own, granted, written []*Stored
	var names []string
	for i := range list {
		m := &list[i]
		switch whole := (Name{m.Owner, m.Name}); {
		case name == whole:
			return m, nil
		case m.Owner != analyst && checkName(m.Name) != nil: // stored before such names were refused: it could look like another owner's
			continue
		case name == Name{Text: m.Name} && m.Owner == analyst:
			own = append(own, m)
		case name == Name{Text: m.Name}:
			granted = append(granted, m)
		case name == Name{Text: whole.String()}:
			written = append(written, m)
		}
		names = append(names, m.Name, m.Owner+"."+m.Name)
	}
	for _, found := range [][]*Stored{written, own, granted} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			of := make([]string, len(found))
			for i, m := range found {
				of[i] = m.Owner + "." + m.Name
			}
			return nil, sqlerr.New(sqlerr.InvalidParam, "model %q is of several analysts", name).WithHint("Name it with its owner: %s.", strings.Join(of, " or "))
		}
	}
	e := sqlerr.New(sqlerr.UndefinedObject, "model %q does not exist", name)
	if near := sqlerr.Nearest(name.String(), names); near != "" {
		return nil, e.WithHint("Perhaps you mean %s.", near)
	}
	return nil, e.WithHint("SHOW DP MODELS lists those that there are.")
}

// own is a model that is the analyst's own.
func (s *Store) own(ctx context.Context, name Name, analyst string) (*Stored, error) {
	m, err := s.find(ctx, name, analyst) // one whose text cannot be read can be dropped
	if err == nil && m.Owner != analyst {
		return nil, sqlerr.New(sqlerr.Privilege, "must be owner of model %s", name)
	}
	return m, err
}

// Drop removes a model.
func (s *Store) Drop(ctx context.Context, name Name, analyst string) error {
	m, err := s.own(ctx, name, analyst)
	if err != nil {
		return err
	}
	defer s.changed()
	return s.db.Exec(ctx, "DELETE FROM models WHERE dataset = $1 AND owner = $2 AND name = $3", s.dataset, analyst, m.Name)
}

// Rename gives a model another name.
func (s *Store) Rename(ctx context.Context, name Name, to, analyst string) error {
	if err := checkName(to); err != nil {
		return err
	}
	m, err := s.own(ctx, name, analyst)
	if err != nil {
		return err
	}
	release, err := s.Hold(ctx, to, analyst, false)
	if err != nil {
		return err
	}
	defer release()
	return s.db.Exec(ctx, "UPDATE models SET name = $4 WHERE dataset = $1 AND owner = $2 AND name = $3", s.dataset, analyst, m.Name, to)
}

// mostReaders is how many analysts a model can be granted to: their list is read with each statement about models.
const mostReaders = 250

// Grant lets another analyst use a model; off takes that back.
//
// Proof: claim: after it returns, and until the next Grant about the same analyst, the analyst is among the readers, or with off is not. (1) The new list is written only where the old one is still what it was made from, in one statement; (2) else it is made again from
// what is there. So no Grant about another analyst, of whatever session or proxy, is undone by this one.
func (s *Store) Grant(ctx context.Context, name Name, analyst, to string, off bool) error {
	for {
		m, err := s.own(ctx, name, analyst)
		if err != nil {
			return err
		}
		switch {
		case to == analyst:
			return sqlerr.New(sqlerr.InvalidParam, "model %s is your own: it cannot be granted to you, or taken from you", name).WithHint("Name another analyst.")
		case slices.Contains(m.Readers, to) != off:
			return nil
		case !off && len(m.Readers) >= mostReaders:
			return sqlerr.New(sqlerr.TooLong, "model %q is granted to %d analysts already", name, len(m.Readers)).
				WithHint("Take it from one who does not need it: REVOKE DP MODEL %s FROM %s.", pgsyntax.QuoteIdent(m.Name), pgsyntax.QuoteIdent(m.Readers[0]))
		}
		readers := slices.DeleteFunc(slices.Clone(m.Readers), func(r string) bool { return r == to })
		if !off {
			readers = append(readers, to)
		}
		text, err := json.Marshal(append([]string{}, readers...))
		if err != nil {
			return err
		}
		written, err := s.db.Read(ctx, "UPDATE models SET readers = $4 WHERE dataset = $1 AND owner = $2 AND name = $3 AND readers = $5 RETURNING name", s.dataset, analyst, m.Name, string(text), m.readers) // (1) only over the list that this one was made from
		if err != nil || len(written) > 0 {
			return err
		}
		if err := ctx.Err(); err != nil { // (2) else it is made again, while somebody waits
			return err
		}
	}
}
