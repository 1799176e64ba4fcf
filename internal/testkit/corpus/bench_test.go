package corpus

import (
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// tpch opens TPC-H's schema.
func tpch(b *testing.B) (*world, []statement) {
	b.Helper()
	root, err := Root()
	if err != nil {
		b.Fatal(err)
	}
	list, err := statements(root + "/testdata/corpus/tpch")
	if err != nil {
		b.Fatal(err)
	}
	w, err := open(pgtest.Start(b), "tpch", root, "tpch")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.close)
	return w, list
}

// read is text to plan: one query.
func (w *world) read(text string) error {
	sts, err := pgsyntax.Parse(text)
	if err != nil {
		return err
	}
	if sel, ok := sts[0].Node.(*pgsyntax.Select); ok {
		_, err = plan.Bind(sel, w.tables, plan.BindOptions{})
	}
	return err
}

// BenchmarkTPCH reads each of TPC-H's queries, text to plan; us/query is the median over the queries of each one's median.
func BenchmarkTPCH(b *testing.B) {
	w, list := tpch(b)
	times := make([][]time.Duration, len(list))
	bound, before := 0, cpu(b)
	for b.Loop() {
		bound = 0
		for i, st := range list {
			start := time.Now()
			err := w.read(st.text)
			times[i] = append(times[i], time.Since(start))
			if err == nil {
				bound++
			}
		}
	}
	medians := make([]time.Duration, len(times))
	for i := range times {
		medians[i] = median(times[i])
	}
	b.ReportMetric(float64(median(medians).Microseconds()), "us/query")
	b.ReportMetric(float64(bound), "bound")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/float64(len(list)), "cpu-us/query")
}

// cpu is the processor's time that the process has taken, the collector's with it: on a shared machine it says more than a clock.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(d []time.Duration) time.Duration {
	s := append([]time.Duration(nil), d...)
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return s[len(s)/2]
}

// BenchmarkInList reads a megabyte of IN list, text to plan.
func BenchmarkInList(b *testing.B) {
	w, _ := tpch(b)
	for name, c := range map[string]struct{ column, piece string }{"integers": {"l_orderkey", "123456, "}, "texts": {"l_comment", "'abcdef', "}, "numerics": {"l_tax", "1234.5, "}} {
		text := "select count(*) from lineitem where " + c.column + " in (" + strings.TrimSuffix(strings.Repeat(c.piece, 1<<20/len(c.piece)), ", ") + ")"
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				if err := w.read(text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
}
