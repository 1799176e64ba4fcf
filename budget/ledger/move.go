package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"time"
)

// A ledger is moved from one place to another by copying its records as they are, with what lies beside them. The chain goes on: the old place ends for good with a
// departure, in the new one an arrival follows it, and only then anything else.
//
// Proof: claim: at no moment, whenever the move is cut, do both places take charges, and no record is lost. (1) Nothing follows a departure but the arrival of its own move (state.check),
// and no process serves, or goes on with, a ledger that ends with one (book.load, book.catchUp); so the old place takes charges only before its departure is durable. (2) The new place
// holds nothing that a process could open before it is published: a transaction that is not committed, or a file under another name. It is published after the departure is durable
// in the old place. (3) What is published was read back and compared: it is the old chain with its departure, whose hashes it has, and an arrival. (4) The departure is written only if the old
// ledger ends where the copy does, under its own lock. (5) A move that was cut after the departure is finished by moving again, from the old place's records, to the place that the departure names and to no other.
// (6) The mark beside the new place names the old ledger's last record before anything is copied. So a server that the new policy starts meanwhile begins no ledger there, whatever the old one is called.

// Moved is what was moved.
type Moved struct {
	Records, Releases int64
	Already           bool           // by an earlier call
	Broken            *BrokenRelease // a stored release was, and was moved as it is; else nil
}

// source is the old place's ledger, taken from everybody.
type source interface {
	asides(name string) iter.Seq2[aside, error]
	// alone refuses a place that others use.
	alone(ctx context.Context) error
}

// landing is a new place that is being filled.
type landing interface {
	// there is the ledger that is there already; nil if there is none.
	there(ctx context.Context) (*book, error)
	// mark names a record that the place's ledger must hold from now on.
	mark(waterline) error
	// stage fills it, so that nobody can use it yet. rows are read first.
	stage(ctx context.Context, rows iter.Seq2[row, error], asides func(name string) iter.Seq2[aside, error]) error
	// staged is what was written, to be read back.
	staged() (store, source)
	publish(ctx context.Context) error
	close() error
}

// aside is what lies beside the record of that number.
type aside struct {
	seq  int64
	body []byte
}

// asideTables are the tables beside the records, and their second columns; the first is the record's number.
var asideTables = map[string]string{"releases": "payload", "sums": "body", "segments": "body"}

// Mover says whose ledger is to be moved, and by whom.
type Mover struct {
	People, By string
	Folder     string // of the policy, where data marks may lie beside those of the places; "": none
}

// Move moves a ledger that no server uses. It changes nothing in the old place before the new one holds all of it, and nothing at all of other people's. Called again after it was cut, it finishes.
func Move(ctx context.Context, from, to Place, by Mover) (Moved, error) {
	return move(ctx, from, to, by, func(string) error { return nil })
}

// move calls step between any two steps: what it returns ends the move there, as a crash would.
func move(ctx context.Context, from, to Place, by Mover, step func(string) error) (out Moved, err error) {
	if from.String() == to.String() {
		return out, fmt.Errorf("ledger: it is in %s already", to)
	}
	old, src, err := openSource(ctx, from)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	if len(old.state.datasets) == 0 {
		return out, fmt.Errorf("ledger: that in %s has no record: there is nothing to move", from)
	}
	if people := old.state.datasets[0].head.People; people != by.People {
		return out, fmt.Errorf("%w: that in %s is of the people %q, and not of %q: nothing was done. Is this the right policy, and the right place? Other people need a ledger of their own", ErrMismatch, from, people, by.People)
	}
	dst, err := openLanding(to)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, dst.close()) }()

	there, err := dst.there(ctx)
	if err != nil {
		return out, fmt.Errorf("%s: %w", to, err)
	}
	if there != nil {
		already := old.state.moved != nil && there.hasArrived(old.state.moved.ID, old.state.seq+1)
		out.Already, out.Records = already, there.state.seq
		if err := there.Close(); err != nil {
			return out, err
		}
		if already {
			return out, errors.Join(moveSpools(ctx, old, to), old.relocated(from, to, by))
		}
		return out, fmt.Errorf("ledger: there is a ledger in %s already. Nothing is ever written over: put it aside, or choose another place", to)
	}
	if gone := old.state.moved; gone != nil && gone.To != to.String() {
		return out, fmt.Errorf("ledger: a move to %s was begun and cut: finish that one", gone.To)
	}
	end := waterline{old.state.seq, old.state.last}
	if err := old.beside(to); err != nil {
		return out, err
	}
	if err := dst.mark(end); err != nil { // (6) before anything else
		return out, err
	}
	if err := step("marked"); err != nil {
		return out, err
	}
	if err := src.alone(ctx); err != nil {
		return out, err
	}
	if err := old.Verify(ctx); err != nil && (!errors.As(err, &out.Broken) || out.Broken.spool) { // a broken one answers nothing in either place, but a spool may only have been left behind
		return out, err
	}
	if err := step("verified"); err != nil {
		return out, err
	}

	c := &copying{old: old, src: src, from: from, to: to, by: by.By, end: end, st: newState(), prints: map[string]map[int64]fingerprint{}}
	if err := dst.stage(ctx, c.rows(ctx), c.asides); err != nil {
		return out, fmt.Errorf("%s: %w", to, err)
	}
	if err := step("staged"); err != nil {
		return out, err
	}
	if err := c.compare(ctx, dst); err != nil {
		return out, fmt.Errorf("%s: %w", to, err)
	}
	if err := step("compared"); err != nil {
		return out, err
	}
	if c.departure != nil {
		if err := old.depart(ctx, c); err != nil {
			return out, err
		}
	}
	if err := step("departed"); err != nil {
		return out, err
	}
	if err := dst.publish(ctx); err != nil {
		return out, fmt.Errorf("%s: %w. The old place is closed: move again to finish", to, err)
	}
	if err := step("published"); err != nil {
		return out, err
	}
	if err := moveSpools(ctx, old, to); err != nil {
		return out, err
	}
	out.Records, out.Releases = c.st.seq, int64(len(c.prints["releases"]))
	return out, errors.Join(dst.mark(waterline{c.st.seq, c.st.last}), old.relocated(from, to, by))
}

