package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

const room = "../../../rewrite/pgsyntax/testdata/"

// lines gives a corpus: one statement a line, comments and the rest of statements apart.
func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(room + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		switch {
		case strings.HasPrefix(l, "-- "):
		case strings.HasPrefix(l, " "):
			out[len(out)-1] += "\n" + l
		default:
			out = append(out, l)
		}
	}
	return out
}

// own gives pgsyntax's corpus and what is read of its checklist.
func own(t *testing.T) []string {
	out := lines(t, "corpus.sql")
	for _, f := range features(t) {
		if f.verb == "read" && !strings.Contains(f.text, "json_object") { // a plain function in version 15 only
			out = append(out, f.text)
		}
	}
	return out
}

// statements gives our own, and what real clients send where ../shared is.
func statements(t *testing.T) []string {
	out := own(t)
	for _, name := range []string{"bi-analytic.jsonl", "metadata.jsonl"} {
		f, err := os.Open("../../../../shared/clients/" + name)
		if err != nil {
			t.Logf("without %s: %v", name, err)
			continue
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var d struct{ SQL string }
			if err := json.Unmarshal(sc.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			out = append(out, d.SQL)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// queries says whether a message holds queries only, and gives its print.
func queries(sts []pgsyntax.Statement) (string, bool) {
	var b strings.Builder
	for _, st := range sts {
		if _, ok := st.Node.(*pgsyntax.Select); !ok {
			return "", false
		}
		b.WriteString(pgsyntax.Print(st.Node) + ";")
	}
	return b.String(), true
}

func hasOther(sts []pgsyntax.Statement) bool {
	for _, st := range sts {
		n := st.Node
		if e, ok := n.(*pgsyntax.Explain); ok {
			n = e.Query
		}
		if o, ok := n.(*pgsyntax.Other); ok && o.Read == nil {
			return true
		}
	}
	return false
}

// check compares both parsers on a text; it says whether ours took it, and whether theirs did.
func check(t *testing.T, text string) (ours, theirs bool, err error) {
	t.Helper()
	sts, err := pgsyntax.Parse(text)
	_, perr := pgquery.ParseToJSON(text)
	if err != nil {
		return false, perr == nil, err
	}
	if hasOther(sts) {
		return false, false, nil // its text was not read
	}
	if perr != nil {
		t.Errorf("PostgreSQL refuses: %v\n%s", perr, text)
		return true, false, nil
	}
	printed, ok := queries(sts)
	if !ok {
		return true, true, nil
	}
	eq, serr := Same(text, printed)
	if serr != nil {
		t.Errorf("%v\n%s\nprint: %s", serr, text, printed)
	} else if !eq {
		t.Errorf("misread\n%s\nprint: %s", text, printed)
	}
	return true, true, nil
}

// TestCorpus: every statement is read as PostgreSQL reads it.
func TestCorpus(t *testing.T) {
	for _, text := range statements(t) {
		if _, theirs, err := check(t, text); err != nil && theirs && sqlerr.ID(err) == sqlerr.Syntax.ID {
			t.Errorf("refused as a syntax error: %v\n%s", err, text)
		}
	}
}

// TestMutants: statements cut, joined and shuffled word by word are taken only if PostgreSQL takes them, and read alike. What
// PostgreSQL takes is refused by name, hardly ever as a syntax error.
func TestMutants(t *testing.T) {
	const rounds = 60000
	own := len(own(t))
	rnd := rand.New(rand.NewPCG(seed(t), 2))
	var texts [][]string
	var words []string
	for i, text := range statements(t) {
		w := scan(text)
		if len(w) == 0 || len(w) > 200 {
			continue
		}
		words = append(words, w...)
		texts = append(texts, w)
		for n := 0; n < 8 && i < own; n++ { // our corpus has the constructs, the clients' has the bulk
			texts = append(texts, w)
		}
	}
	var both, theirs, syntax int
	for i := 0; i < rounds && !t.Failed(); i++ {
		text := mutate(rnd, texts, words)
		o, p, err := check(t, text)
		switch {
		case o && p:
			both++
		case p:
			theirs++
			var e *sqlerr.Error
			if errors.As(err, &e) && e.ID == sqlerr.Syntax.ID && !strings.Contains(e.Message, "\"$") { // pg_query's own: type $1
				syntax++
				if testing.Verbose() {
					t.Logf("%v at %d\n%s", err, e.Pos, text)
				}
			}
		}
	}
	t.Logf("%d mutants: %d taken by both and read alike, %d by PostgreSQL only, of these %d as a syntax error", rounds, both, theirs, syntax)
	if both < rounds/20 {
		t.Errorf("only %d mutants were read by both", both)
	}
	// Mostly what nobody writes: f(a) 'x' for a cast, reserved words as labels without AS, and pg_query's own "type $1".
	if syntax > both/30 {
		t.Errorf("%d statements of PostgreSQL are refused as syntax errors, beside %d that are read", syntax, both)
	}
}

// seed is 1, or what DPSQL_SEED says, to look further.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := os.Getenv("DPSQL_SEED")
	if s == "" {
		return 1
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// scan cuts a text into PostgreSQL's tokens.
func scan(text string) []string {
	r, err := pgquery.Scan(text)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range r.Tokens {
		out = append(out, text[t.Start:t.End])
	}
	return out
}

// mutate changes a statement in one to three places.
func mutate(rnd *rand.Rand, texts [][]string, words []string) string {
	w := append([]string(nil), texts[rnd.IntN(len(texts))]...)
	for n := 1 + rnd.IntN(3); n > 0 && len(w) > 1; n-- {
		i := rnd.IntN(len(w))
		switch rnd.IntN(5) {
		case 0: // drop
			w = append(w[:i], w[i+1:]...)
		case 1: // replace
			w[i] = words[rnd.IntN(len(words))]
		case 2: // insert
			w = append(w[:i], append([]string{words[rnd.IntN(len(words))]}, w[i:]...)...)
		case 3: // swap
			j := rnd.IntN(len(w))
			w[i], w[j] = w[j], w[i]
		case 4: // put a piece of another statement in the place of a piece
			o := texts[rnd.IntN(len(texts))]
			a := rnd.IntN(len(o))
			b := min(len(o), a+1+rnd.IntN(6))
			e := min(len(w), i+rnd.IntN(4))
			w = append(w[:i], append(append([]string(nil), o[a:b]...), w[e:]...)...)
		}
	}
	return strings.Join(w, " ")
}
