package pgsyntax

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// FuzzParse: no panic; an error is an *sqlerr.Error with a position in the text; what parses prints and parses to the same tree,
// and its positions are in the text.
func FuzzParse(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	for _, text := range clients(f) {
		f.Add(text)
	}
	for _, text := range []string{"", ";", "-- ping", "/*", "'", "select $", "begin; select 1; commit", "select case", "select a.", "((((", "]",
		"select 1 where", "with", "values", "table", "explain (", "set x", "fetch 3", "declare a cursor for", "select u&'\\", "select e'\\",
		"select (select 1) from (select 2) order by (3)", "select a between b", "select f(a order by", "select sum(a) over (rows"} {
		f.Add(text)
	}
	f.Fuzz(checkText)
}

// checkText is what FuzzParse says, of one text.
func checkText(t *testing.T, text string) {
	t.Helper()
	sts, err := Parse(text)
	if err != nil {
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code == "" || e.Message == "" || e.Pos < 0 || e.Pos > len(text)+1 {
			t.Fatalf("%q: %#v", text, err)
		}
		if e.ID == sqlerr.Internal.ID || errors.Unwrap(e) != nil {
			t.Fatalf("%q: %v: %v", text, err, errors.Unwrap(e))
		}
		return
	}
	if !utf8.ValidString(text) {
		t.Fatalf("%q: taken", text)
	}
	for _, st := range sts {
		if st.Text != text[st.Offset:st.Offset+len(st.Text)] {
			t.Fatalf("%q: text %q at %d", text, st.Text, st.Offset)
		}
		checkPositions(t, text, st)
		checkPrint(t, text, st)
	}
}

// FuzzLex: the tokens of a text stand in it in order, with nothing but blanks and comments between them, and each means by itself
// what it means there.
func FuzzLex(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	for _, text := range []string{"a--b\n+-c", "1.e5 .5 1..2 0x1F 0b2 1_000 1__0", "$1$2 $a$ $b$ $a$", "e'\\u00e9\\'' U&'d!0061' uescape '!' U&\"a\"", "'a'\n  'b' 'c'", "b'01' x'Af' n'x'",
		"/* /* */ */ - - @ !! -> ->> <=> !=", ":= :: => .. a.b[1:2]", "é \"\"\"\" _a$1", "not between nulls first with time"} {
		f.Add(text)
	}
	f.Fuzz(checkLex)
}

// checkLex is what FuzzLex says, of one text.
func checkLex(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return
	}
	toks, err := lex(text, MaxTokens)
	if err != nil {
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code == "" || e.Pos < 0 || e.Pos > len(text)+1 {
			t.Fatalf("%q: %#v", text, err)
		}
		return
	}
	at := 0
	var apart []string
	for _, k := range toks {
		if k.pos < at || k.end() < k.pos || k.end() > len(text) || k.kind != tEnd && k.end() == k.pos {
			t.Fatalf("%q: a token at %d to %d after %d", text, k.pos, k.end(), at)
		}
		if between, err := lex(text[at:k.pos], MaxTokens); err != nil || len(between) != 1 {
			t.Fatalf("%q: %q is between tokens", text, text[at:k.pos])
		}
		apart, at = append(apart, text[k.pos:k.end()]), k.end()
	}
	if last := toks[len(toks)-1]; last.kind != tEnd || at != len(text) {
		t.Fatalf("%q: the last token ends at %d", text, at)
	}
	again, err := lex(strings.Join(apart, " "), MaxTokens)
	if err != nil || len(again) != len(toks) {
		t.Fatalf("%q: apart %q: %d tokens, then %d, %v", text, apart, len(toks), len(again), err)
	}
	for i, k := range again {
		if was := toks[i]; was.kind != tList && k.kind != was.kind || k.text != was.text || k.bound != was.bound {
			t.Fatalf("%q: token %d is %+v, apart %+v", text, i, was, k)
		}
	}
}

