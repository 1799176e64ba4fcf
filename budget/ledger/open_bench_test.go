package ledger

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// grown makes a ledger of about so many records: statements of two measures, each committed with a release that is not stored.
func grown(b testing.TB, path string, records int) {
	l := must(OpenSQLite(ctx, path, pureHead(b, 1e6), Options{}))(b)
	r := count(b, l.Filter(), "ann", 1, 0.1)
	r.Events = append(r.Events, r.Events[0])
	r.Loss = must(l.Filter().Sum(r.Events))(b)
	charge := must(l.charge(r))(b)
	for l.state.seq < int64(records) {
		var recs []*Record
		for i := range int64(5000) {
			recs = append(recs, &Record{Reserve: charge}, &Record{Commit: &Commit{Reservation: l.state.seq + 2*i + 1, Key: Hash{byte(i)}}})
		}
		rows, _, err := l.chained(recs, l.time())
		if err != nil {
			b.Fatal(err)
		}
		must(l.begin(waterline{}, true))(b)
		if err := l.write(change{rows: rows}); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen is a start with 1,000,000 records (with -short 100,000), and what an admission costs then, without the disk.
func BenchmarkOpen(b *testing.B) {
	records := 1_000_000
	if testing.Short() {
		records = 100_000
	}
	path := filepath.Join(b.TempDir(), "big.ledger")
	grown(b, path, records)
	if err := open(b, path, pureHead(b, 1e6), dayCache()).Close(); err != nil { // which makes the checkpoint that a server makes on its way
		b.Fatal(err)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		l := must(OpenSQLite(ctx, path, pureHead(b, 1e6), dayCache()))(b)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		b.ReportMetric(took.Seconds(), "s/open")
		b.ReportMetric(float64(after.Sys)/(1<<20), "MiB-of-the-system")
		r := count(b, l.Filter(), "ann", 1, 0.1)
		start = time.Now()
		const n = 1000
		for range n {
			charge := must(l.charge(r))(b)
			if d, err := l.state.admit(l.serving, []Reservation{charge.Reservation}, l.time()); d != nil || err != nil {
				b.Fatal(d, err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/n, "us/admission")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
