package watches

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/sidetable"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// The states of a watch. One that has ended says why behind StateEnded.
const (
	StateNew     = "being created" // and not charged
	StateLooking = "looking"
	StateEnded   = "ended: "
)

// Watch is a watch as its analyst and the owner may see it, with its Secret.
type Watch struct {
	Owner     string        `json:"analyst"`
	Name      string        `json:"watch"`
	Statement string        `json:"statement"` // the query
	Formats   Formats       `json:"formats"`
	Threshold uint64        `json:"threshold"`
	Every     time.Duration `json:"every"`
	Times     uint64        `json:"times"`
	Price     float64       `json:"price"`
	Event     dp.Watch      `json:"event"`
	State     string        `json:"state"`
	Created   time.Time     `json:"created"`
	Next      time.Time     `json:"next_look,omitzero"`
	Looks     int64         `json:"looks"` // that were begun
	Alerts    int64         `json:"alerts"`
	LastAlert time.Time     `json:"last_alert,omitzero"`
	Window    time.Time     `json:"window,omitzero"` // the start of the budget's window that was charged last

	Secret  noise.WatchState `json:"-"`
	version int64
}

// Formats are how a statement's literals are read.
type Formats struct {
	Zone          string `json:"zone,omitempty"`
	DateStyle     int    `json:"date_style,omitempty"`
	DateOrder     int    `json:"date_order,omitempty"`
	IntervalStyle int    `json:"interval_style,omitempty"`
	Path          string `json:"search_path,omitempty"`
}

// IsLooking says that there are looks to come.
func (w *Watch) IsLooking() bool { return w.State == StateLooking }

// HasEnded says that a watch looked and looks no more.
func (w *Watch) HasEnded() bool { return strings.HasPrefix(w.State, StateEnded) }

// End ends a watch and says why.
func (w *Watch) End(why string) { w.State, w.Next = StateEnded+why, time.Time{} }

// Interval is a time between looks as SQL has it.
func Interval(d time.Duration) sqltype.Interval {
	const day = 24 * time.Hour
	return sqltype.Interval{Days: int32(d / day), Micros: int64(d % day / time.Microsecond)} //nolint:gosec // some thousand days
}

// IntervalText is that as text.
func IntervalText(d time.Duration) string {
	text, err := sqltype.Encode(Interval(d), sqltype.Type{OID: sqltype.OIDInterval, Typmod: -1}, sqltype.TextFormat, nil)
	if err != nil {
		return d.String()
	}
	return string(text)
}

// Sealer encrypts texts at rest, bound to something. budget/ledger's Key is one.
type Sealer interface {
	Seal(binding, plain []byte) ([]byte, error)
	Open(binding, sealed []byte) ([]byte, error)
	Name() string
}

// Store keeps the watches of a data set.
type Store struct {
	table   sidetable.Table
	dataset string

	mu   sync.Mutex
	keys []Sealer

	// Changed hears of watches that were created or changed here.
	Changed chan struct{}
}

var spec = sidetable.Spec{Name: "watches", Columns: "dataset text NOT NULL, owner text NOT NULL, name text NOT NULL, version text NOT NULL, body text NOT NULL, PRIMARY KEY (dataset, owner, name)"}

// OpenFile opens the store in a file, which one process owns.
func OpenFile(path, dataset string) (*Store, error) {
	t, err := sidetable.OpenFile(path, spec)
	return newStore(t, dataset, err)
}

// OpenServer opens the store in a PostgreSQL ledger's database.
func OpenServer(url, dataset string) (*Store, error) {
	t, err := sidetable.OnServer(url, spec)
	return newStore(t, dataset, err)
}

func newStore(t sidetable.Table, dataset string, err error) (*Store, error) {
	if err != nil {
		return nil, fmt.Errorf("the watches' store: %w", err)
	}
	return &Store{table: t, dataset: dataset, Changed: make(chan struct{}, 1)}, nil
}

// SetKeys says how watches are encrypted: by the first key. Each of them may decrypt.
func (s *Store) SetKeys(keys []Sealer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// Close ends it.
func (s *Store) Close() error { return s.table.Close() }

// body is what is sealed.
type body struct {
	Watch  *Watch           `json:"watch"`
	Secret noise.WatchState `json:"secret"`
}

func (s *Store) binding(owner, name string) []byte {
	return []byte("dpsql watch\x00" + s.dataset + "\x00" + owner + "\x00" + name)
}

func (s *Store) seal(w *Watch) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return "", errors.New("the watches' store has no key")
	}
	plain, err := json.Marshal(body{w, w.Secret})
	if err != nil {
		return "", err
	}
	sealed, err := s.keys[0].Seal(s.binding(w.Owner, w.Name), plain)
	if err != nil {
		return "", err
	}
	return s.keys[0].Name() + " " + base64.StdEncoding.EncodeToString(sealed), nil
}

// errKey is of a watch that none of the keys opens.
var errKey = errors.New("the watches' store: no key opens it")

