package funcs

import (
	"context"
	"database/sql"
	gojson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// scoreCase is a row of scores over arrays of five elements: of one array type, or of bytes.
type scoreCase struct {
	what Scores
	elem sqltype.OID
	k    int
}

// class is the true one of ScoreLoss, in SQL and Go.
func (c *scoreCase) class() string { return fmt.Sprint(c.truth()) }

func (c *scoreCase) truth() sqltype.Value { return int64(min(2, c.k)) }

func scoreCases() (out []scoreCase) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a fixed seed
	for _, elem := range []sqltype.OID{blob, sqltype.OIDInt2, i4, sqltype.OIDInt8, sqltype.OIDFloat4, f8, numeric} {
		for _, of := range []string{ScoreClass, ScoreShare, ScoreBin, ScoreValue, ScoreCount, ScoreLoss, ScoreSure} {
			for _, scale := range []float64{1, 1e-305, 1e200} {
				if scale != 1 && of != ScoreClass && of != ScoreCount && of != ScoreLoss && of != ScoreSure {
					continue
				}
				k := 3
				if of == ScoreBin || of == ScoreValue || of == ScoreCount || scale > 1 {
					k = 1
				}
				if of == ScoreSure || of == ScoreLoss && scale <= 1 {
					k = 3
				}
				a := ScoreArray{Length: 5, Lo: -2, Hi: 250}
				switch {
				case elem == blob:
					a.Lo = 3
				case scale < 1 && elem != sqltype.OIDInt2: // wide
					a.Lo, a.Hi = -1e6, 1e9
				}
				for range k {
					c := make([]float64, a.Length)
					for i := range c {
						c[i] = r.NormFloat64() * scale / a.Hi
					}
					a.Coefficients = append(a.Coefficients, c)
				}
				out = append(out, scoreCase{Scores{Of: of, K: k, Arrays: []ScoreArray{a}, Lo: 0, Hi: 40, Bins: 10}, elem, k})
			}
		}
	}
	return out
}

// scoreArrays are what a column of the type may hold, as PostgreSQL writes it: of the length, and not.
func scoreArrays(elem sqltype.OID) []string {
	if elem == blob {
		return []string{`\x0102030405`, `\xff00ff00ff`, `\x0000000000`, `\x01020304`, `\x010203040506`, `\x`}
	}
	out := []string{"{1,2,3,4,5}", "{-7,0,300,30000,250}", "{0,0,0,0,0}", "{249,1,-2,-1,17}", "{1,2,3,4}", "{1,2,3,4,5,6}", "{}", "{1,2,NULL,4,5}", "{NULL,NULL,NULL,NULL,NULL}", "{{1,2,3,4,5}}", "[0:4]={1,2,3,4,5}"}
	if elem == sqltype.OIDFloat4 || elem == f8 || elem == numeric {
		out = append(out, "{NaN,1,2,3,4}", "{Infinity,-Infinity,0.5,1.25,249.999}", "{1e-37,-1e-37,1e37,-1e37,0.1}")
	}
	if elem == f8 {
		out = append(out, "{5e-324,-5e-324,1e308,-1e308,2e-308}")
	}
	if elem == numeric {
		out = append(out, "{1"+strings.Repeat("0", 400)+",-1"+strings.Repeat("0", 400)+",0."+strings.Repeat("0", 400)+"1,1,2}")
	}
	return out
}

// duckArray is the list that DuckDB has for what PostgreSQL writes so; "" of an array of several dimensions, or from 0 on.
func duckArray(elem sqltype.OID, array string) string {
	if elem == blob {
		return "(from_hex('" + array[2:] + "'))"
	}
	name := map[sqltype.OID]string{sqltype.OIDInt2: "SMALLINT", i4: "INTEGER", sqltype.OIDInt8: "BIGINT", sqltype.OIDFloat4: "FLOAT", f8: "DOUBLE", numeric: "DOUBLE"}[elem]
	if strings.HasPrefix(array, "{{") || strings.HasPrefix(array, "[") || elem == numeric && len(array) > 300 {
		return ""
	}
	var list []string
	for _, x := range strings.Split(strings.Trim(array, "{}"), ",") {
		if x == "NULL" || x == "" {
			list = append(list, strings.TrimSpace(x))
			continue
		}
		list = append(list, "'"+x+"'")
	}
	return "CAST([" + strings.Join(list, ", ") + "] AS " + name + "[])"
}

