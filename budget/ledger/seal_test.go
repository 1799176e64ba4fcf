package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func testKey(t testing.TB, b byte) *Key { return must(NewKey(bytes.Repeat([]byte{b}, KeySize)))(t) }

// What is stored under a key is not in the ledger's bytes, answers under that key alone, and is bound to its place; what was stored before there was one still answers.
func TestStoredReleasesAreEncrypted(t *testing.T) { both(t, testStoredReleasesAreEncrypted) }

func testStoredReleasesAreEncrypted(t *testing.T) {
	const text = "the count is 54,864"
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	store := func(key byte) {
		t.Helper()
		id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(key byte, want bool) {
		t.Helper()
		s, ok, err := l.Lookup(ctx, Hash{key}, "ann")
		if err != nil || ok != want || ok && string(s.Payload) != text {
			t.Errorf("release %d: %+v %v %v", key, s, ok, err)
		}
	}
	use := func(key *Key) {
		t.Helper()
		c := dayCache().Cache
		c.Key = key
		if err := l.SetCache(c); err != nil {
			t.Fatal(err)
		}
	}
	plain := func() (n int) {
		t.Helper()
		unlock := must(l.reading(ctx))(t)
		defer unlock()
		var seqs []int64
		for seq := range stored(t, l) {
			seqs = append(seqs, seq)
		}
		if _, err := l.store.begin(waterline{l.state.seq, l.state.last}, false); err != nil {
			t.Fatal(err)
		}
		defer l.store.end()
		for _, seq := range seqs {
			if bytes.Contains(must(l.store.payload(seq))(t), []byte("54,864")) {
				n++
			}
		}
		return n
	}
	store(1)
	if plain() != 1 {
		t.Fatal("without a key nothing is encrypted, so the test proves nothing")
	}
	use(testKey(t, 7))
	store(2)
	found(1, true)
	found(2, true)
	if n := plain(); n != 1 {
		t.Errorf("%d releases in plain text", n)
	}
	use(testKey(t, 8))
	found(2, false)
	use(nil)
	found(2, false)
	found(1, true)
	use(testKey(t, 7))
	l = reopen(t, l, path, demoHead(t), Options{Cache: l.opt.Cache})
	found(2, true)
	if err := l.Verify(ctx); err != nil { // which needs no key
		t.Error(err)
	}
	if said := fmt.Sprintf("%v %+v %#v", l.opt.Cache, l.opt.Cache, l.opt.Cache); strings.Contains(said, "0x7") || strings.Contains(said, l.opt.Cache.Key.id) {
		t.Errorf("a key is printed: %s", said)
	}
}

// A sealed release opens in its own place alone, whole, and with its key.
func TestSeal(t *testing.T) {
	k := testKey(t, 1)
	sealed := must(k.seal(Hash{1}, 5, []byte("text")))(t)
	if again := must(k.seal(Hash{1}, 5, []byte("text")))(t); bytes.Equal(sealed, again) {
		t.Error("the same nonce twice")
	}
	if text, err := k.open(Hash{1}, 5, sealed); err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
	bent := bytes.Clone(sealed)
	bent[len(bent)-1] ^= 1
	var all []error
	for _, f := range []func() ([]byte, error){
		func() ([]byte, error) { return k.open(Hash{2}, 5, sealed) },
		func() ([]byte, error) { return k.open(Hash{1}, 6, sealed) },
		func() ([]byte, error) { return k.open(Hash{1}, 5, bent) },
		func() ([]byte, error) { return k.open(Hash{1}, 5, sealed[:8]) },
		func() ([]byte, error) { return testKey(t, 2).open(Hash{1}, 5, sealed) },
	} {
		text, err := f()
		if err == nil {
			all = append(all, fmt.Errorf("it opens: %q", text))
		}
	}
	if err := errors.Join(all...); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, make([]byte, 16), make([]byte, KeySize)} {
		if _, err := NewKey(bad); err == nil {
			t.Errorf("a key of %d bytes", len(bad))
		}
	}
}