func (s *Store) open(r *row) (*Watch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, text, _ := strings.Cut(r.Body, " ")
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errKey
	}
	for _, k := range s.keys {
		if k.Name() != named {
			continue
		}
		plain, err := k.Open(s.binding(r.Owner, r.Name), sealed)
		if err != nil {
			return nil, errKey
		}
		b := body{Watch: &Watch{}}
		if err := json.Unmarshal(plain, &b); err != nil {
			return nil, err
		}
		b.Watch.Secret = b.Secret
		b.Watch.version, err = strconv.ParseInt(r.Version, 10, 64)
		return b.Watch, err
	}
	return nil, errKey
}

type row struct{ Owner, Name, Version, Body string }

// List gives an analyst's watches by name, or with "" everybody's. One that no key opens has a name and a state alone.
func (s *Store) List(ctx context.Context, owner string) ([]*Watch, error) {
	where, args := "dataset = $1", []string{s.dataset}
	if owner != "" {
		where, args = where+" AND owner = $2", append(args, owner)
	}
	texts, err := s.table.Read(ctx, "SELECT "+s.table.Object("'Owner', owner, 'Name', name, 'Version', version, 'Body', body")+" FROM watches WHERE "+where+" ORDER BY owner, name", args...)
	if err != nil {
		return nil, fmt.Errorf("the watches' store: %w", err)
	}
	out := make([]*Watch, len(texts))
	for i, t := range texts {
		var r row
		if err := json.Unmarshal([]byte(t), &r); err != nil {
			return nil, fmt.Errorf("the watches' store: %w", err)
		}
		w, err := s.open(&r)
		switch {
		case errors.Is(err, errKey):
			w = &Watch{Owner: r.Owner, Name: r.Name, State: "kept under a key that is not here"}
		case err != nil:
			return nil, fmt.Errorf("the watches' store: %w", err)
		}
		out[i] = w
	}
	return out, nil
}

// Create keeps a new watch. A name that its analyst has given already is refused.
func (s *Store) Create(ctx context.Context, w *Watch) error {
	sealed, err := s.seal(w)
	if err != nil {
		return err
	}
	w.version = 1
	made, err := s.table.Read(ctx, "INSERT INTO watches (dataset, owner, name, version, body) VALUES ($1, $2, $3, '1', $4) ON CONFLICT (dataset, owner, name) DO NOTHING RETURNING name", s.dataset, w.Owner, w.Name, sealed)
	if err == nil && len(made) == 0 {
		return Taken(w.Name)
	}
	return err
}

// Taken is the error of a name that is given already.
func Taken(name string) error {
	return sqlerr.New(sqlerr.DuplicateObject, "watch %q already exists", name).WithHint("Take another name, or DROP DP WATCH %s first.", pgsyntax.QuoteIdent(name))
}

// Save keeps a watch as it is now; ok is false where another proxy, or a DROP, was faster: then nothing is kept.
func (s *Store) Save(ctx context.Context, w *Watch) (ok bool, err error) {
	sealed, err := s.seal(w)
	if err != nil {
		return false, err
	}
	was, is := strconv.FormatInt(w.version, 10), strconv.FormatInt(w.version+1, 10)
	saved, err := s.table.Read(ctx, "UPDATE watches SET version = $4, body = $5 WHERE dataset = $1 AND owner = $2 AND name = $3 AND version = $6 RETURNING name", s.dataset, w.Owner, w.Name, is, sealed, was)
	if err != nil || len(saved) == 0 {
		return false, err
	}
	w.version++
	s.Wake()
	return true, nil
}

// Wake tells whoever listens to Changed to look again.
func (s *Store) Wake() {
	select {
	case s.Changed <- struct{}{}:
	default:
	}
}

// MoveTo moves the watches of all data sets, sealed as they are, into another store. One that is there already stays as it is, and none is left here: what goes on there must not begin again from here.
func (s *Store) MoveTo(ctx context.Context, to *Store) error {
	texts, err := s.table.Read(ctx, "SELECT "+s.table.Object("'Dataset', dataset, 'Owner', owner, 'Name', name, 'Version', version, 'Body', body")+" FROM watches WHERE true ORDER BY dataset, owner, name")
	if err != nil {
		return err
	}
	for _, t := range texts {
		var r struct {
			Dataset string
			row
		}
		if err := json.Unmarshal([]byte(t), &r); err != nil {
			return err
		}
		if err := to.table.Exec(ctx, "INSERT INTO watches (dataset, owner, name, version, body) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (dataset, owner, name) DO NOTHING", r.Dataset, r.Owner, r.Name, r.Version, r.Body); err != nil {
			return err
		}
		if err := s.table.Exec(ctx, "DELETE FROM watches WHERE dataset = $1 AND owner = $2 AND name = $3", r.Dataset, r.Owner, r.Name); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes a watch; ok is false where there is none.
func (s *Store) Drop(ctx context.Context, owner, name string) (ok bool, err error) {
	gone, err := s.table.Read(ctx, "DELETE FROM watches WHERE dataset = $1 AND owner = $2 AND name = $3 RETURNING name", s.dataset, owner, name)
	return len(gone) > 0, err
}