// TestScores: PostgreSQL, DuckDB and Go say the same of every array, none raises, and it is what a loop over the coefficients says.
func TestScores(t *testing.T) {
	ctx := context.Background()
	conn := connect(t)
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close()
	for _, c := range scoreCases() {
		text, err := gojson.Marshal(c.what)
		if err != nil {
			t.Fatal(err)
		}
		typ := sqltype.Type{OID: blob, Typmod: -1}
		if c.elem != blob {
			typ, _ = sqltype.ArrayOf(sqltype.Type{OID: c.elem, Typmod: -1})
		}
		var args []sqltype.OID
		numbers := []sqltype.Value{0.25, -0.5, 0.125}[:c.k]
		if math.Abs(c.what.Arrays[0].Coefficients[0][0]) > 1e100 {
			numbers = []sqltype.Value{math.Inf(1), math.Inf(-1), math.NaN()}[:c.k]
		}
		var printed []string
		for _, b := range numbers {
			args, printed = append(args, f8), append(printed, "CAST('"+sqltype.FormatText(b, sqltype.Float8)+"' AS double precision)")
		}
		var values []sqltype.Value
		values = append(append(values, ""), numbers...)
		if c.what.Of == ScoreLoss {
			args, printed, values = append(args, i4), append(printed, c.class()), append(values, c.truth())
		}
		f, err := NewScores(string(text), append(args, typ.OID))
		if err != nil {
			t.Fatal(err)
		}
		for _, array := range scoreArrays(c.elem) {
			what := fmt.Sprintf("%s of %s %s, coefficients %v", c.what.Of, typ, array, c.what.Arrays[0].Coefficients)
			sqlOf := func(d dialect.Dialect, x string) string {
				return "SELECT CAST(" + f.TotalForm.Print(d, append([]string{""}, append(append([]string(nil), printed...), x)...), nil, sqltype.Type{OID: f.Result, Typmod: -1}) + " AS double precision)"
			}
			var pg *float64
			if err := conn.QueryRow(ctx, sqlOf(Postgres, "(SELECT CAST('"+array+"' AS "+sqlName(typ.OID)+"))")).Scan(&pg); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if x := duckArray(c.elem, array); x != "" {
				var dk sql.NullFloat64
				if err := duck.QueryRowContext(ctx, sqlOf(DuckDB, x)).Scan(&dk); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if (pg == nil) == dk.Valid || pg != nil && !almost(*pg, dk.Float64) {
					t.Errorf("%s: PostgreSQL %v, DuckDB %v", what, pg, dk)
				}
			}
			x, ok := c.read(array)
			if ok != (pg != nil) {
				t.Errorf("%s: PostgreSQL %v, want a value: %t", what, pg, ok)
				continue
			}
			if v, err := sqltype.ParseText(array, typ); err == nil && !strings.Contains(array, "NaN") && !strings.Contains(array, "Infinity") { // of numerics Go has none
				got, err := f.Eval(append(append([]sqltype.Value(nil), values...), v), nil, sqltype.Type{})
				if err != nil || (got == nil) == ok || ok && !almost(asFloat(got), *pg) {
					t.Errorf("%s: Go %v, %v, PostgreSQL %v", what, got, err, pg)
				}
			}
			if !ok {
				continue
			}
			if r := f.Range([]*num.Interval{}, nil); *pg < r.Lo.InexactFloat64() || *pg > r.Hi.InexactFloat64() {
				t.Errorf("%s: %g is outside of %s to %s", what, *pg, r.Lo, r.Hi)
			}
			if math.Abs(c.what.Arrays[0].Coefficients[0][0]) > 1e100 { // a grid of such steps says nothing of small scores
				continue
			}
			if want := c.loop(numbers, x); math.Abs(want-*pg) > 1e-4 {
				t.Errorf("%s: %g, want %g", what, *pg, want)
			}
		}
	}
}

