package sqltype_test

import (
	"context"
	"math/rand"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestMutatedTexts changes texts at random, and joins pieces of several, and reads them as PostgreSQL does. LONG=1 does more.
func TestMutatedTexts(t *testing.T) {
	rng := rand.New(rand.NewSource(20240229))
	rounds, n := 1, 250
	if os.Getenv("LONG") != "" {
		rounds, n = 20, 2000
	}
	all := sessions(t)
	for round := range rounds {
		s := all[(round*5+1)%len(all)]
		conn := s.connect(t)
		if err := conn.Exec(context.Background(), "set statement_timeout = 0").Close(); err != nil {
			t.Fatal(err)
		}
		for _, in := range settingTexts {
			compareTexts(t, conn, &s.set, in.t, mutations(rng, in.texts, n), s.sql, false)
		}
		for _, elem := range []sqltype.Type{sqltype.Int4, sqltype.Text} {
			compareTexts(t, conn, &s.set, mustArray(elem), mutations(rng, arrayTexts, n), s.sql, false)
		}
	}
}

func mutations(rng *rand.Rand, texts []string, n int) []string {
	const alphabet = "0123456789 -+:./,TtZz\"\\{}[]'=PYMDHSeEabcjJ@_"
	var out []string
	for len(out) < n {
		b := []byte(texts[rng.Intn(len(texts))])
		if rng.Intn(3) == 0 { // with the end of another
			other := texts[rng.Intn(len(texts))]
			b = append(b[:rng.Intn(len(b)+1)], other[rng.Intn(len(other)+1):]...)
		}
		for range rng.Intn(4) {
			i := rng.Intn(len(b) + 1)
			c := alphabet[rng.Intn(len(alphabet))]
			switch {
			case rng.Intn(3) == 0 && i < len(b):
				b = append(b[:i], b[i+1:]...)
			case rng.Intn(2) == 0 && i < len(b):
				b[i] = c
			default:
				b = append(b[:i], append([]byte{c}, b[i:]...)...)
			}
		}
		if s := string(b); utf8.ValidString(s) && len(s) < 1000 && !strings.Contains(s, "\x00") {
			out = append(out, s)
		}
	}
	return out
}
