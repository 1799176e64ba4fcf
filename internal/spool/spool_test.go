package spool

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// item is compared by its key alone.
type item struct {
	key byte
	n   uint32
	pad int
}

var items = Order[item]{
	Compare: func(a, b item) int { return cmp.Compare(a.key, b.key) },
	Size:    func(i item) int { return 16 + i.pad },
	Append: func(dst []byte, i item) []byte {
		dst = binary.BigEndian.AppendUint32(append(dst, i.key), i.n)
		return append(binary.BigEndian.AppendUint32(dst, uint32(i.pad)), make([]byte, i.pad)...)
	},
	Read: func(b []byte) (item, []byte, error) {
		if len(b) < 9 {
			return item{}, nil, errors.New("short")
		}
		pad := int(binary.BigEndian.Uint32(b[5:]))
		return item{b[0], binary.BigEndian.Uint32(b[1:]), pad}, b[9+pad:], nil
	},
}

// TestSorter: as a stable sort in memory, whatever the limits are, as often as it is read, and to where it is stopped; nothing is left.
func TestSorter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := NewSorter(items, Limits{Dir: dir, Memory: rapid.IntRange(1, 5000).Draw(t, "memory"), Items: rapid.IntRange(0, 50).Draw(t, "items"), File: 1 << 30})
		var all []item
		for n := range rapid.IntRange(0, 300).Draw(t, "n") {
			all = append(all, item{rapid.Byte().Draw(t, "key"), uint32(n), rapid.SampledFrom([]int{0, 0, 0, 100, 40_000}).Draw(t, "pad")})
			if err := s.Add(all[n]); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortStableFunc(all, items.Compare)
		for range 2 {
			var got []item
			if err := s.Each(func(i item) error { got = append(got, i); return nil }); err != nil || !slices.Equal(got, all) || s.Len() != len(all) {
				t.Fatalf("%v\n%v %v", all, got, err)
			}
		}
		enough, left := errors.New("enough"), len(all)/2
		if err := s.Each(func(item) error {
			if left--; left < 0 {
				return enough
			}
			return nil
		}); len(all) > 0 && !errors.Is(err, enough) {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// TestSealed: what is on disk says nothing of the items, and what was changed there is an error.
func TestSealed(t *testing.T) {
	s := NewSorter(items, Limits{Dir: t.TempDir(), Memory: 1, File: 1 << 20})
	for range 3 {
		if err := s.Add(item{key: 'k', pad: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	raw := make([]byte, s.Bytes())
	if _, err := s.file.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, make([]byte, 20)) {
		t.Error("zeros are zeros on disk")
	}
	for at := range raw {
		if _, err := s.file.WriteAt([]byte{raw[at] ^ 1}, int64(at)); err != nil {
			t.Fatal(err)
		}
		if s.Each(func(item) error { return nil }) == nil {
			t.Fatalf("byte %d may be another", at)
		}
		if _, err := s.file.WriteAt(raw[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLimits: a file over its limit, a folder that cannot be made.
func TestLimits(t *testing.T) {
	s := NewSorter(items, Limits{Dir: t.TempDir(), Memory: 1, File: 100})
	if err := errors.Join(s.Add(item{pad: 10}), s.Add(item{pad: 10})); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(item{pad: 10}); !errors.Is(err, ErrLarge) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = NewSorter(items, Limits{Dir: "/dev/null/none", Memory: 1, File: 100})
	if err := s.Add(item{}); err == nil {
		t.Error("a folder in a file")
	}
}
