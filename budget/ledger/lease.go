package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// leases keep a process's lease in a shared ledger, and close the reservations of processes whose lease has ended.
//
// A lease says that its owner may still close its reservations; it gives nothing back. An owner that died leaves them to be closed by any other; one
// that was merely too slow finds them closed, answers nothing, and the charge stays. Times are the server's.
type leases struct {
	ledger *Postgres
	config *pgx.ConnConfig
	span   time.Duration
	conn   *pgx.Conn // its own: a batch that waits for the lock does not cost the lease
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// leaseTime is how long a process that is not heard of keeps its reservations.
const leaseTime = 30 * time.Second

// startLeases takes a lease before the first reservation, and keeps it until stopped.
func startLeases(ctx context.Context, l *Postgres, span time.Duration) (*leases, error) {
	k := &leases{ledger: l, config: l.config, span: span}
	if _, err := k.renew(ctx); err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.done.Go(func() {
		tick := time.NewTicker(span / 3)
		defer tick.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-tick.C:
				_ = k.beat(beating) // the next one tries again; until then others may close what is open here
			}
		}
	})
	return k, nil
}

// renew writes the lease and gives all owners whose leases hold. A lease that is shorter than a connection takes would never be had.
func (k *leases) renew(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, max(k.span, patience))
	defer cancel()
	if k.conn == nil || k.conn.IsClosed() {
		c, err := pgx.ConnectConfig(ctx, k.config)
		if err != nil {
			return nil, errors.Join(ErrUnavailable, err)
		}
		k.conn = c
	}
	table := k.ledger.schema + ".leases"
	var b pgx.Batch
	b.Queue("DELETE FROM "+table+" WHERE expires < now() - interval '1 day' OR owner = $1", k.ledger.owner)
	b.Queue("INSERT INTO "+table+" VALUES ($1, now() + $2)", k.ledger.owner, k.span)
	b.Queue("SELECT owner FROM " + table + " WHERE expires > now()")
	r := k.conn.SendBatch(ctx, &b)
	live, err := readLive(r)
	if end := r.Close(); err == nil {
		err = end
	}
	return live, readFailed(err)
}

func readLive(r pgx.BatchResults) ([]string, error) {
	for range 2 {
		if _, err := r.Exec(); err != nil {
			return nil, err
		}
	}
	list, err := r.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(list, pgx.RowTo[string])
}

// beat renews the lease and recovers what dead owners left, and what of this one's nobody closes any more.
//
// Only reservations that were known before the leases were read are judged by them: an owner has its lease before its first reservation.
func (k *leases) beat(ctx context.Context) error {
	l := k.ledger
	if err := l.fresh(); err != nil {
		return err
	}
	l.mu.Lock()
	var dead []int64
	owners := map[int64]string{}
	for id, c := range l.state.outstanding {
		switch {
		case c.owner != l.owner:
			owners[id] = c.owner
		case !l.held[id]:
			dead = append(dead, id)
		}
	}
	l.mu.Unlock()
	live, err := k.renew(ctx)
	if err != nil {
		return err
	}
	for id, owner := range owners {
		if !slices.Contains(live, owner) {
			dead = append(dead, id)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	slices.Sort(dead)
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		return l.state.recover(dead), nil // none where another was first
	}})
}

// end gives the lease up.
func (k *leases) end() error {
	k.stop()
	k.done.Wait()
	if k.conn == nil || k.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _ = k.conn.Exec(ctx, "DELETE FROM "+k.ledger.schema+".leases WHERE owner = $1", k.ledger.owner) // it ends by itself too
	return k.conn.Close(ctx)
}

// Close leaves the ledger to others. Outstanding reservations stay charged, and are closed by whoever finds them.
func (l *Postgres) Close() error {
	if l.leases != nil {
		if err := l.leases.end(); err != nil {
			return errors.Join(err, l.book.Close())
		}
		l.leases = nil
	}
	return l.book.Close()
}
