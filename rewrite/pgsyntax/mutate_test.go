package pgsyntax

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mutants is how many texts TestMutants makes, in a long run longMutants.
const mutants, longMutants = 25_000, 250_000

// TestMutants is FuzzParse and FuzzLex over texts that are the same in every run: the corpora, changed by bytes and by words. Reading
// them allocates no more than the caps of TestMemory allow.
func TestMutants(t *testing.T) {
	texts := corpus(t)
	texts = append(texts, strings.Split(readFile(t, "testdata/golden/features"), "\n")...)
	files, err := filepath.Glob("../../testdata/corpus/*/q*.sql")
	if err != nil || len(files) < 121 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		texts = append(texts, readFile(t, f))
	}
	var words []string
	for _, text := range texts {
		words = append(words, pieces(text)...)
	}
	rnd := rand.New(rand.NewPCG(5, 20261122))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read := 0
	n := mutants
	if os.Getenv("DPSQL_LONG") != "" {
		n = longMutants
	}
	for range n {
		text := mutant(rnd, texts, words)
		read += len(text)
		checkLex(t, text)
		checkText(t, text)
		if t.Failed() {
			return
		}
	}
	runtime.ReadMemStats(&after)
	// Each text is lexed by token too, printed, read again and compared.
	if each := float64(after.TotalAlloc-before.TotalAlloc) / float64(read); each > 10*tokenTotal {
		t.Errorf("%.0f bytes are allocated for each byte of text", each)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pieces are a text's tokens, or its fields where the lexer does not take it.
func pieces(text string) []string {
	toks, err := lex(text, MaxTokens)
	if err != nil {
		return strings.Fields(text)
	}
	var out []string
	for _, k := range toks {
		if k.raw != "" {
			out = append(out, k.raw)
		}
	}
	return out
}

// mutant changes one of some texts in a few places.
func mutant(rnd *rand.Rand, texts, words []string) string {
	text := texts[rnd.IntN(len(texts))]
	if w := pieces(text); rnd.IntN(3) > 0 && len(w) > 1 {
		if len(w) > 150 { // a window of a long one
			from := rnd.IntN(len(w) - 150)
			w = append([]string(nil), w[from:from+150]...)
		}
		for n := 1 + rnd.IntN(3); n > 0 && len(w) > 1; n-- {
			i := rnd.IntN(len(w))
			other := words[rnd.IntN(len(words))]
			switch rnd.IntN(5) {
			case 0:
				w = append(w[:i], w[i+1:]...)
			case 1:
				w[i] = other
			case 2:
				w = append(w[:i], append([]string{other}, w[i:]...)...)
			case 3:
				j := rnd.IntN(len(w))
				w[i], w[j] = w[j], w[i]
			default: // a piece of it many times
				j := min(len(w), i+1+rnd.IntN(4))
				w = append(w[:j], append([]string{strings.Repeat(" "+strings.Join(w[i:j], " "), 1+rnd.IntN(90))}, w[j:]...)...)
			}
		}
		return strings.Join(w, " ")
	}
	b := []byte(text)
	if len(b) > 600 {
		from := rnd.IntN(len(b) - 600)
		b = b[from : from+600]
	}
	const odd = "'\"$()[]{},;:.\\/*-+<>=~!@#%^&|?`_ \n\r\t\x00\x01\xff\xc3\xa9eEuUxXbBnN0189az"
	for n := 1 + rnd.IntN(4); n > 0 && len(b) > 1; n-- {
		i := rnd.IntN(len(b))
		switch rnd.IntN(3) {
		case 0:
			b = append(b[:i:i], b[i+1:]...)
		case 1:
			b = append(b[:i:i], append([]byte{odd[rnd.IntN(len(odd))]}, b[i:]...)...)
		default:
			b = append([]byte(nil), b...)
			b[i] = odd[rnd.IntN(len(odd))]
		}
	}
	return string(b)
}
