package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// grown makes a ledger of so many records: statements of two measures, each committed with a release, of which the last so many are stored still. The last
// checkpoint lies as far back as it may.
func grown(b testing.TB, path string, records, stored int) {
	l := must(OpenSQLite(ctx, path, pureHead(b, 1e6), Options{Now: benchDay}))(b)
	r := count(b, l.Filter(), "ann", 1, 0.1)
	r.Events = append(r.Events, r.Events[0])
	r.Loss = must(l.Filter().Sum(r.Events))(b)
	charge := must(l.charge(r, l.Filter()))(b)
	payload := make([]byte, 256)
	sum := Hash(sha256.Sum256(payload))
	const most = checkpointEvery/2 - 1
	for left := records - int(l.state.seq); left > 1; {
		at, n := l.time(), left/2%most // the last are as many as can be
		if n == 0 {
			n = most
		}
		var c change
		for i := range n {
			c1 := Commit{Reservation: l.state.seq + 1, Key: Hash{byte(left), byte(left >> 8), byte(left >> 16), byte(i), byte(i >> 8)}, Bytes: len(payload), Payload: sum, Expires: at}
			if left-2*i <= 2*stored {
				c1.Expires = at.Add(24 * time.Hour)
			}
			rows, _, err := l.chained([]*Record{{Reserve: charge}, {Commit: &c1}}, at)
			if err != nil {
				b.Fatal(err)
			}
			c.rows = append(c.rows, rows...)
			if c1.Expires.After(at) {
				c.releases = append(c.releases, storedPayload{rows[1].seq, payload})
			}
		}
		left -= 2 * n
		if left > 1 {
			if err := l.addCheckpoint(&c, new([]func()), at); err != nil {
				b.Fatal(err)
			}
		}
		must(l.begin(waterline{}, true))(b)
		if err := l.write(c); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchDay is the time of the ledgers that are kept for benchmarks, so that what is stored in them does not expire.
func benchDay() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// bigLedger is a ledger made by grown, once: it is kept in ~/.cache/dpsql-bench, and each run has a copy.
func bigLedger(b testing.TB, records, stored int) string {
	cache := must(os.UserCacheDir())(b)
	kept := filepath.Join(cache, "dpsql-bench", fmt.Sprintf("ledger-%d-%d-%d-%d", version, checkpointEvery, records, stored))
	path := kept + ".ledger"
	if _, err := os.Stat(path); err != nil {
		if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
			b.Fatal(err)
		}
		for _, f := range []string{kept + ".new", kept + ".new" + MarkSuffix} {
			if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
				b.Fatal(err)
			}
		}
		grown(b, kept+".new", records, stored)
		if err := errors.Join(os.Rename(kept+".new"+MarkSuffix, path+MarkSuffix), os.Rename(kept+".new", path)); err != nil {
			b.Fatal(err)
		}
	}
	to := filepath.Join(b.TempDir(), "big.ledger")
	for _, f := range []string{"", MarkSuffix} {
		from, into := must(os.Open(path+f))(b), must(os.Create(to+f))(b)
		_, err := io.Copy(into, from)
		if err := errors.Join(err, from.Close(), into.Close()); err != nil {
			b.Fatal(err)
		}
	}
	return to
}

// BenchmarkOpen is a start with 1,000,000 records (with -short 100,000), without stored releases and with one for each statement, the last checkpoint as far back as it may be; and what an admission costs then, without the disk.
func BenchmarkOpen(b *testing.B) {
	records := 1_000_000
	if testing.Short() {
		records = 100_000
	}
	b.Run("nothing stored", func(b *testing.B) { benchOpen(b, records, 0) })
	b.Run("all stored", func(b *testing.B) { benchOpen(b, records, records/2) })
}

func benchOpen(b *testing.B, records, stored int) {
	opt := Options{Cache: dayCache().Cache, Now: benchDay}
	for b.Loop() {
		path := bigLedger(b, records, stored)
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, used := time.Now(), processor(b)
		l := must(OpenSQLite(ctx, path, pureHead(b, 1e6), opt))(b)
		took := time.Since(start)
		b.ReportMetric(processor(b)-used, "s-processor")
		runtime.ReadMemStats(&after)
		b.ReportMetric(took.Seconds(), "s/open")
		b.ReportMetric(float64(after.Sys-after.HeapReleased-before.Sys+before.HeapReleased)/(1<<20), "MiB-more")
		r := count(b, l.Filter(), "ann", 1, 0.1)
		start = time.Now()
		const n = 1000
		for range n {
			charge := must(l.charge(r, l.Filter()))(b)
			if d, err := l.state.admit(l.service.dataset, []Reservation{charge.Reservation}, l.time()); d != nil || err != nil {
				b.Fatal(d, err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/n, "us/admission")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// processor is the time that this process had, in seconds.
func processor(b testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
