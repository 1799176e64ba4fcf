package noise

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"
)

// Source is where randomness comes from. It is safe for concurrent use; one serves a whole process.
type Source struct {
	reader io.Reader

	mu   sync.Mutex
	idle []*stream
}

// NewSource reads crypto/rand. (Go ends the process where the operating system refuses to give randomness; an error of the
// reader, if there is one, comes back from the call that needed it.)
func NewSource() *Source { return newSource(rand.Reader) }

// newSource is for tests, which need a repeatable or a failing reader; it must be safe for the use they make of it.
func newSource(r io.Reader) *Source { return &Source{reader: r} }

var errNoSource = errors.New("noise: the source is not made by NewSource")

// errRange is answered with probability below e^-8000.
var errRange = errors.New("noise: a sample does not fit 64 bits")

// fill draws len(out) samples of a law.
func (s *Source) fill(l law, out []int64) error {
	if s == nil || s.reader == nil {
		return errNoSource
	}
	st := s.take()
	for i := range out {
		out[i] = l.draw(st)
	}
	if st.err != nil {
		clear(out)
		return st.err // the stream is not used again
	}
	s.give(st)
	return nil
}

// give returns a stream that has not failed.
func (s *Source) give(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, st)
}

func (s *Source) take() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		st := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return st
	}
	return &stream{reader: s.reader, next: streamBytes}
}

// streamBytes is what one read of the source brings: large enough to hide the cost of a system call.
const streamBytes = 8 << 10

// stream is a buffered reader of random words with a sticky error: after a failure every word is 0 and err is set, so each
// loop ends on err and whoever asked must look at it before any result is used.
type stream struct {
	reader io.Reader
	err    error
	next   int
	buf    [streamBytes]byte
}

// word gives 64 uniform bits, which are wiped from the buffer.
func (s *stream) word() uint64 {
	if s.next == streamBytes {
		s.refill()
	}
	if s.err != nil {
		return 0
	}
	b := s.buf[s.next : s.next+8 : s.next+8]
	w := binary.LittleEndian.Uint64(b)
	clear(b)
	s.next += 8
	return w
}

func (s *stream) refill() {
	if s.err != nil {
		return
	}
	if _, err := io.ReadFull(s.reader, s.buf[:]); err != nil {
		s.fail(fmt.Errorf("noise: no randomness: %w", err))
		return
	}
	s.next = 0
}

func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// below is uniform on 0 ... n-1, n > 0.
//
// Proof: for uniform w, the high word of w*n is u for exactly floor(2^64/n) or one more values of w; the low word is less
// than 2^64 mod n on exactly one of them where there is one more, and those are drawn again (Lemire 2019, "Fast random integer generation in an interval").
func (s *stream) below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.word(), n)
	if lo < n {
		for limit := -n % n; lo < limit && s.err == nil; {
			hi, lo = bits.Mul64(s.word(), n)
		}
	}
	return hi
}
