package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Reserve charges a statement of one stage, durably.
func (l *SQLite) Reserve(ctx context.Context, r Reservation) (int64, error) {
	ids, err := l.ReserveAll(ctx, []Reservation{r})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// ReserveAll charges a statement, durably: all of its stages or none.
//
// Proof: mu serialises all charges, and the file has one owner, so the balances that the charges are compared with hold every
// earlier one of the window; each loss is taken again from the events by the filter in force, and a smaller one than that is
// refused. Each stage is admitted beside those before it, at the time that their records bear, so they count in the window that held them. One transaction has all
// records, so that no crash leaves some of them. The method returns only after the transaction was synced. Windows: state.addCharge, state.lifetime. Sums are rounded up (dp.Loss.Plus),
// rooms down (budget.Rooms).
func (l *SQLite) ReserveAll(ctx context.Context, stages []Reservation) ([]int64, error) {
	unlock, err := l.beginServing(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if len(stages) == 0 {
		return nil, errors.New("ledger: nothing to reserve")
	}
	recs := make([]*Record, len(stages))
	now := l.time() // one moment for the admission and the records
	for i, r := range stages {
		if r.Analyst != stages[0].Analyst || r.Quota != stages[0].Quota {
			return nil, errors.New("ledger: a statement of two analysts")
		}
		charge, err := l.charge(r)
		if err != nil {
			return nil, err
		}
		recs[i] = &Record{Reserve: charge, Time: now}
	}
	if err := l.state.checkFrozen(stages[0].Analyst); err != nil {
		return nil, err
	}
	denied, err := l.state.admit(l.serving, stages, now)
	switch {
	case err != nil:
		return nil, err
	case denied != nil:
		return nil, denied
	}
	if err := l.append(recs, nil); err != nil {
		return nil, err
	}
	ids := make([]int64, len(recs))
	for i, r := range recs {
		ids[i] = r.Seq
	}
	return ids, nil
}

// charge is a reservation as the filter in force has it.
func (l *SQLite) charge(r Reservation) (*Charge, error) {
	filter := l.serving.head.Filter
	own, err := filter.Sum(r.Events)
	if err != nil {
		return nil, err
	}
	if !(r.Loss.Pure >= own.Pure && r.Loss.Renyi >= own.Renyi && r.Loss.Delta >= own.Delta) {
		return nil, fmt.Errorf("ledger: a charge of %+v is below its events' loss %+v", r.Loss, own)
	}
	c := &Charge{Reservation: r, Order: filter.Order}
	if err := l.state.checkCharge(c); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return c, nil
}

// Commit closes a reservation with its release, durably, and stores it for as long as the cache says.
func (l *SQLite) Commit(ctx context.Context, id int64, r Release) error {
	if len(r.Payload) > MaxRelease {
		return fmt.Errorf("ledger: a release of %d bytes is over the limit of %d", len(r.Payload), MaxRelease)
	}
	unlock, err := l.beginServing(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.state.checkOutstanding(id); err != nil {
		return err
	}
	at := l.time()
	c := &Commit{Reservation: id, Key: r.Key, Bytes: len(r.Payload), Payload: sha256.Sum256(r.Payload), Expires: at.Add(l.cache.TTL)}
	if l.cache.TTL == 0 {
		r.Payload = nil
	} else if r.Payload == nil {
		r.Payload = []byte{}
	}
	return l.append([]*Record{{Commit: c, Time: at}}, r.Payload)
}

// Fail closes a reservation without a release; class is a word for the owner.
func (l *SQLite) Fail(ctx context.Context, id int64, class string) error {
	unlock, err := l.beginServing(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.state.checkOutstanding(id); err != nil {
		return err
	}
	return l.append([]*Record{{Fail: &Failure{Reservation: id, Class: class}}}, nil)
}

// Lookup finds a stored release of this data set, whatever window it was made in. A payload that is not what was committed is a *CorruptError.
func (l *SQLite) Lookup(ctx context.Context, key Hash, analyst string) (*Stored, bool, error) {
	unlock, err := l.beginServing(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if err := l.state.checkFrozen(analyst); err != nil {
		return nil, false, err
	}
	now := l.time()
	var best *storedRef
	for i, ref := range l.state.stored[key] {
		expires := ref.made.Add(l.cache.TTL) // a shorter ttl holds for older releases too
		live := now.Before(ref.expires) && now.Before(expires) && ref.of == l.serving && ref.epoch == l.serving.epoch
		mayAnswer := l.cache.Scope == ScopeDataset || l.cache.Scope == ScopeAnalyst && ref.analyst == analyst
		if live && mayAnswer && (best == nil || ref.price >= best.price) {
			best = &l.state.stored[key][i]
		}
	}
	if best == nil {
		return nil, false, nil
	}
	payload, err := l.payload(best.seq)
	if err != nil {
		return nil, false, err
	}
	if payload == nil || sha256.Sum256(payload) != best.payload {
		return nil, false, &CorruptError{Seq: best.seq, Reason: "its release is not the one that was committed"}
	}
	return &Stored{
		Reservation: best.reservation, Analyst: best.analyst, Price: best.price, Loss: best.loss,
		Made: best.made, Expires: best.expires, Payload: payload,
	}, true, nil
}

// begin waits for the turn. From here on the caller's context is not asked any more: a write is never left half-way.
func (l *SQLite) begin(ctx context.Context) (unlock func(), err error) {
	l.mu.Lock()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case l.db == nil:
		err = ErrClosed
	case l.broken:
		err = ErrBroken
	default:
		return l.mu.Unlock, nil
	}
	l.mu.Unlock()
	return nil, err
}

// time is the clock's, but never before the last record's: a clock that was turned back revives nothing.
func (l *SQLite) time() time.Time {
	now := l.now().UTC().Round(0)
	if now.Before(l.state.clock) {
		return l.state.clock
	}
	return now
}

// append writes records and the release of the only one, if there is one to store.
func (l *SQLite) append(recs []*Record, payload []byte) error {
	var gone []int64
	if len(l.state.stored) >= l.sweep {
		gone = l.state.dropExpired(l.time())
		l.sweep = max(firstSweep, 2*len(l.state.stored))
	}
	return l.transactAll(recs, func() error {
		if err := l.dropReleases(gone); err != nil || payload == nil {
			return err
		}
		return run(l.insertRelease, recs[0].Seq, payload)
	})
}

// transact writes one record, with what belongs to it.
func (l *SQLite) transact(r *Record, beside func() error) error {
	return l.transactAll([]*Record{r}, beside)
}

// transactAll writes records, with what belongs to them, in one transaction that is durable when it returns. After a failed
// COMMIT nobody knows what is on disk, so the ledger stops; after any other failure nothing is.
func (l *SQLite) transactAll(recs []*Record, beside func() error) error {
	bodies, hashes, err := l.chained(recs)
	if err != nil {
		return err
	}
	if err := l.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return inUse(err)
	}
	err = beside()
	if err == nil && l.format != format { // an older program must not go on in a file with records that it does not know
		err = l.db.Exec(fmt.Sprintf("PRAGMA user_version=%d", format))
	}
	for i, r := range recs {
		if err == nil {
			err = run(l.insertRecord, r.Seq, bodies[i], hashes[i][:])
		}
	}
	if err == nil {
		if err = l.db.Exec("COMMIT"); err == nil {
			for i, r := range recs {
				l.state.add(r, hashes[i])
			}
			l.format = format
			if err = l.mark.move(waterline{l.state.seq, l.state.last}); err != nil {
				l.broken = true
			}
			return err
		}
		l.broken = true
	}
	if !l.db.GetAutocommit() {
		if rollback := l.db.Exec("ROLLBACK"); rollback != nil {
			l.broken = true
			err = errors.Join(err, rollback)
		}
	}
	return err
}

// chained numbers and checks records that will follow one another, and gives their bytes and hashes. Several are charges, none of which says whether another may stand.
func (l *SQLite) chained(recs []*Record) (bodies [][]byte, hashes []Hash, err error) {
	seq, last, clock, v := l.state.seq, l.state.last, l.state.clock, l.state.version
	defer func() { l.state.seq, l.state.last, l.state.clock, l.state.version = seq, last, clock, v }()
	for _, r := range recs {
		if len(recs) > 1 && r.Reserve == nil {
			return nil, nil, errors.New("ledger: several records that are no charges")
		}
		r.Version, r.Seq, r.Previous, r.Owner = version, l.state.seq+1, l.state.last, l.owner
		if r.Time.IsZero() {
			r.Time = l.time()
		}
		if err := l.state.check(r); err != nil {
			return nil, nil, fmt.Errorf("ledger: %w", err)
		}
		body, hash, err := r.encode()
		if err != nil {
			return nil, nil, err
		}
		bodies, hashes = append(bodies, body), append(hashes, hash)
		l.state.seq, l.state.last, l.state.clock, l.state.version = r.Seq, hash, r.Time, r.Version
	}
	return bodies, hashes, nil
}

func (l *SQLite) dropReleases(seqs []int64) error {
	for _, seq := range seqs {
		if err := run(l.deleteRelease, seq); err != nil {
			return err
		}
	}
	return nil
}

// payload reads a stored release; nil if there is none.
func (l *SQLite) payload(seq int64) ([]byte, error) {
	s := l.selectRelease
	if err := s.BindInt64(1, seq); err != nil {
		return nil, err
	}
	var out []byte
	if s.Step() {
		out = s.ColumnBlob(0, []byte{})
	}
	return out, errors.Join(s.Err(), s.Reset())
}

// run executes a prepared statement over a number and blobs.
func run(s *sqlite3.Stmt, seq int64, blobs ...[]byte) error {
	if err := s.BindInt64(1, seq); err != nil {
		return err
	}
	for i, b := range blobs {
		if len(b) == 0 { // an empty slice would bind NULL
			if err := s.BindZeroBlob(i+2, 0); err != nil {
				return err
			}
		} else if err := s.BindBlob(i+2, b); err != nil {
			return err
		}
	}
	return errors.Join(s.Exec(), s.ClearBindings())
}
