package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// recently are the releases that were stored since the last checkpoint and have not expired, in the order of their records; expired says that others have.
func (s *state) recently(at time.Time) (out []keyedRef, expired bool) {
	seen := map[Hash]bool{}
	for _, k := range s.recent {
		if seen[k] {
			continue
		}
		seen[k] = true
		for _, ref := range slices.Backward(s.releases.stored[k]) { // the newest first
			if ref.seq <= s.checkpoint {
				break
			}
			if ref.expires.After(at) {
				out = append(out, keyedRef{k, ref})
			} else {
				expired = true
			}
		}
	}
	slices.SortFunc(out, func(a, b keyedRef) int { return cmp.Compare(a.seq, b.seq) })
	return out, expired
}

// leastRef is how many bytes of a segment a release takes at least.
const leastRef = 2*len(Hash{}) + 6*8 + 2*12 + 5

// segmentOf writes them; nil if there are none.
func segmentOf(refs []keyedRef) (text []byte, named *Segment) {
	if len(refs) == 0 {
		return nil, nil
	}
	named = &Segment{}
	known := map[string]uint64{}
	for _, r := range refs {
		text = append(append(text, r.key[:]...), r.payload[:]...)
		for _, n := range []uint64{uint64(r.seq), uint64(r.reservation), math.Float64bits(r.price), math.Float64bits(r.loss.Pure), math.Float64bits(r.loss.Renyi), math.Float64bits(r.loss.Delta)} {
			text = binary.BigEndian.AppendUint64(text, n)
		}
		for _, t := range []time.Time{r.made, r.expires} {
			text = binary.BigEndian.AppendUint64(text, uint64(t.Unix()))
			text = binary.BigEndian.AppendUint32(text, uint32(t.Nanosecond()))
		}
		for _, word := range []string{r.analyst, r.of.head.Dataset, r.epoch, r.sealed, r.familyWord(), r.spoolWord()} { // a new one is spelled out
			n, ok := known[word]
			if !ok {
				n = uint64(len(known))
				known[word] = n
			}
			text = binary.AppendUvarint(text, n)
			if !ok {
				text = append(binary.AppendUvarint(text, uint64(len(word))), word...)
			}
		}
		if r.expires.After(named.Until) {
			named.Until = r.expires
		}
	}
	named.Hash, named.Bytes = sha256.Sum256(text), len(text)
	return text, named
}

// spoolOf reads it.
func spoolOf(word string) (*SpoolRef, error) {
	if word == "" {
		return nil, nil
	}
	r := reader{text: []byte(word)}
	ref := &SpoolRef{Chunks: int(r.uint64()), Bytes: int64(r.uint64())}
	copy(ref.Hash[:], r.take(len(ref.Hash)))
	if r.short || len(r.text) > 0 {
		return nil, errors.New("the stored releases beside it cannot be read")
	}
	return ref, ref.validate()
}

// addSegment puts a segment's releases back.
func (s *state) addSegment(g segment, text []byte) error {
	if len(text) != g.Bytes || sha256.Sum256(text) != g.Hash {
		return errors.New("the stored releases beside it are not those that it names")
	}
	r := reader{text: text}
	var words []string
	for len(r.text) > 0 {
		var k keyedRef
		copy(k.key[:], r.take(len(k.key)))
		copy(k.payload[:], r.take(len(k.payload)))
		k.seq, k.reservation, k.price = int64(r.uint64()), int64(r.uint64()), math.Float64frombits(r.uint64())
		k.loss = dp.Loss{Pure: math.Float64frombits(r.uint64()), Renyi: math.Float64frombits(r.uint64()), Delta: math.Float64frombits(r.uint64())}
		k.made, k.expires = r.time(), r.time()
		var of, family, spool string
		for _, to := range []*string{&k.analyst, &of, &k.epoch, &k.sealed, &family, &spool} {
			n := r.uvarint()
			if n == uint64(len(words)) {
				words = append(words, string(r.take(int(min(r.uvarint(), math.MaxInt32)))))
			}
			if r.short || n >= uint64(len(words)) {
				return errors.New("the stored releases beside it cannot be read")
			}
			*to = words[n]
		}
		if k.of = s.find(of); k.of == nil {
			return fmt.Errorf("a stored release of data set %q, which has no head", of)
		}
		copy(k.family[:], family)
		var err error
		if k.spool, err = spoolOf(spool); err != nil {
			return err
		}
		s.releases.store(k.key, k.storedRef)
	}
	return nil
}

// reader reads numbers and bytes; short says that there were too few.
type reader struct {
	text  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.text) {
		r.text, r.short = nil, true
		return nil
	}
	out := r.text[:n]
	r.text = r.text[n:]
	return out
}

func (r *reader) uint64() uint64 {
	var b [8]byte
	copy(b[:], r.take(8))
	return binary.BigEndian.Uint64(b[:])
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.text)
	if n <= 0 {
		r.text, r.short = nil, true
		return 0
	}
	r.text = r.text[n:]
	return v
}

func (r *reader) time() time.Time {
	seconds := int64(r.uint64())
	var b [4]byte
	copy(b[:], r.take(4))
	return time.Unix(seconds, int64(binary.BigEndian.Uint32(b[:]))).UTC()
}
