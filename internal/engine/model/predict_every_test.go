package model_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// everybody are rows with a feature of each kind: NULL, beyond the range, NaN and infinite here and there.
type everybody struct {
	features []mlext.Feature
	values   [][]any // a row's: a number, a level's place (-1: none of them), the elements of an array; nil: NULL
}

func drawnPeople(d dialect.Dialect, n int) (out everybody, statements []string) {
	rnd := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // a fixed seed
	out.features = everyFeature(d == funcs.Postgres)
	columns := []string{"slot int PRIMARY KEY", "y boolean"}
	for _, f := range out.features {
		columns = append(columns, f.Name+" "+f.Type)
	}
	statements = append(statements, "CREATE TABLE people ("+strings.Join(columns, ", ")+")")
	for slot := range n {
		texts, values := []string{fmt.Sprint(slot), fmt.Sprint(slot%2 == 0)}, []any{}
		for _, f := range out.features {
			text, v := "", any(nil)
			x := f.Lo + (f.Hi-f.Lo)*(1.4*rnd.Float64()-0.2)
			switch odd := rnd.IntN(20); {
			case odd == 0:
				text = "NULL"
			case f.Length > 0:
				var list []any
				text = drawnArray(rnd, &f, &list)
				elements := make([]float64, len(list))
				for i, e := range list {
					if elements[i], _ = e.(float64); e == "NaN" {
						elements[i] = math.NaN()
					}
				}
				if v = elements; f.Type == "bytea" && d == funcs.DuckDB {
					text = "from_hex('" + strings.TrimPrefix(strings.TrimSuffix(text, "'::bytea"), `'\x`) + "')"
				}
			case f.Boolean:
				i := rnd.IntN(2)
				text, v = f.Levels[i], i
			case f.Levels != nil:
				i := rnd.IntN(len(f.Levels))
				text, v = "'"+strings.ReplaceAll(f.Levels[i], "'", "''")+"'", i
			case f.Type == "date" && odd == 1, strings.HasPrefix(f.Type, "timestamp") && odd == 1:
				text, v = "'infinity'", math.Inf(1)
			case f.Type == "date":
				x = math.Round(x)
				text, v = "'"+time.Date(2000, 1, 1+int(x), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)+"'", x
			case strings.HasPrefix(f.Type, "timestamp"):
				x = math.Round(x)
				text, v = "'"+time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(x)*time.Microsecond).Format("2006-01-02 15:04:05.000000")+"'", x
			case f.Type == "integer":
				x = math.Round(x)
				text, v = fmt.Sprint(x), x
			case odd == 1:
				text, v = "'NaN'", math.NaN()
			default:
				text, v = fmt.Sprint(x), x
			}
			texts, values = append(texts, text), append(values, v)
		}
		out.values = append(out.values, values)
		statements = append(statements, "INSERT INTO people VALUES ("+strings.Join(texts, ", ")+")")
	}
	return out, statements
}

