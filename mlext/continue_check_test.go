package mlext

import (
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// TestAsked: of each method a no ends the training wherever it is asked, and a no asks nothing more; nowhere is as much randomness read between two questions as a number for each of some thousand rows takes: counted in bytes, not in time.
func TestAsked(t *testing.T) {
	const rows = 4096
	for _, c := range trained() {
		with := []string{}
		if slices.Contains(c.method.options, "steps") {
			with = append(with, "steps = 3")
		}
		if slices.Contains(c.method.options, "sampling_rate") {
			with = append(with, "sampling_rate = 0.3")
		}
		plan := planOf(t, c.method, 2, 1, 1, c.delta(1e-6), with...)
		b, err := data.NewBuilder(2, 1)
		if err != nil {
			t.Fatal(err)
		}
		for u := range rows {
			if err := b.Add(int64(u), []float64{0.7, float64(u%3) / 5}, float64(u%2)); err != nil {
				t.Fatal(err)
			}
		}
		table, no := b.Table(), errors.New("no")
		run := func(last int64) (asked, most int64, err error) {
			from := &counted{Reader: rand.Reader}
			rand.Reader = from
			src := noise.NewSource()
			rand.Reader = from.Reader
			before := int64(0)
			_, _, err = plan.run(table, src, func(int, int) error {
				asked++
				most, before = max(most, from.n.Load()-before), from.n.Load()
				if asked == last {
					return no
				}
				return nil
			})
			return asked, max(most, from.n.Load()-before), err
		}
		all, most, err := run(0)
		if err != nil || all < 3 || most > 1<<18 { // of 1,024 numbers less than 2^18 bytes
			t.Errorf("%s: %v, %d questions, %d bytes without one", c.name, err, all, most)
		}
		for _, last := range []int64{1, 2, 3} {
			if asked, _, err := run(last); !errors.Is(err, no) || asked != last {
				t.Errorf("%s: %v after %d questions, not %d", c.name, err, asked, last)
			}
		}
	}
}
