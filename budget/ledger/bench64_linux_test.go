package ledger

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSessions is 64 sessions that reserve and commit a release of 1 KiB each, durably, until b.N statements are charged; and beside it
// what SQLite itself does in the same folder if the same rows come in transactions of 64, prepared and without a thought: its own group commit.
func BenchmarkSessions(b *testing.B) {
	dir := b.TempDir()
	l := open(b, filepath.Join(dir, "bench.ledger"), pureHead(b, 1e6), dayCache())
	r := count(b, l.Filter(), "ann", 1, 0.1)
	payload := make([]byte, 1024)
	var (
		wg   sync.WaitGroup
		done atomic.Int64
	)
	b.ResetTimer()
	start := time.Now()
	for range 64 {
		wg.Go(func() {
			for n := done.Add(1); n <= int64(b.N); n = done.Add(1) {
				id, err := l.Reserve(ctx, r)
				if err == nil {
					err = l.Commit(ctx, id, Release{Key: Hash{byte(n), byte(n >> 8), byte(n >> 16)}, Payload: payload})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	charged := float64(b.N) / time.Since(start).Seconds()
	b.StopTimer()
	bare := open(b, filepath.Join(dir, "bare.ledger"), pureHead(b, 1e6), dayCache())
	var body []byte
	for one, err := range l.store.chain(0) {
		if body = one.body; err != nil {
			b.Fatal(err)
		}
	}
	start = time.Now()
	for n := 0; n < b.N; n += 64 { // the two batches of 64 statements
		for half := range 2 {
			err := bare.db.Exec("BEGIN IMMEDIATE")
			for i := range int64(64) {
				seq := 1000 + int64(2*n+64*half) + i
				err = errors.Join(err, run(bare.insertRecord, seq, body, body[:32]))
				if half == 1 {
					err = errors.Join(err, run(bare.insertRelease, seq, payload))
				}
			}
			if err := errors.Join(err, bare.db.Exec("COMMIT")); err != nil {
				b.Fatal(err)
			}
		}
	}
	limit := float64((b.N+63)/64*64) / time.Since(start).Seconds()
	b.ReportMetric(charged, "charged/s")
	b.ReportMetric(limit, "sqlite/s")
	b.ReportMetric(charged/limit, "ratio")
}
