package descent

import (
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// filled makes rows of a width, of which a part of the entries is not 0.
func filled(b *testing.B, rows, width, classes, most int, part float64) *data.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	builder, err := data.NewBuilder(width, most)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float64, width)
	for i := range rows {
		for j := range x {
			if x[j] = 0; rng.Float64() < part {
				x[j] = (2*rng.Float64() - 1) / math.Sqrt(float64(width)*part)
			}
		}
		if err := builder.Add(int64(i), x, float64(rng.IntN(classes))); err != nil {
			b.Fatal(err)
		}
	}
	return builder.Table()
}

func processor() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// pass says how many million rows a second one processor and all of them take; how says what is done with a batch.
func pass(b *testing.B, t *data.Table, l *loss.Loss, how func(s *summer, theta []float64, batch []int32) error) {
	src := noise.NewSource()
	n, err := src.Normal(Unit)
	if err != nil {
		b.Fatal(err)
	}
	s := &summer{table: t, learner: NewLinear(l, t.Width()), clip: l.Lipschitz / 2, noise: n}
	theta := make([]float64, t.Width()*l.Outputs)
	for j := range theta {
		theta[j] = math.Sin(float64(j))
	}
	batch := make([]int32, t.Units())
	for i := range batch {
		batch[i] = int32(i)
	}
	used := processor()
	for b.Loop() {
		if err := how(s, theta, batch); err != nil {
			b.Fatal(err)
		}
	}
	rows := float64(b.N) * float64(t.Rows()) / 1e6
	b.ReportMetric(rows/b.Elapsed().Seconds(), "Mrows/s")
	b.ReportMetric(rows/(processor()-used), "Mrows/s/core")
}

func noisy(s *summer, theta []float64, batch []int32) error {
	_, err := s.step(theta, batch)
	return err
}

// bare is the same engine without clip and noise: the sum of the gradients, by the same kernels, in the same parts.
func bare(s *summer, theta []float64, batch []int32) error {
	of := s.learner.(linear).loss
	s.split(len(theta), batch, func(units []int32, sum []float64) {
		rows, z, single := s.table.Cursor(), make([]float64, of.Outputs), kernel.Single(theta)
		defer rows.Close()
		for len(z) == 1 && len(units) >= kernel.Rows {
			var xs [kernel.Rows][]float32
			var rs [kernel.Rows]float64
			for i, u := range units[:kernel.Rows] {
				xs[i] = rows.Row(int(u))
				rs[i] = of.Residual(kernel.DotSingle(xs[i], single), s.table.Target(int(u)))
			}
			kernel.AxpyRows(&rs, &xs, sum)
			units = units[kernel.Rows:]
		}
		for _, u := range units {
			x := rows.Row(int(u))
			kernel.Scores(x, theta, z)
			of.Residuals(z, s.table.Target(int(u)))
			kernel.Outer(x, z, sum)
		}
	})
	return nil
}

func BenchmarkPass(b *testing.B) {
	t := filled(b, 300_000, 100, 2, 1, 1)
	b.Run("dp_gd", func(b *testing.B) { pass(b, t, loss.Logistic(), noisy) })
	b.Run("bare", func(b *testing.B) { pass(b, t, loss.Logistic(), bare) })
}

func BenchmarkSoftmax(b *testing.B) {
	t := filled(b, 60_000, 785, 10, 1, 0.19) // MNIST's part of pixels that are not black
	b.Run("dp_sgd", func(b *testing.B) { pass(b, t, loss.Softmax(10), noisy) })
	b.Run("bare", func(b *testing.B) { pass(b, t, loss.Softmax(10), bare) })
}

// BenchmarkSampled is a step of dp_sgd at a rate of 0.15, with its coins.
func BenchmarkSampled(b *testing.B) {
	t := filled(b, 300_000, 100, 2, 1, 1)
	coins, err := noise.NewSource().Coins(0.15)
	if err != nil {
		b.Fatal(err)
	}
	for name, do := range map[string]func(*summer, []float64, []int32) error{"dp_sgd": noisy, "bare": bare} {
		b.Run(name, func(b *testing.B) {
			pass(b, t, loss.Logistic(), func(s *summer, theta []float64, batch []int32) error {
				batch, err := coins.Sample(batch[:0], t.Units())
				if err != nil {
					return err
				}
				return do(s, theta, batch)
			})
		})
	}
}