// session is ann's over them: each row is a person's, and tells which it is by a column with published values.
func (e everybody) session(t *testing.T, d dialect.Dialect, name string, statements []string) *session.Session {
	t.Helper()
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: people.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/people"}`}[d]
	columns := "slot: {values: [0"
	for i := range e.values[1:] {
		columns += fmt.Sprintf(", %d", i+1)
	}
	columns += "]}, y: {}"
	day := func(v float64) string {
		return time.Date(2000, 1, 1+int(v), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	for _, f := range e.features {
		is := fmt.Sprintf("range: [%g, %g]", f.Lo, f.Hi)
		switch {
		case f.Boolean:
			is = ""
		case f.Levels != nil:
			is = `values: ["` + strings.Join(f.Levels, `", "`) + `"]`
		case f.Type == "date":
			is = fmt.Sprintf("range: [%s, %s]", day(f.Lo), day(f.Hi))
		case strings.HasPrefix(f.Type, "timestamp"):
			is = fmt.Sprintf("range: [%s, %s]", day(f.Lo/8.64e10), day(f.Hi/8.64e10))
		case f.Length > 0:
			is = fmt.Sprintf("shape: [%d], range: [%g, %g]", f.Length, f.Lo, f.Hi)
		}
		columns += ", " + f.Name + ": {" + is + "}"
	}
	p, err := policy.Parse("people.yaml", []byte("dataset: people\nbackend: "+uri+"\nunit: people.slot\npopulation: 100\ntables:\n  people:\n    columns: {"+columns+"}\n"+
		"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 100, delta: 1e-9}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, p)
}

// scores are a model's of a row, by a loop over its coefficients; nil where it has none.
func (e everybody) scores(m *mlext.Model, row []any) []float64 {
	var out []float64
	for _, s := range m.Scores {
		z := s.Intercept
		for i, f := range m.Features {
			v := row[slices.IndexFunc(e.features, func(x mlext.Feature) bool { return x.Name == f.Name })]
			within := func(x float64) float64 {
				if math.IsNaN(x) {
					return f.Hi
				}
				return math.Max(f.Lo, math.Min(f.Hi, x))
			}
			switch v := v.(type) {
			case int:
				z += s.Coefficients[i][v]
			case float64:
				z += s.Coefficients[i][0]*within(v) + binned(&f, s.Coefficients[i], within(v))
			case []float64:
				for j, x := range v {
					z += s.Coefficients[i][j] * within(x)
				}
			default:
				if !m.Fill || f.Levels != nil || f.Length > 0 {
					return nil
				}
				middle := f.Lo + math.Floor(float64(f.To-f.From)/2)/float64(f.To-f.From)*(f.Hi-f.Lo)
				z += s.Coefficients[i][0]*middle + binned(&f, s.Coefficients[i], middle)
			}
		}
		out = append(out, z)
	}
	return m.Through(out)
}

// binned is the coefficient of a number's bin.
func binned(f *mlext.Feature, of []float64, x float64) float64 {
	for j, end := range f.Bins {
		if x < end {
			return of[1+j]
		}
	}
	return 0
}

// said are the class's place, or the number, and the probability that scores mean.
func said(m *mlext.Model, z []float64) (says, share float64) {
	best, sum := 0, 0.0
	for j, v := range z {
		if v > z[best] {
			best = j
		}
	}
	for _, v := range z {
		sum += math.Exp(v - z[best])
	}
	switch t := &m.Target; m.Name {
	case "linear_regression", "mlp_elu":
		return math.Max(t.Lo, math.Min(t.Hi, (t.Lo+t.Hi)/2+(t.Hi-t.Lo)/2*z[0])), 0
	case "poisson_regression":
		return math.Min(t.Hi, math.Exp(z[0])), 0
	case "softmax_regression", "mlp_relu":
		return float64(best), 1 / sum
	}
	if z[0] > 0 {
		return 1, 1 / (1 + math.Exp(-z[0]))
	}
	return 0, 1 / (1 + math.Exp(-z[0]))
}

// TestPredictEvery: what dp_predict and dp_predict_proba say of private rows, in the database's own arithmetic, is what a loop over the coefficients says (which mlext's TestModelIsTrained ties to what was trained on), for models of each kind over features of each kind: in short and long arguments, with arrays and
// without, where NULL is the middle of a range and where it is not.
func TestPredictEvery(t *testing.T) {
	for _, d := range enginetest.Dialects {
		people, statements := drawnPeople(d, 40)
		s := people.session(t, d, "people_every", statements)
		rnd := rand.New(rand.NewPCG(13, 14)) //nolint:gosec // a fixed seed
		targets := everyKind()
		for i, kind := range slices.Sorted(maps.Keys(targets)) {
			plain := slices.DeleteFunc(slices.Clone(people.features), func(f mlext.Feature) bool { return f.Length > 0 })
			for form, features := range map[string][]mlext.Feature{"arrays": people.features, "short": plain, "long": plain} {
				if os.Getenv("DPSQL_LONG") == "" && (form == "long" || form == "short" && d == funcs.DuckDB) && kind != "logistic_regression" {
					continue // DuckDB plans each for half a second
				}
				m := drawnModel(rnd, kind, targets[kind], features...)
				m.Fill = i%2 == 0
				enginetest.KeepModel(t, s.Engine, m)
				var args []string
				for _, f := range features {
					args = append(args, f.Name)
				}
				if form == "long" {
					args[0] = "CASE " + strings.Repeat("WHEN slot > 1000 THEN 0 ", 15) + "ELSE amount END"
				}
				call := "('" + kind + "', " + strings.Join(args, ", ") + ")"
				says := "dp_predict" + call
				if targets[kind].Levels != nil {
					says = "CASE " + says
					for i, l := range targets[kind].Levels {
						says += fmt.Sprintf(" WHEN '%s' THEN %d", strings.ReplaceAll(l, "'", "''"), i)
					}
					says += " END"
				}
				share, shares := "0.0", kind == "logistic_regression" || kind == "softmax_regression" || kind == "mlp_tanh" || kind == "mlp_relu"
				if shares {
					share = "dp_predict_proba" + call
				}
				sql := "SELECT slot, count(x), sum(x), count(p), sum(p) FROM (SELECT slot, " + says + " AS x, " + share + " AS p FROM people) AS q GROUP BY slot"
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %s, %s: %v", d, kind, form, err)
				}
				rows, err := enginetest.Computed(t, p)
				if err != nil || len(rows) != len(people.values) {
					t.Fatalf("%s: %s, %s: %d rows, %v", d, kind, form, len(rows), err)
				}
				none := 0
				for _, r := range rows {
					z := people.scores(m, people.values[int(model.Float(r[0]))])
					there := map[bool]float64{true: 1}[z != nil]
					if model.Float(r[1]) != there || shares && model.Float(r[3]) != there {
						t.Fatalf("%s: %s, %s: %v, scores %v", d, kind, form, r, z)
					}
					if z == nil {
						none++
						continue
					}
					x, p := said(m, z)
					if math.Abs(model.Float(r[2])-x) > 1e-4*math.Max(1, m.Target.Hi) || shares && math.Abs(model.Float(r[4])-p) > 1e-4 {
						t.Errorf("%s: %s, %s: %v, want %g and %g of scores %v", d, kind, form, r, x, p, z)
					}
				}
				if none == 0 || none > len(rows)*3/4 {
					t.Errorf("%s: %s, %s: %d of %d rows have no prediction: the test is of little use", d, kind, form, none, len(rows))
				}
			}
		}
	}
}

// TestTrainEvery: a training over features of each kind, several arrays among them, reads of each row without NULL just the steps of its own values; what it learns predicts, and is evaluated, in the database; and one person changes what is summed of predictions by no more than is claimed.
func TestTrainEvery(t *testing.T) {
	for _, d := range enginetest.Dialects {
		people, statements := drawnPeople(d, 40)
		s := people.session(t, d, "people_train", statements)
		var names []string
		for _, f := range people.features {
			names = append(names, f.Name)
		}
		columns := strings.Join(names, ", ")
		sql := "TRAIN DP MODEL every USING logistic_regression TARGET y WITH (epsilon = 1, delta = 1e-9) AS SELECT " + columns + ", y FROM people"
		tr := trainingOf(t, s, sql)
		st, err := sqlgen.UnitRows(tr.Analysis, s.Engine.Dialect, tr.Features, tr.Analysis.MaxRows, 0)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Engine.Backend.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]int{}
		err = model.ReadRows(t.Context(), tx, st, func(_ int64, steps []int64) error {
			read[fmt.Sprint(steps)]++
			return nil
		})
		tx.Close()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for slot, row := range people.values {
			var steps []int64
			for i, f := range tr.Plan.Features {
				step := func(x float64) int64 {
					if !(x < f.Hi) {
						return f.To
					}
					return f.From + int64(math.RoundToEven((math.Max(f.Lo, x)-f.Lo)/(f.Hi-f.Lo)*float64(f.To-f.From)))
				}
				switch v := row[i].(type) {
				case int:
					steps = append(steps, int64(v))
				case float64:
					steps = append(steps, step(v))
				case []float64:
					for _, x := range v {
						steps = append(steps, step(x))
					}
				}
			}
			if !slices.Contains(row, nil) {
				want[fmt.Sprint(append(steps, int64(1-slot%2)))]++
			}
		}
		if len(want) < 10 || !maps.Equal(read, want) {
			t.Errorf("%s: rows are read as\n%v, want\n%v", d, read, want)
		}
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if rows, err := enginetest.Try(s, "EVALUATE DP MODEL every ON SELECT * FROM people"); err != nil || len(rows) < 8 {
			t.Errorf("%s: is evaluated as %v, %v", d, rows, err)
		}
		p, err := enginetest.Prepare(s, "SELECT sum(dp_predict_proba('every', "+columns+")), count(*) FROM people")
		if err != nil {
			t.Fatal(err)
		}
		if st, err = sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42); err != nil {
			t.Fatal(err)
		}
		changed := map[string]backend.Backend{}
		whole := slices.IndexFunc(people.values, func(row []any) bool { return !slices.Contains(row, nil) })
		for slot, name := range map[int]string{whole: "one with a prediction", slices.IndexFunc(people.values, func(row []any) bool { return row[1] == nil }): "one without"} {
			changed[name] = people.session(t, d, fmt.Sprintf("people_without_%d", slot), append(slices.Clone(statements), fmt.Sprintf("DELETE FROM people WHERE slot = %d", slot))).Engine.Backend
		}
		if share, err := enginetest.Holds(p.Analysis(), st, s.Engine.Backend, changed, nil); err != nil || share == 0 {
			t.Errorf("%s: %v, %g of the claim is used", d, err, share)
		}
	}
}

// TestPredictUntyped: literals and NULL without a type are read as their features', beside arrays and without, in short and long calls, over constants and over private rows, also of dates whose range is of many centuries.
func TestPredictUntyped(t *testing.T) {
	for _, d := range enginetest.Dialects {
		people, statements := drawnPeople(d, 3)
		s := people.session(t, d, "people_untyped", statements)
		rnd := rand.New(rand.NewPCG(15, 16)) //nolint:gosec // a fixed seed
		old := mlext.Feature{Name: "old", Type: "date", Lo: -300000, Hi: 4000, From: -300000, To: 4000}
		place := mlext.Feature{Name: "place", Type: "integer", Levels: []string{"1", "2"}, To: 1}
		features := append(slices.Clone(people.features), old, place)
		literals := map[string]string{"amount": "'3.5'", "raw": `'\x01020304'`, "level": "'4'", "smokes": "'true'", "ward": "'A'", "born": "'1999-01-01'", "seen": "'2021-01-01 10:00'", "wave": "'{0.5,1,-1}'", "curve": "'{1,2,3,4,5}'", "counts": "'{1,2}'", "old": "'1500-01-01'", "place": "'2'"}
		plain := slices.DeleteFunc(slices.Clone(features), func(f mlext.Feature) bool { return f.Length > 0 })
		for i, of := range [][]mlext.Feature{features, plain} {
			m := drawnModel(rnd, "logistic_regression", everyKind()["logistic_regression"], of...)
			enginetest.KeepModel(t, s.Engine, m)
			long := "CASE " + strings.Repeat("WHEN slot > 1000 THEN 0 ", 20) + "ELSE 3.5 END"
			var typed, untyped, nulls, columns []string
			for _, f := range of {
				typed, untyped, nulls = append(typed, "CAST("+literals[f.Name]+" AS "+f.Type+")"), append(untyped, literals[f.Name]), append(nulls, "NULL")
				columns = append(columns, literals[f.Name])
			}
			columns[0] = long
			ask := func(args []string) string {
				return "dp_predict_proba('logistic_regression', " + strings.Join(args, ", ") + ")"
			}
			public := "SELECT " + ask(typed) + " > 0, " + ask(typed) + " = " + ask(untyped) + ", " + ask(typed) + " = " + ask(columns) + ", " + ask(nulls) + " IS NULL FROM (VALUES (1)) AS v(slot)"
			if rows, err := enginetest.Try(s, public); err != nil || fmt.Sprint(rows[0]) != "[true true true true]" {
				t.Errorf("%s: %d: %v, %v", d, i, rows, err)
			}
			nulls[0] = long
			p, err := enginetest.Prepare(s, "SELECT count("+ask(columns)+"), count("+ask(nulls)+"), count("+ask(untyped)+"), count(CASE WHEN dp_predict('logistic_regression', "+strings.Join(columns, ", ")+") IS NULL THEN 1 END) FROM people")
			if err != nil {
				t.Fatalf("%s: %d: %v", d, i, err)
			}
			if rows, err := enginetest.Computed(t, p); err != nil || fmt.Sprint(rows[0]) != "[3 0 3 0]" {
				t.Errorf("%s: %d: of private rows %v, %v", d, i, rows, err)
			}
		}
	}
}
