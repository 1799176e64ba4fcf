package model_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// digits are images of side x side as bytes, with their labels.
type digits struct {
	side   int
	labels []string
	images [][]byte
}

func drawnDigits(rows, side int) *digits {
	g := &digits{side: side}
	r := rand.New(rand.NewPCG(9, uint64(side))) //nolint:gosec // a fixed seed
	for range rows {
		image := make([]byte, side*side)
		for i := range image {
			if r.IntN(5) == 0 {
				image[i] = byte(r.IntN(256))
			}
		}
		g.images, g.labels = append(g.images, image), append(g.labels, fmt.Sprint(r.IntN(10)))
	}
	return g
}

// session is ann's over a table of them: as bytes, and on PostgreSQL as arrays of each type of numbers. The last rows' arrays are NULL, of other lengths and dimensions, and have NULL, NaN, infinities and what is beyond the range.
func (g *digits) session(t *testing.T, d dialect.Dialect, last ...string) *session.Session {
	t.Helper()
	n := g.side * g.side
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: digits.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/digits"}`}[d]
	types, more := []string{}, ""
	if d == funcs.Postgres {
		for c, typ := range map[string]string{"i": "smallint[]", "f": "double precision[]", "r": "real[]", "m": "numeric[]", "j": "integer[]"} {
			types = append(types, ", "+c+" "+typ)
			more += fmt.Sprintf(", %s: {shape: [%d, %d], range: [0, 255]}", c, g.side, g.side)
		}
	}
	statements := []string{"CREATE TABLE digits (id int PRIMARY KEY, label text, raw bytea" + strings.Join(types, "") + ")"}
	var values []string
	for id, image := range g.images {
		raw := fmt.Sprintf(`'\x%x'::bytea`, image)
		if d == funcs.DuckDB {
			raw = fmt.Sprintf(`from_hex('%x')`, image)
		}
		values = append(values, fmt.Sprintf("(%d, '%s', %s)", id, g.labels[id], raw))
	}
	statements = append(statements, "INSERT INTO digits (id, label, raw) VALUES "+strings.Join(values, ", "))
	if d == funcs.Postgres {
		statements = append(statements, "UPDATE digits SET i = (SELECT array_agg(get_byte(raw, k) ORDER BY k) FROM generate_series(0, "+fmt.Sprint(n-1)+") AS k)", "UPDATE digits SET f = i, r = i, m = i, j = i")
	}
	statements = append(statements, last...)
	p, err := policy.Parse("digits.yaml", []byte("dataset: digits\nbackend: "+uri+"\nunit: digits.id\ntables:\n  digits:\n    columns: {id: {}, label: {values: ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']}, raw: {shape: ["+fmt.Sprint(g.side)+", "+fmt.Sprint(g.side)+"]}"+more+"}\n"+
		"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 100, delta: 1e-9}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [digits], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, fmt.Sprintf("digits_%d_%d", g.side, len(last)), statements, p)
}

// model is a softmax regression of them with coefficients of which nothing is to be learnt.
func (g *digits) model(t *testing.T, s *session.Session, column, typ string) *mlext.Model {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a fixed seed
	m := &mlext.Model{Name: "by_" + column, Kind: "softmax_regression", Method: "dp_gd", Target: mlext.Feature{Name: "label", Type: "text"}, Features: []mlext.Feature{{Name: column, Lo: 0, Hi: 255, Type: typ, Length: g.side * g.side}}}
	for c := range 10 {
		m.Target.Levels = append(m.Target.Levels, fmt.Sprint(c))
		list := make([]float64, g.side*g.side)
		for i := range list {
			list[i] = r.NormFloat64() / 500
		}
		m.Scores = append(m.Scores, mlext.Score{Intercept: r.NormFloat64() / 10, Coefficients: [][]float64{list}})
	}
	enginetest.KeepModel(t, s.Engine, m)
	return m
}

func (g *digits) said(m *mlext.Model, image []byte) (int, []float64) {
	best, z := 0, make([]float64, len(m.Scores))
	for j, sc := range m.Scores {
		z[j] = sc.Intercept
		for i, b := range image {
			z[j] += sc.Coefficients[0][i] * math.Max(m.Features[0].Lo, math.Min(m.Features[0].Hi, float64(b)))
		}
		if z[j] > z[best] {
			best = j
		}
	}
	return best, z
}

// says is what a statement at much epsilon says, within 1.
func says(t *testing.T, s *session.Session, sql string, want int) {
	t.Helper()
	rows, err := enginetest.Try(s, sql)
	if err != nil || len(rows) != 1 || math.Abs(model.Float(rows[0][0])-float64(want)) > 1 {
		t.Errorf("%s: %s: %v, %v, want %d", s.Engine.Dialect, sql, rows, err, want)
	}
}

// TestPredictImages: what a model of ten scores over 784 pixels says in aggregates, of literals and in EVALUATE is what a loop over its coefficients says.
func TestPredictImages(t *testing.T) {
	g := drawnDigits(30, 28)
	for _, d := range enginetest.Dialects {
		s := g.session(t, d)
		m := g.model(t, s, "raw", "bytea")
		right, least, loss := 0, math.Inf(1), 0.0
		for i, image := range g.images {
			c, z := g.said(m, image)
			if fmt.Sprint(c) == g.labels[i] {
				right++
			}
			sum := 0.0
			for j, v := range z {
				sum += math.Exp(v - z[c])
				if j != c {
					least = math.Min(least, z[c]-v)
				}
			}
			loss += math.Min(7, math.Log(sum)+z[c]-z[g.labels[i][0]-'0'])
		}
		if least < 1e-6 {
			t.Fatalf("two scores are %g apart: the test is of no use", least)
		}
		says(t, s, "SELECT count(*) FROM digits WHERE dp_predict('by_raw', raw) = label", right)
		p, err := enginetest.Prepare(s, "SELECT dp_predict('by_raw', raw), count(*) FROM digits GROUP BY 1")
		if err != nil {
			t.Fatal(err)
		}
		if st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42); err != nil || strings.Count(st.SQL, "octet_length") != 1 { // the arrays are read once a row
			t.Errorf("%s: %v, %d readings", d, err, strings.Count(st.SQL, "octet_length"))
		}
		rows, err := enginetest.Try(s, "EVALUATE DP MODEL by_raw ON SELECT raw, label FROM digits")
		told := map[string]string{}
		for _, r := range rows {
			told[r[0].(string)] = r[1].(string)
		}
		var accuracy, lost float64
		_, _ = fmt.Sscan(told["accuracy"], &accuracy)
		_, _ = fmt.Sscan(told["log-loss"], &lost)
		if n := float64(len(g.images)); err != nil || math.Abs(accuracy-float64(right)/n) > 0.07 || math.Abs(lost-loss/n) > 1 {
			t.Errorf("%s: %v, %v; want accuracy %g, log-loss %g", d, told, err, float64(right)/n, loss/n)
		}
		var values []string
		for i, image := range g.images[:5] {
			values = append(values, fmt.Sprintf(`('\x%x'::bytea, '%s')`, image, g.labels[i]))
		}
		rows, err = enginetest.Try(s, "EVALUATE DP MODEL by_raw ON SELECT raw, label FROM (VALUES "+strings.Join(values, ", ")+") AS v(raw, label)")
		if err != nil || fmt.Sprint(rows[0]) != "[rows 5]" {
			t.Errorf("%s: of public rows: %v, %v", d, rows, err)
		}
		c, _ := g.said(m, g.images[0])
		rows, err = enginetest.Try(s, fmt.Sprintf(`SELECT dp_predict('by_raw', '\x%x'), dp_predict('by_raw', '\x00'), dp_predict('by_raw', NULL)`, g.images[0]))
		if err != nil || fmt.Sprint(rows[0]) != fmt.Sprint([]sqltype.Value{fmt.Sprint(c), nil, nil}) {
			t.Errorf("%s: %v, %v, want %d", d, rows, err, c)
		}
		if _, err := enginetest.Try(s, `SELECT dp_scores('{}', 1.0, '\x00'::bytea)`); sqlerr.ID(err) != sqlerr.UndefinedFunction.ID {
			t.Errorf("%s: an analyst calls it: %v", d, err)
		}
	}
}

// oddArrays are rows of arrays of four numbers that are no images, and some that have what is beyond the range.
var oddArrays = []string{"NULL", "'{1,2,3}'", "'{1,2,3,4,5}'", "'{}'", "'{1,2,NULL,4}'", "'{{1,2},{3,4}}'", "'{250,0,0,30000}'", "'{-7,-7,-7,-7}'"}

// oddRows adds them, from id 1000 on: in every column, as bytes of as many elements.
func oddRows(d dialect.Dialect) []string {
	var out []string
	bytes := []string{"NULL", "010203", "0102030405", "", "01", "0102", "fa0000ff", "00000000"}
	arrays := append(append([]string(nil), oddArrays...), "'{NaN,1,2,3}'", "'{Infinity,-Infinity,1e-30,7}'")
	for i, a := range arrays {
		raw := "NULL"
		if i > 0 && i < len(bytes) {
			if raw = "from_hex('" + bytes[i] + "')"; d == funcs.Postgres {
				raw = `'\x` + bytes[i] + `'`
			}
		}
		row := fmt.Sprintf("(%d, '%d', %s", 1000+i, i%10, raw)
		names := ""
		if d == funcs.Postgres {
			whole := a
			if i >= len(oddArrays) {
				whole = "NULL"
			}
			names, row = ", i, j, f, r, m", row+", "+strings.Join([]string{whole, whole, a, a, a}, ", ")
		}
		out = append(out, "INSERT INTO digits (id, label, raw"+names+") VALUES "+row+")")
	}
	return append(out, "CREATE TABLE kept AS SELECT * FROM digits")
}

// TestPredictOddArrays: arrays of all types are predicted from as literals of the same elements are; rows that are none have no prediction, fail nothing, and each changes a total by no more than is claimed.
func TestPredictOddArrays(t *testing.T) {
	g := drawnDigits(30, 2)
	for _, d := range enginetest.Dialects {
		columns := map[string]string{"raw": "bytea"}
		if d == funcs.Postgres {
			columns = map[string]string{"raw": "bytea", "i": "smallint[]", "f": "double precision[]", "r": "real[]", "m": "numeric[]", "j": "integer[]"}
		}
		odd := oddRows(d)
		s := g.session(t, d, odd...)
		changed := map[string]backend.Backend{} // without a usual one, one with NULL in it, one beyond the range
		for _, id := range []int{0, 1004, 1006} {
			odd = append(odd, fmt.Sprintf("DELETE FROM digits WHERE id = %d", id))
			if changed[fmt.Sprint(id)] = g.session(t, d, odd...).Engine.Backend; id != 1006 {
				odd = append(odd, fmt.Sprintf("INSERT INTO digits SELECT * FROM kept WHERE id = %d", id))
			}
		}
		for column, typ := range columns {
			m := g.model(t, s, column, typ)
			right := 0
			for i := range g.images {
				if c, _ := g.said(m, g.images[i]); fmt.Sprint(c) == g.labels[i] {
					right++
				}
			}
			says(t, s, "SELECT count(*) FROM digits WHERE id < 1000 AND dp_predict('by_"+column+"', "+column+") = label", right)
			there := 2 // of the odd ones
			if column == "f" || column == "r" || column == "m" {
				there = 4
			}
			says(t, s, "SELECT count(dp_predict('by_"+column+"', "+column+")) FROM digits WHERE id >= 1000", there)
			p, err := enginetest.Prepare(s, "SELECT sum(dp_predict_proba('by_"+column+"', "+column+")), count(*) FROM digits WHERE dp_predict('by_"+column+"', "+column+") IS NOT NULL OR id >= 1000")
			if err != nil {
				t.Fatal(err)
			}
			st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
			if err != nil {
				t.Fatal(err)
			}
			if share, err := enginetest.Holds(p.Analysis(), st, s.Engine.Backend, changed, nil); err != nil || share < 0.5 {
				t.Errorf("%s: %s: %v, %g of the claim is used", d, column, err, share)
			}
		}
	}
}
