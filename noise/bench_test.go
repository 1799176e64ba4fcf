package noise

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

var benchScales = []struct {
	name  string
	scale dp.Scale
}{
	{"1.5", dp.Scale{Num: 3, Den: 2}},
	{"31", dp.Scale{Num: 31, Den: 1}},
	{"60", dp.Scale{Num: 60, Den: 1}},
	{"1e6", dp.Scale{Num: 1e6, Den: 1}},
	{"1e12", dp.Scale{Num: 1e12, Den: 1}},
	{"1e12+1/2^20", dp.Scale{Num: 1e12*dp.MaxScaleDen + 1, Den: dp.MaxScaleDen}},
}

func benchmarkLaw(b *testing.B, make func(dp.Scale) law) {
	for _, s := range benchScales {
		b.Run(s.name, func(b *testing.B) {
			src, l, out := NewSource(), make(s.scale), [batchSize]int64{}
			for left := b.N; left > 0; left -= len(out) {
				if err := src.fill(l, out[:min(left, len(out))]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func BenchmarkLaplace(b *testing.B) {
	benchmarkLaw(b, func(s dp.Scale) law { return newLaplace(s) })
}

func BenchmarkGaussian(b *testing.B) {
	benchmarkLaw(b, func(s dp.Scale) law { return newGaussian(s) })
}

func BenchmarkQuantile975(b *testing.B) {
	for _, s := range benchScales {
		for _, ev := range []dp.Event{
			dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: s.scale},
			dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: s.scale},
		} {
			b.Run(ev.Name()+"/"+s.name, func(b *testing.B) {
				d, err := DistributionOf(ev)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					d.Quantile975()
				}
			})
		}
	}
}

func BenchmarkSelector(b *testing.B) {
	src := NewSource()
	for b.Loop() {
		if _, err := src.Selector(dp.Selection{Groups: 4, Scale: dp.Scale{Num: 40, Den: 1}, Threshold: 871, Delta: 1e-9}); err != nil {
			b.Fatal(err)
		}
	}
}