// TestScoresWithoutArrays: they are computed of numbers alone, and NULL where one is.
func TestScoresWithoutArrays(t *testing.T) {
	conn := connect(t)
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close()
	for i, of := range []string{ScoreClass, ScoreShare, ScoreBin, ScoreLoss, ScoreSure, ScoreLoss, ScoreOdds} {
		k := 3
		if of == ScoreBin || i >= 5 {
			k = 1
		}
		c := scoreCase{Scores{Of: of, K: k, Bins: 10, Arrays: []ScoreArray{{Coefficients: make([][]float64, k)}}}, blob, k}
		args := []sqltype.OID{f8, f8, f8}[:k]
		if c.what.lost() {
			args = append(args, i4)
		}
		f, err := NewScores(fmt.Sprintf(`{"of": "%s", "k": %d, "bins": 10}`, of, k), args)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]sqltype.Value{{0.25, -0.5, 0.125}, {-3.0, 4.5, 800.0}, {math.Inf(1), 0.0, -1.0}, {nil, 1.0, 2.0}} {
			numbers, printed := list[:k], []string{""}
			for _, b := range numbers {
				text := "NULL"
				if b != nil {
					text = "'" + sqltype.FormatText(b, sqltype.Float8) + "'"
				}
				printed = append(printed, "CAST("+text+" AS double precision)")
			}
			if c.what.lost() {
				printed = append(printed, c.class())
			}
			say := func(d dialect.Dialect) string {
				return "SELECT CAST(" + f.TotalForm.Print(d, printed, nil, sqltype.Type{OID: f.Result, Typmod: -1}) + " AS double precision)"
			}
			var pg *float64
			var dk sql.NullFloat64
			if err := conn.QueryRow(context.Background(), say(Postgres)).Scan(&pg); err != nil {
				t.Fatalf("%s: %v", say(Postgres), err)
			}
			if err := duck.QueryRow(say(DuckDB)).Scan(&dk); err != nil {
				t.Fatalf("%s: %v", say(DuckDB), err)
			}
			if numbers[0] == nil {
				if pg != nil || dk.Valid {
					t.Errorf("%s of NULL: %v, %v", of, pg, dk)
				}
				continue
			}
			values := append([]sqltype.Value{""}, numbers...)
			if c.what.lost() {
				values = append(values, c.truth())
			}
			want := c.loop(numbers, nil)
			if got, err := f.Eval(values, nil, sqltype.Type{}); err != nil || pg == nil || !dk.Valid || !almost(*pg, dk.Float64) || !almost(asFloat(got), *pg) || math.Abs(want-*pg) > 1e-9 {
				t.Errorf("%s of %v: Go %v, %v, PostgreSQL %v, DuckDB %v, want %g", of, numbers, got, err, pg, dk, want)
			}
		}
	}
}

func almost(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12*math.Abs(a) }

func asFloat(v sqltype.Value) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// read are an array's elements within their range.
func (c scoreCase) read(text string) (out []float64, ok bool) {
	var list []float64
	if c.elem == blob {
		for i := 2; i < len(text); i += 2 {
			var b int
			_, _ = fmt.Sscanf(text[i:i+2], "%x", &b)
			list = append(list, float64(b))
		}
	} else {
		_, text, _ = strings.Cut("="+text, "=")
		if _, after, cut := strings.Cut(text, "="); cut {
			text = after
		}
		if strings.HasPrefix(text, "{{") {
			return nil, false
		}
		for _, s := range strings.Split(strings.Trim(text, "{}"), ",") {
			if s == "NULL" || s == "" {
				return nil, false
			}
			v, _ := strconv.ParseFloat(s, 64) // beyond the range: infinite
			list = append(list, v)
		}
	}
	a := c.what.Arrays[0]
	for _, v := range list {
		if math.IsNaN(v) {
			v = a.Hi
		}
		out = append(out, math.Max(a.Lo, math.Min(a.Hi, v)))
	}
	return out, len(out) == a.Length
}