// checkPositions fails if a node stands outside its statement.
func checkPositions(t *testing.T, text string, st Statement) {
	sel, ok := st.Node.(*Select)
	if !ok {
		return
	}
	in := func(p Pos, n any) {
		if int(p) < st.Offset || int(p) >= st.Offset+len(st.Text) {
			t.Fatalf("%q: %T at %d", text, n, p)
		}
	}
	Walk(sel, &Visitor{
		Query: func(s *Select) bool { in(s.Pos, s); return true },
		Table: func(x TableExpr) bool { in(x.Position(), x); return true },
		Expr:  func(e Expr) bool { in(e.Position(), e); return true },
	})
}

// TestPrintGroups: whatever tree is printed, its print parses to it: no operator needs parentheses that are not there.
func TestPrintGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyExpr(t, 5)
		sel := &Select{Targets: []Target{{Expr: e}}}
		text := Print(sel)
		sts, err := Parse(text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if !reflect.DeepEqual(stripped(sts[0].Node), stripped(Node(sel))) {
			t.Fatalf("%s\n%s", text, Print(sts[0].Node))
		}
	})
}

// anyExpr draws an expression of at most a depth.
func anyExpr(t *rapid.T, depth int) Expr {
	sub := func() Expr { return anyExpr(t, depth-1) }
	if depth == 0 {
		return rapid.SampledFrom([]Expr{&ColumnRef{Path: []string{"a"}}, &ColumnRef{Path: []string{"T", "select"}},
			&Literal{Kind: IntegerLit, Text: "1"}, &Literal{Kind: StringLit, Text: "it's"}, &Literal{Kind: NullLit}, &Param{N: 2},
			&FuncCall{Name: "now"}, &FuncCall{Name: "current_date", Bare: true, Special: true}}).Draw(t, "leaf")
	}
	not := rapid.Bool()
	switch rapid.IntRange(0, 13).Draw(t, "sort") {
	case 0:
		return &Unary{Op: rapid.SampledFrom([]string{"-", "+", "NOT", "@", "!!", "OPERATOR(pg_catalog.-)"}).Draw(t, "prefix"), X: sub()}
	case 1, 2, 3:
		op := rapid.SampledFrom([]string{"AND", "OR", "=", "<", "<>", "+", "-", "*", "/", "%", "^", "||", "->", "IS DISTINCT FROM", "LIKE",
			"NOT ILIKE", "SIMILAR TO", "OPERATOR(pg_catalog.+)"}).Draw(t, "infix")
		b := &Binary{Op: op, Left: sub(), Right: sub()}
		if level(op) == levIn && not.Draw(t, "escape") {
			b.Escape = sub()
		}
		return b
	case 4:
		return &Is{X: sub(), Not: not.Draw(t, "not"), What: rapid.SampledFrom([]string{"NULL", "TRUE", "UNKNOWN"}).Draw(t, "is")}
	case 5:
		return &Between{X: sub(), Low: sub(), High: sub(), Not: not.Draw(t, "not"), Symmetric: not.Draw(t, "symmetric")}
	case 6:
		return &In{X: sub(), List: []Expr{sub(), sub()}, Not: not.Draw(t, "not")}
	case 7:
		return &Quantified{X: sub(), Op: rapid.SampledFrom([]string{"=", "||", "NOT LIKE", "+"}).Draw(t, "op"), All: not.Draw(t, "all"), Array: sub()}
	case 8:
		return &Cast{X: sub(), Type: TypeName{Name: "timestamp with time zone", Mods: []int{3}, Dims: 1}}
	case 9:
		return &Collate{X: sub(), Name: []string{"pg_catalog", "C"}}
	case 10:
		return &FuncCall{Name: "timezone", Special: true, Args: []Expr{sub(), sub()}}
	case 11:
		return &Case{Operand: sub(), Whens: []When{{Cond: sub(), Result: sub()}}}
	case 12:
		x := sub()
		if r, ok := x.(*Row); ok && !r.Explicit {
			return r // PostgreSQL has no subscript of it
		}
		return &Subscript{X: x, Index: []Expr{sub()}}
	}
	if not.Draw(t, "explicit") {
		return &FuncCall{Name: "position", Special: true, Args: []Expr{sub(), sub()}}
	}
	return &Row{Elems: []Expr{sub(), sub()}, Explicit: not.Draw(t, "row")}
}

