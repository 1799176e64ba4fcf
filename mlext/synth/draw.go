package synth

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/bits"
)

// Draw makes random numbers for rows that are drawn from what was released: no privacy rests on them.
type Draw struct{ bytes *bufio.Reader }

// NewDraw reads random bytes, which crypto/rand's reader has without end.
func NewDraw(r io.Reader) *Draw { return &Draw{bufio.NewReaderSize(r, 1<<13)} }

func (d *Draw) word() uint64 {
	var b [8]byte
	_, _ = io.ReadFull(d.bytes, b[:]) // a reader of random bytes has no end
	return binary.LittleEndian.Uint64(b[:])
}

// Below is a number from 0 to below n, uniform up to 2^-64 of n.
func (d *Draw) Below(n int64) int64 {
	hi, _ := bits.Mul64(d.word(), uint64(n)) //nolint:gosec // n is positive
	return int64(hi)                         //nolint:gosec // below n
}

func (d *Draw) part() float64 { return float64(d.word()>>11) / (1 << 53) }

func shuffle[T any](d *Draw, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := d.Below(int64(i) + 1)
		list[i], list[j] = list[j], list[i]
	}
}
