package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkCharge is what a statement costs in the ledger, Reserve and Commit with a release of 1 KiB, beside two raw
// writes of 4 KiB with fdatasync in the same run and folder. Medians in microseconds; the ratio is what counts.
func BenchmarkCharge(b *testing.B) {
	dir := b.TempDir()
	l := open(b, filepath.Join(dir, "bench.ledger"), pureHead(b, 1e6), dayCache())
	r := count(b, l.Filter(), "ann", 1, 0.1)
	payload := make([]byte, 1024)
	f := must(os.Create(filepath.Join(dir, "raw")))(b)
	defer f.Close() //nolint:errcheck // a scratch file
	page := make([]byte, 4096)
	raw := func(at int64) {
		if _, err := f.WriteAt(page, at); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	var charges, syncs []float64
	for i := range int64(1024) { // as the log: a file that was written before
		if _, err := f.WriteAt(page, 4096*i); err != nil {
			b.Fatal(err)
		}
	}
	raw(0)
	for b.Loop() {
		n := int64(len(charges))
		start := time.Now()
		id := must(l.Reserve(ctx, r))(b)
		if err := l.Commit(ctx, id, Release{Key: Hash{byte(n), byte(n >> 8)}, Payload: payload}); err != nil {
			b.Fatal(err)
		}
		mid := time.Now()
		raw(4096 * (2 * n % 1024))
		raw(4096 * ((2*n + 1) % 1024))
		charges, syncs = append(charges, float64(mid.Sub(start).Microseconds())), append(syncs, float64(time.Since(mid).Microseconds()))
	}
	slices.Sort(charges)
	slices.Sort(syncs)
	charge, sync := charges[len(charges)/2], syncs[len(syncs)/2]
	b.ReportMetric(charge, "us/charge")
	b.ReportMetric(sync, "us/two-fdatasyncs")
	b.ReportMetric(charge/sync, "ratio")
}