// relocated tells the data marks where the ledger is now.
func (l *book) relocated(from, to Place, by Mover) error {
	first, err := l.first()
	if err != nil {
		return err
	}
	dirs := []string{filepath.Dir(from.mark()), filepath.Dir(to.mark())}
	if by.Folder != "" {
		dirs = append(dirs, by.Folder)
	}
	return relocate(dirs, first, to.String())
}

// copying is one move's copy.
type copying struct {
	old       *book
	src       source
	from, to  Place
	by        string
	end       waterline // of the old place, before
	departure *Record   // nil if it is in the old place already
	departed  Hash      // the departure's: what the arrival follows
	st        *state    // of what the new place will hold
	prints    map[string]map[int64]fingerprint
}

// rows are the old records, the departure and the arrival.
func (c *copying) rows(ctx context.Context) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for one, err := range c.old.store.chain(0) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				var r *Record
				if r, err = readRow(one, c.st); err == nil {
					c.st.add(r, one.hash)
				}
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
		id, err := newMove()
		if err == nil && c.st.moved == nil {
			c.departure = &Record{Departure: &Departure{ID: id, To: c.to.String(), By: c.by}}
			one, err := c.old.follow(c.st, c.departure)
			if !yield(one, err) || err != nil {
				return
			}
		}
		var one row
		c.departed = c.st.last
		if err == nil {
			one, err = c.old.follow(c.st, &Record{Arrival: &Arrival{ID: c.st.moved.ID, From: c.from.String(), By: c.by}})
		}
		yield(one, err)
	}
}

func newMove() (string, error) {
	var id [8]byte
	_, err := rand.Read(id[:])
	return hex.EncodeToString(id[:]), err
}

// follow makes a record the next one of a state, and gives it as it is stored.
func (l *book) follow(st *state, r *Record) (row, error) {
	r.Version, r.Seq, r.Previous, r.Owner, r.Time = version, st.seq+1, st.last, l.owner, l.opt.Now().UTC().Round(0)
	if r.Time.Before(st.clock) {
		r.Time = st.clock
	}
	if err := st.check(r); err != nil {
		return row{}, err
	}
	body, hash, err := r.encode()
	if err == nil {
		st.add(r, hash)
	}
	return row{r.Seq, body, hash}, err
}

// asides are those of a table of the old place, whose fingerprints are remembered.
func (c *copying) asides(name string) iter.Seq2[aside, error] {
	return func(yield func(aside, error) bool) {
		c.prints[name] = map[int64]fingerprint{}
		for one, err := range c.src.asides(name) {
			c.prints[name][one.seq] = printOf(one.body)
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// compare reads back what was staged.
func (c *copying) compare(ctx context.Context, dst landing) error {
	records, beside := dst.staged()
	st := newState()
	for _, err := range readChain(records.chain(0), st) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	if reason := st.differs(c.st); reason != "" {
		return fmt.Errorf("ledger: the copy differs: %s", reason)
	}
	want, err := c.st.accounts(c.st.clock, "", nil)
	got, err2 := st.accounts(st.clock, "", nil)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if !reflect.DeepEqual(want, got) {
		return errors.New("ledger: the copy differs: its balances are others")
	}
	for name := range asideTables {
		prints := map[int64]fingerprint{}
		for one, err := range beside.asides(name) {
			if err != nil {
				return err
			}
			prints[one.seq] = printOf(one.body)
		}
		if !maps.Equal(prints, c.prints[name]) {
			return fmt.Errorf("ledger: the copy differs in its %s", name)
		}
	}
	return nil
}

// depart ends the old place, if it still ends where the copy was made.
func (l *book) depart(ctx context.Context, c *copying) error {
	want := *c.departure
	err := l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		if l.state.seq != c.end.seq || l.state.last != c.end.hash {
			return nil, errors.New("ledger: it was written to while it was copied: stop its servers, and move again")
		}
		r := want
		return []*Record{&r}, nil
	}})
	switch {
	case err != nil:
		return err
	case l.state.last != c.departed:
		return errors.New("ledger: the departure is another than the copy's: move again to finish")
	}
	return nil
}

// hasArrived says whether a ledger went on after a departure, with the record of that number.
func (l *book) hasArrived(id string, seq int64) bool {
	for one, err := range l.store.span(seq-1, seq) {
		if err != nil {
			return false
		}
		r, err := decodeRecord(one.body)
		return err == nil && r.Arrival != nil && r.Arrival.ID == id
	}
	return false
}

// beside refuses a new place whose mark names a record that is not among these: another ledger was there.
func (l *book) beside(to Place) error {
	path := to.mark()
	w, err := readMark(path)
	if err != nil || w.seq == 0 {
		return err
	}
	for one, err := range l.store.span(w.seq-1, w.seq) {
		if err != nil {
			return err
		}
		if one.hash == w.hash {
			return nil
		}
	}
	return fmt.Errorf("%w: the mark %s%s is of another ledger, or of more records than these. Bring the right ledger; only if that one is gone for good, delete the mark", ErrRolledBack, path, MarkSuffix)
}