// loop is what is computed of the scores of elements.
func (c scoreCase) loop(numbers []sqltype.Value, x []float64) float64 {
	z, best, sum := make([]float64, c.k), 0, 0.0
	for j := range z {
		z[j] = math.Min(1e290, numbers[j].(float64))
		for i, v := range x {
			z[j] += c.what.Arrays[0].Coefficients[j][i] * v
		}
		if z[j] > z[best] {
			best = j
		}
	}
	for _, v := range z {
		sum += math.Exp(v - z[best])
	}
	one := 1 / (1 + math.Exp(-z[0]))
	switch {
	case c.what.Of == ScoreClass && c.k == 1:
		if z[0] > 0 {
			return 1
		}
		return 0
	case c.what.Of == ScoreClass:
		return float64(best)
	case c.what.Of == ScoreShare && c.k == 1:
		return one
	case c.what.Of == ScoreShare:
		return 1 / sum
	case c.what.Of == ScoreSure:
		return float64(10*best) + math.Min(9, math.Floor(10/sum))
	case c.what.Of == ScoreBin:
		return math.Min(9, math.Floor(10*one))
	case c.what.Of == ScoreOdds:
		return math.Max(0, math.Min(9, math.Floor((z[0]+8)*10/16)))
	case c.what.Of == ScoreLoss && c.k == 1:
		return math.Min(7, -math.Log(one))
	case c.what.Of == ScoreLoss:
		return math.Max(0, math.Min(7, math.Log(sum)+z[best]-z[2]))
	case c.what.Of == ScoreValue:
		return math.Max(0, math.Min(40, 20+20*z[0]))
	}
	return math.Min(40, math.Exp(z[0]))
}

// TestScoresOfMany: of as many scores as a model may have both backends say what Go says, and the text grows with their number, not with its square.
func TestScoresOfMany(t *testing.T) {
	ctx := context.Background()
	conn := connect(t)
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close()
	const k = MostScores
	for _, of := range []string{ScoreClass, ScoreShare, ScoreLoss} {
		args, values, printed := slices.Repeat([]sqltype.OID{f8}, k), []sqltype.Value{""}, []string{""}
		for j := range k {
			v := math.Sin(float64(j * j))
			values, printed = append(values, v), append(printed, double(v))
		}
		if of == ScoreLoss {
			args, values, printed = append(args, i4), append(values, int64(77)), append(printed, "77")
		}
		f, err := NewScores(fmt.Sprintf(`{"of": "%s", "k": %d}`, of, k), args)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Eval(values, nil, sqltype.Type{})
		if err != nil {
			t.Fatal(err)
		}
		for d, q := range map[dialect.Dialect]func(string, *float64) error{
			Postgres: func(text string, x *float64) error { return conn.QueryRow(ctx, text).Scan(x) },
			DuckDB:   func(text string, x *float64) error { return duck.QueryRowContext(ctx, text).Scan(x) },
		} {
			var got float64
			text := "SELECT CAST(" + f.TotalForm.Print(d, printed, nil, sqltype.Type{OID: f.Result, Typmod: -1}) + " AS double precision)"
			if len(text) > 400*k {
				t.Errorf("%s on %v: %d bytes", of, d, len(text))
			}
			if err := q(text, &got); err != nil {
				t.Errorf("%s on %v: %.300v", of, d, err)
			} else if i, whole := want.(int64); whole && got != float64(i) || !whole && math.Abs(got-want.(float64)) > 1e-12 {
				t.Errorf("%s on %v: %g, not %v", of, d, got, want)
			}
		}
	}
	if _, err := NewScores(fmt.Sprintf(`{"of": "share", "k": %d}`, k+1), slices.Repeat([]sqltype.OID{f8}, k+1)); err == nil {
		t.Error("more scores than there may be are bound")
	}
}

// TestScoresTypes: what is computed of other types than it was written for is refused where the call is bound.
func TestScoresTypes(t *testing.T) {
	for text, args := range map[string][][]sqltype.OID{
		`{"of":"share","k":2}`: {{f8}, {f8, i4}, {i4, f8}, {f8, blob}, {blob, blob}, {f8, f8, f8}, {}},
		`{"of":"loss","k":1}`:  {{f8}, {f8, f8}, {i4, i4}, {f8, blob}, {f8, i4, i4}},
		`{"of":"share","k":0}`: {{}},
		`{"of":"loss","k":-1}`: {{}, {i4}},
		`{"of":"class","k":1,"arrays":[{"length":1,"lo":0,"hi":1,"c":[[1]]}]}`: {{f8}, {blob, f8}, {blob, blob}, {f8, f8}, {f8, i4}},
	} {
		for _, list := range args {
			if _, err := NewScores(text, list); err == nil {
				t.Errorf("%s of %v is bound", text, list)
			}
		}
	}
}
