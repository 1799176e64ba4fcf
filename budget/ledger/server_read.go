package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func (s *server) payload(seq int64) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	err = s.conn.QueryRow(ctx, "SELECT payload FROM "+s.schema+".releases WHERE seq = $1", seq).Scan(&out)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if lost(err) { // the batch begins anew on another connection
		s.drop()
		err = fmt.Errorf("%w: %w", errUncertain, err)
	}
	return out, err
}

func (s *server) chain(after int64) iter.Seq2[row, error] { return s.span(after, math.MaxInt64) }

func (s *server) span(after, to int64) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c, err := s.connected(ctx)
		if err != nil {
			yield(row{}, readFailed(err))
			return
		}
		list, err := c.Query(ctx, "SELECT seq, body, hash FROM "+s.schema+".records WHERE seq > $1 AND seq <= $2 ORDER BY seq", after, to)
		if err != nil {
			yield(row{}, readFailed(err))
			return
		}
		defer list.Close()
		for list.Next() {
			one, err := readPGRow(list)
			if !yield(one, err) || err != nil {
				return
			}
		}
		if err := list.Err(); err != nil {
			yield(row{}, readFailed(err))
		}
	}
}

// sums reads the last checkpoint; a ledger without the table has none.
func (s *server) sums() (at row, text []byte, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	c, err := s.connected(ctx)
	if err == nil {
		err = c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.schema+".sums").Scan(&ok)
	}
	if err != nil || !ok {
		return at, nil, false, readFailed(err)
	}
	var hash []byte
	err = c.QueryRow(ctx, "SELECT s.seq, s.body, coalesce(r.body, ''), coalesce(r.hash, '') FROM "+s.schema+".sums s LEFT JOIN "+s.schema+".records r USING (seq) ORDER BY s.seq DESC LIMIT 1").
		Scan(&at.seq, &text, &at.body, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, nil, false, nil
	}
	copy(at.hash[:], hash)
	return at, text, err == nil, readFailed(err)
}

// segment reads what lies beside a checkpoint; nil if there is nothing.
func (s *server) segment(seq int64) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	c, err := s.connected(ctx)
	if err == nil {
		err = c.QueryRow(ctx, "SELECT body FROM "+s.schema+".segments WHERE seq = $1", seq).Scan(&text)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return text, readFailed(err)
}

func (s *server) sizes() (map[int64]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), oneCall)
	defer cancel()
	c, err := s.connected(ctx)
	if err != nil {
		return nil, readFailed(err)
	}
	list, err := c.Query(ctx, "SELECT seq, octet_length(payload) FROM "+s.schema+".releases")
	if err != nil {
		return nil, readFailed(err)
	}
	out := map[int64]int64{}
	var seq, size int64
	_, err = pgx.ForEachRow(list, []any{&seq, &size}, func() error {
		out[seq] = size
		return nil
	})
	return out, readFailed(err)
}

func (s *server) releases() (out map[int64]fingerprint, head int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	c, err := s.connected(ctx)
	if err == nil { // first: what is committed between the two has its release, and a number above
		err = c.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM "+s.schema+".records").Scan(&head)
	}
	if err != nil {
		return nil, 0, readFailed(err)
	}
	list, err := c.Query(ctx, "SELECT seq, octet_length(payload), sha256(payload) FROM "+s.schema+".releases")
	if err != nil {
		return nil, 0, readFailed(err)
	}
	out = map[int64]fingerprint{}
	var (
		seq  int64
		size int
		hash []byte
	)
	_, err = pgx.ForEachRow(list, []any{&seq, &size, &hash}, func() error {
		out[seq] = fingerprint{size, Hash(hash)}
		return nil
	})
	return out, head, readFailed(err)
}

// sound has nothing to ask that the chain does not show: what the server finds damaged it says when it is read.
func (s *server) sound() error { return nil }

// readFailed says of what a read of the server failed: ErrUnavailable is a connection that was cut, and says nothing of the records; errDamaged is what PostgreSQL says of a damaged page, or of a table or
// column that is gone.
func readFailed(err error) error {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, ErrUnavailable):
		return err
	case lost(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.As(err, &refused) && (refused.Code[:2] == "XX" || slices.Contains([]string{"3F000", "42P01", "42703"}, refused.Code)):
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}