// TestLimits: what is too much is refused with a clear error, quickly, and what is just allowed is read.
func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	for _, c := range []struct {
		name, text string
		kind       sqlerr.Kind // zero: allowed
	}{
		{"parentheses", "select " + repeat("(", 10000) + "1" + repeat(")", 10000), sqlerr.TooComplex},
		{"parentheses, allowed", "select " + repeat("(", 150) + "1" + repeat(")", 150), sqlerr.Kind{}},
		{"subqueries", "select " + repeat("(select ", 150) + "1" + repeat(")", 150), sqlerr.Kind{}},
		{"subqueries in FROM", "select 1 from " + repeat("(select 1 from ", 150) + "t" + repeat(") x", 150), sqlerr.Kind{}},
		{"bare parentheses of a query", repeat("(", 190) + "select 1" + repeat(")", 190), sqlerr.Kind{}},
		{"joins in parentheses", "select 1 from " + repeat("(", 150) + "a" + repeat(" cross join b)", 150), sqlerr.Kind{}},
		{"CASE", "select " + repeat("case when a then ", 150) + "1" + repeat(" end", 150), sqlerr.Kind{}},
		{"CASE, too deep", "select " + repeat("case when a then ", 300) + "1" + repeat(" end", 300), sqlerr.TooComplex},
		{"calls", "select " + repeat("f(", 300) + "1" + repeat(")", 300), sqlerr.TooComplex},
		{"subscripts", "select " + repeat("a[", 300) + "1" + repeat("]", 300), sqlerr.TooComplex},
		{"fields", "select (a)" + repeat(".b", 4000), sqlerr.Kind{}},
		{"too many fields", "select (a)" + repeat(".b", 20000), sqlerr.TooComplex},
		{"slices", "select a" + repeat("[:]", 4000), sqlerr.Kind{}},
		{"named arguments", "select f(a => 1" + repeat(", a => 1", 9000) + ")", sqlerr.Kind{}},
		{"named arguments in each other", "select " + repeat("f(a => ", 190) + "1" + repeat(")", 190), sqlerr.Kind{}},
		{"names with points", "select a" + repeat(".a", 20000), sqlerr.TooComplex},
		{"OVERLAPS", "select " + repeat("(a, b) overlaps (c, d) and ", 2000) + "e", sqlerr.Kind{}},
		{"EXECUTE", "execute p (" + repeat("(", 300) + "1" + repeat(")", 300) + ")", sqlerr.TooComplex},
		{"COPY", "copy (select 1" + repeat(" union select 1", 3000) + ") to stdout", sqlerr.Kind{}},
		{"COPY in COPY", repeat("copy (", 1000) + "select 1" + repeat(") to stdout", 1000), sqlerr.TooComplex},
		{"a long OR", "select a = 1" + repeat(" or a = 1", 4000), sqlerr.Kind{}},
		{"too long an OR", "select a = 1" + repeat(" or a = 1", 6000), sqlerr.TooComplex},
		{"NOT NOT", "select " + repeat("not ", 20000) + "a", sqlerr.TooComplex},
		{"NOT NOT, allowed", "select " + repeat("not ", 9000) + "a", sqlerr.Kind{}},
		{"minus", "select " + repeat("- ", 9000) + "a", sqlerr.Kind{}},
		{"casts", "select a" + repeat("::int", 4000), sqlerr.Kind{}},
		{"set operations", "select 1" + repeat(" union select 1", 3000), sqlerr.Kind{}},
		{"too many set operations", "select 1" + repeat(" union select 1", 200000), sqlerr.TooComplex},
		{"joins", "select 1 from a" + repeat(" join b on true", 2000), sqlerr.Kind{}},
		{"open joins", "select 1 from a" + repeat(" join b", 2000) + repeat(" on true", 2000), sqlerr.Kind{}},
		{"open parentheses", repeat("(", 1<<20), sqlerr.TooComplex},
		{"open strings", repeat("'a' ", 40000) + "'", sqlerr.Syntax},
		{"strings", "select " + repeat("'a' ", 1<<19), sqlerr.TooComplex},
		{"plus signs", "select " + repeat("+", 1<<20), sqlerr.Syntax},
		{"an IN list", "select a in (1" + repeat(", 1", 20000) + ")", sqlerr.Kind{}},
		{"a long IN list", "select a in (1" + repeat(", -1", 30000) + ") and b not in ('a'" + repeat(", 'b'", MaxListed-30002) + ")", sqlerr.Kind{}},
		{"too long an IN list", "select a in (1" + repeat(",1", MaxListed) + ")", sqlerr.TooComplex},
		{"too long IN lists", repeat("select a in (1"+repeat(",1", MaxListed/10)+");", 11), sqlerr.TooComplex},
		{"too long an IN list of expressions", "select a in (1" + repeat(", a", 30000) + ")", sqlerr.TooComplex},
		{"IN lists in IN lists", repeat("a in (1, 2, ", 190) + "1" + repeat(")", 190), sqlerr.Syntax},
		{"a VALUES list", "select * from (values (1, 'a', 2.5)" + repeat(", (1, 'a', 2.5)", 5000) + ") v", sqlerr.Kind{}},
		{"semicolons", repeat(";", 1<<20), sqlerr.TooComplex},
		{"comments", repeat("/*", 1<<20), sqlerr.Syntax},
		{"dollar tags", repeat("$a", 1<<20), sqlerr.Syntax},
		{"a script", repeat("select count(*) from t where a = 1 group by b order by c;", 900), sqlerr.Kind{}},
		{"statements", repeat("begin;;", MaxStatements), sqlerr.Kind{}},
		{"too many statements", repeat("begin;;", MaxStatements) + "select", sqlerr.TooComplex},
		{"very many statements", repeat("select 1;", 100000), sqlerr.TooComplex},
		{"length", "select 1" + repeat(" ", MaxText), sqlerr.TooLong},
		{"parameters", "select $65536", sqlerr.TooComplex},
		{"a long number", "select 0x" + repeat("f", 1<<20), sqlerr.TooLong},
		{"a NUL", "select \x00", sqlerr.InvalidEncoding},
		{"no UTF-8", "select '\xff'", sqlerr.InvalidEncoding},
		{"half a letter", "select 'a\xe2\x82'", sqlerr.InvalidEncoding},
	} {
		sts, err := Parse(c.text)
		switch {
		case c.kind.ID == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.kind.ID != "" && sqlerr.ID(err) != c.kind.ID:
			t.Errorf("%s: %v, want %s", c.name, err, c.kind.ID)
		case err == nil && len(c.text) < 1<<20:
			for _, st := range sts[:1] {
				_ = Print(st.Node)
			}
		}
	}
}

