package baseline

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"io"
	"math"
)

// Random draws floats for simulations. It is for one goroutine.
type Random struct{ from io.Reader }

// NewRandom reads the system's generator.
func NewRandom() *Random { return &Random{bufio.NewReaderSize(rand.Reader, 1<<14)} }

// Seeded draws the same each time, for invented data.
func Seeded(seed uint64) *Random {
	key := make([]byte, 16)
	binary.BigEndian.PutUint64(key, seed)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has a length that it may have
	}
	return &Random{cipher.StreamReader{S: cipher.NewCTR(block, make([]byte, aes.BlockSize)), R: zeros{}}} //nolint:gosec // G407: it follows from the seed, and keeps no secret
}

// zeros is a reader of nothing else.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Below is a whole number from 0 to n-1.
func (r *Random) Below(n int) int { return min(n-1, int(r.Uniform()*float64(n))) }

// Uniform is in (0, 1).
func (r *Random) Uniform() float64 {
	var b [8]byte
	if _, err := io.ReadFull(r.from, b[:]); err != nil {
		panic(err) // the system's generator does not fail
	}
	return (float64(binary.BigEndian.Uint64(b[:])>>11) + 0.5) / (1 << 53)
}

// Laplace has the given scale.
func (r *Random) Laplace(scale float64) float64 {
	u := r.Uniform() - 0.5
	return -scale * math.Copysign(math.Log1p(-2*math.Abs(u)), u)
}

// Normal has the given standard deviation.
func (r *Random) Normal(sigma float64) float64 {
	return sigma * math.Sqrt(-2*math.Log(r.Uniform())) * math.Cos(2*math.Pi*r.Uniform())
}
