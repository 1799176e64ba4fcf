package pgsyntax

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestCaps: a message is refused at the first token or statement too many, with what the cap is and what to do; one less is read.
func TestCaps(t *testing.T) {
	list := "select a" + strings.Repeat(",a", MaxTokens/2-1)
	script := strings.Repeat("show all; ", MaxStatements)
	listed := "select a in (1" + strings.Repeat(",1", MaxListed-1) + ")"
	for _, c := range []struct {
		name, text, more string
		pos              int
		says             string
	}{
		{"tokens", list, ", a", len(list), "50000"},
		{"listed", listed, " or a in (" + strings.Repeat("1,", foldFrom) + "1)", len(listed + " or a in ("), "524288"},
		{"statements", script, "; show all", len(script) + 2, "1000"},
	} {
		if _, err := Parse(c.text); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_, err := Parse(c.text + c.more)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.TooComplex.ID || e.Code != "54001" {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if e.Pos != c.pos+1 || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.says) {
			t.Errorf("%s: %q, %q at %d, not %d", c.name, e.Message, e.Hint, e.Pos, c.pos+1)
		}
	}
	if pieces, err := Split(script + list + "; " + list); err != nil || len(pieces) != MaxStatements+2 {
		t.Errorf("%d pieces of a long script, %v", len(pieces), err)
	}
}

// What reading one message may allocate in all, and what its trees may keep: for each token, and for each byte of text.
const (
	tokenTotal, tokenLive = 1900, 320
	textTotal, textLive   = 8, 2
	listTotal, listLive   = 200, 100 // for each literal in a list behind IN
	slack                 = 2 << 20
)

// TestMemory: the longest messages of many shapes stay in these bounds. What is allocated in all is more than is ever held at once.
func TestMemory(t *testing.T) {
	listed := func(text string) (n int) {
		toks, err := lex(text, MaxTokens)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		for i := range toks {
			n += len(toks[i].list)
		}
		return n
	}
	count := func(text string) int {
		toks, err := lex(text, MaxTokens)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		return len(toks) - 1
	}
	fill := func(head, piece, tail string) string { // pieces up to the cap on tokens
		return head + strings.Repeat(piece, (MaxTokens-count(head+tail))/count(piece)) + tail
	}
	unions := strings.Repeat(" union table b", 1000)
	script := func(statement string) string { return strings.Repeat(statement+";", MaxStatements) }
	texts := map[string]string{
		"a list":        fill("select a", ",a", ""),
		"IN":            fill("select a in (b", ",1", ")"),
		"listed":        "select a in (-1" + strings.Repeat(",-1", MaxListed-1) + ")",
		"listed texts":  "select a in ('b'" + strings.Repeat(",'b'", MaxListed-1) + ")",
		"VALUES":        fill("values (1)", ",(1)", ""),
		"calls":         fill("select f()", ",f()", ""),
		"windows":       fill("select 1 window w as ()", ",w as ()", ""),
		"over":          fill("select f()", ",f() over ()", ""),
		"subqueries":    fill("select 1", ",(select 1)", ""),
		"tables":        fill("select 1", ",exists(table a)", ""),
		"derived":       fill("select 1 from a", ",(table b) c", ""),
		"functions":     fill("select 1 from a", ",f()", ""),
		"unions":        fill("select 1", ",(table a"+unions+")", ""),
		"WITH":          fill("with a as (select 1)", ",a as (select 1)", " select 1"),
		"CASE":          fill("select 1", ",case when a then b end", ""),
		"LIKE":          fill("select 1", ",a like b", ""),
		"BETWEEN":       fill("select 1", ",a between b and c", ""),
		"casts":         fill("select 1", ",a::int", ""),
		"dates":         fill("select 1", ",date 'a'", ""),
		"bare calls":    fill("select 1", ",current_date", ""),
		"subscripts":    fill("select 1", ",a[1]", ""),
		"ORDER BY":      fill("select 1 order by a", ",a", ""),
		"CUBE":          fill("select 1 group by a", ",cube(a)", ""),
		"OR":            fill("select 1", ",a"+strings.Repeat(" or a", 4000), ""),
		"joins":         fill("select 1 from a", ",a"+strings.Repeat(" natural join b", 2000), ""),
		"names":         fill("select 1", ","+strings.Repeat("A", 60), ""),
		"numbers":       fill("select 1", ",0xffffffffffffffffffffffff", ""),
		"a script":      script("table a" + strings.Repeat(" union table b", 15)),
		"EXPLAIN":       script("explain table a"),
		"a string":      "select '" + strings.Repeat("a", MaxText-20) + "'",
		"quotes":        "select '" + strings.Repeat("''", MaxText/2-10) + "'",
		"escapes":       "select e'" + strings.Repeat("\\n", MaxText/2-10) + "'",
		"code points":   "select u&'" + strings.Repeat("\\00e9", MaxText/5-10) + "'",
		"a dollar":      "select $$" + strings.Repeat("a", MaxText-20) + "$$",
		"a name":        "select " + strings.Repeat("A", MaxText-20),
		"a quoted name": "select \"" + strings.Repeat("A", MaxText-20) + "\"",
		"digits":        "select " + strings.Repeat("1_", MaxText/2-20) + "1",
		"blanks":        "select 1" + strings.Repeat(" ", MaxText-20),
		"a comment":     "select 1 /*" + strings.Repeat("/**/", MaxText/4-10) + "*/",
	}
	read := func(text string) (total, live int) {
		var before, after, kept runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools hold is gone after two
		runtime.ReadMemStats(&before)
		sts, err := Parse(text)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&kept)
		runtime.KeepAlive(sts)
		runtime.KeepAlive(text)
		return int(after.TotalAlloc - before.TotalAlloc), int(kept.HeapAlloc) - int(before.HeapAlloc)
	}
	for name, text := range texts {
		tokens, list := count(text), listed(text)
		total, live := read(text)
		if most := slack + tokens*tokenTotal + list*listTotal + len(text)*textTotal; total > most {
			t.Errorf("%s: %d bytes are allocated for %d tokens and %d bytes of text, want at most %d", name, total, tokens, len(text), most)
		}
		if most := slack + tokens*tokenLive + list*listLive + len(text)*textLive; live > most {
			t.Errorf("%s: %d bytes are kept for %d tokens and %d bytes of text, want at most %d", name, live, tokens, len(text), most)
		}
		t.Logf("%s: %d tokens of %d bytes: %.1f MB allocated, %.1f MB kept", name, tokens, len(text), float64(total)/1e6, float64(live)/1e6)
	}
	// A refused message costs no more than one that is read.
	var before, after runtime.MemStats
	huge := strings.Repeat("select 1;", MaxText/9)
	runtime.ReadMemStats(&before)
	if _, err := Parse(huge); sqlerr.ID(err) != sqlerr.TooComplex.ID {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes are allocated for a message that is refused", n)
	}
}