func TestParams(t *testing.T) {
	sts, err := Parse("select $3, '$9', \"$8\" -- $7\n; select 1; select $65535")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 0, 65535} {
		if sts[i].Params != want {
			t.Errorf("statement %d has %d parameters, want %d", i, sts[i].Params, want)
		}
	}
	if got, want := sts[1].Text, "select 1"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// TestNames: the lexer folds, cuts and keeps names as PostgreSQL does.
func TestNames(t *testing.T) {
	long := strings.Repeat("é", 40)
	for text, want := range map[string]string{"Foo": "foo", `"Foo"`: "Foo", "É": "É", long: long[:62], `U&"\00e9\+01F600"`: "é😀", "a$1": "a$1",
		`"a""b"`: `a"b`, "_": "_"} {
		sts, err := Parse("select " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c, ok := sts[0].Node.(*Select).Targets[0].Expr.(*ColumnRef); !ok || c.Path[0] != want {
			t.Errorf("%s: %s, want %s", text, Print(sts[0].Node), want)
		}
	}
}

// TestConcurrent: Parse may be called from many goroutines.
func TestConcurrent(t *testing.T) {
	texts := corpus(t)
	done := make(chan error)
	for g := 0; g < 8; g++ {
		go func() {
			for i := range texts {
				if _, err := Parse(texts[(i+g*7)%len(texts)]); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for g := 0; g < 8; g++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

const q5 = `select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from customer, orders, lineitem, supplier, nation, region
where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
  and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'
  and o_orderdate >= date '1994-01-01' and o_orderdate < date '1994-01-01' + interval '1' year
group by n_name order by revenue desc`

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(q5); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInList(b *testing.B) {
	for name, piece := range map[string]string{"integers": "123456, ", "texts": "'abcdef', "} {
		text := "select a from t where a in (" + strings.TrimSuffix(strings.Repeat(piece, 1<<20/len(piece)), ", ") + ")"
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
