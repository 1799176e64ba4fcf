package model_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

const imagePeople = 120

// digitSession is ann's over people with images of 13 by 13, whose bright third is their label. Person 7 has fifty of them, each with another label than it shows, person 8 one that is too short; without leaves a person out.
func digitSession(t *testing.T, d dialect.Dialect, without int) *session.Session {
	t.Helper()
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: digits.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/digits"}`}[d]
	const columns = "label int, bright float8, raw bytea, small bytea, flat bytea"
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY)", "CREATE TABLE digits (id int REFERENCES people, " + columns + ")"}
	var people, digits []string
	for id := range imagePeople {
		if id == without {
			continue
		}
		people = append(people, fmt.Sprintf("(%d)", id))
		label, images := id%3, 1
		if id == 7 {
			label, images = 0, 50
		}
		pixels := make([]byte, 169)
		for i := range pixels {
			if pixels[i] = byte((i*7 + id*13) % 40); i/57 == id%3 {
				pixels[i] += 200
			}
		}
		if id == 8 {
			pixels = pixels[:100]
		}
		raw := map[dialect.Dialect]string{funcs.DuckDB: fmt.Sprintf("from_hex('%x')", pixels), funcs.Postgres: fmt.Sprintf(`'\x%x'::bytea`, pixels)}[d]
		for range images {
			digits = append(digits, fmt.Sprintf("(%d, %d, %d, %s, %s, %s)", id, label, label, raw, raw, raw))
		}
	}
	statements = append(statements, "INSERT INTO people VALUES "+strings.Join(people, ", "), "INSERT INTO digits VALUES "+strings.Join(digits, ", "))
	p, err := policy.Parse("digits.yaml", []byte("dataset: digits\nbackend: "+uri+"\nunit: people.id\npopulation: 120\ntables:\n  people:\n    columns: {id: {}}\n"+
		"  digits:\n    unit: id -> people.id\n    max_rows_per_unit: 2\n    columns: {id: {}, label: {values: [0, 1, 2]}, bright: {range: [0, 2]}, raw: {shape: [13, 13]}, small: {shape: [12, 12]}, flat: {shape: [169]}}\n"+
		"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 1, delta: 1e-9}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people, digits], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, fmt.Sprintf("%s%d", strings.ToLower(t.Name()), without+1), statements, p)
}

// small is a network that is trained in little time.
const small = "epsilon = 200, filters = (3, 4), hidden = (6), steps = 40, learning_rate = 0.03, sampling_rate = 0.5"

// valueOf is the number of a fact.
func valueOf(rows [][]sqltype.Value, name string) float64 {
	for _, r := range rows {
		if r[0] == name {
			v, err := strconv.ParseFloat(fmt.Sprint(r[1]), 64)
			if err == nil {
				return v
			}
		}
	}
	return math.NaN()
}

// TestImages: a cnn is trained on an array of a shape for each kind of target, described, exported, and evaluated on private rows, where it is right.
func TestImages(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(digitSession(t, d, -1), 5)
		for name, c := range map[string]struct{ target, metric string }{"classes": {"label", "accuracy"}, "two": {"label = 1 AS label", "accuracy"}, "number": {"bright AS label", "R2"}} {
			query := "SELECT raw, " + c.target + " FROM digits"
			train := "TRAIN DP MODEL " + name + " USING cnn TARGET label SPLIT 0.7 WITH (" + small + ") AS " + query
			if d == funcs.Postgres && name != "classes" {
				continue // the rows are the same
			}
			rows, err := enginetest.Try(s, "EXPLAIN (VERBOSE) "+train)
			if err != nil || !strings.Contains(fmt.Sprint(rows), "3 filters of 8 by 8") {
				t.Fatalf("%s: %v, %v", d, rows, err)
			}
			if _, err := enginetest.Try(s, train); err != nil {
				t.Fatalf("%s: %s: %v", d, name, err)
			}
			if rows, err = enginetest.Try(s, "DESCRIBE DP MODEL "+name); err != nil || valueOf(rows, "parameters") < 300 {
				t.Errorf("%s: %v, %v", d, rows, err)
			}
			evaluate := "EVALUATE DP MODEL " + name + " WITH (price = 200) ON " + query
			if rows, err = enginetest.Try(s, "EXPLAIN "+evaluate); err != nil || valueOf(rows, "price") != 200 || !strings.Contains(fmt.Sprint(rows), "at most 2") {
				t.Errorf("%s: %v, %v", d, rows, err)
			}
			spent := enginetest.SpentBy(t, s.Engine)
			if rows, err = enginetest.Try(s, evaluate); err != nil || !(valueOf(rows, c.metric) > 0.7) || !(math.Abs(valueOf(rows, "rows")-36) < 20) {
				t.Errorf("%s: %s: %v, %v", d, name, rows, err)
			}
			if enginetest.SpentBy(t, s.Engine) == spent {
				t.Errorf("%s: an evaluation of private rows is free", d)
			}
			if rows, err = enginetest.Try(s, strings.Replace(evaluate, " WITH", " SPLIT train WITH", 1)); err != nil || !(math.Abs(valueOf(rows, "rows")-84) < 20) {
				t.Errorf("%s: %s: %v, %v", d, name, rows, err)
			}
			if rows, err = enginetest.Try(s, "EXPORT DP MODEL "+name+" AS json"); err != nil {
				t.Fatal(err)
			}
			var m mlext.Model
			if err := json.Unmarshal([]byte(rows[0][0].(string)), &m); err != nil || len(m.Convolutions) != 2 || len(m.Convolutions[1].Weights) != 4 {
				t.Errorf("%s: %v: %v", d, m.Convolutions, err)
			}
			if rows, err = enginetest.Try(s, "EXPORT DP MODEL "+name+" AS onnx"); err != nil || !strings.Contains(string(rows[0][0].(sqltype.Bytes)), "MaxPool") {
				t.Fatalf("%s: %v", d, err)
			}
			if os.Getenv("DPSQL_CLIENTS") != "" {
				compareImages(t, &m, []byte(rows[0][0].(sqltype.Bytes)))
			}
		}
	}
}

// compareImages compares a model as ONNX in onnxruntime with its scores here, of images some of whose elements are beyond the range.
func compareImages(t *testing.T, m *mlext.Model, onnx []byte) {
	t.Helper()
	const images = 50
	rnd := rand.New(rand.NewPCG(3, 20)) //nolint:gosec // a fixed seed
	f, in, scores := &m.Features[0], &onnxInput{Type: "float64", Width: m.Features[0].Length}, m.ScoresOfImages()
	for range images * f.Length {
		in.Values = append(in.Values, f.Lo+(f.Hi-f.Lo)*(1.4*rnd.Float64()-0.2))
	}
	out := runONNX(t, m.Name, base64.StdEncoding.EncodeToString(onnx), map[string]*onnxInput{graphInputs(t, onnx)[0]: in})
	elements := make([]float32, f.Length)
	for i := range images {
		for j := range elements {
			elements[j] = float32(max(0, min(1, (in.Values[i*f.Length+j].(float64)-f.Lo)/(f.Hi-f.Lo))))
		}
		z := scores(elements)
		var want, got float64
		switch k := len(z); {
		case k > 1:
			sum := 0.0
			for _, v := range z {
				sum += math.Exp(v - slices.Max(z))
			}
			want, got = 1/sum, asNumber(out("probability")[i])
			if label := out("label")[i]; label != m.Target.Levels[slices.Index(z, slices.Max(z))] && asNumber(label) != float64(slices.Index(z, slices.Max(z))) {
				t.Errorf("%s: image %d is %v, scores are %v", m.Name, i, label, z)
			}
		case m.Target.Levels != nil:
			want, got = 1/(1+math.Exp(-z[0])), asNumber(out("probability")[i])
		default:
			want, got = m.Target.Lo+(max(-1, min(1, z[0]))+1)/2*(m.Target.Hi-m.Target.Lo), asNumber(out("value")[i])
		}
		if !(math.Abs(got-want) < 1e-4*(1+math.Abs(want))) { // in single precision
			t.Fatalf("%s: image %d has %g, its scores say %g", m.Name, i, got, want)
		}
	}
}

// TestImagesRefused: what a cnn is not for is refused before it is charged, with what works.
func TestImagesRefused(t *testing.T) {
	s := digitSession(t, funcs.DuckDB, -1)
	if _, err := enginetest.Try(s, "TRAIN DP MODEL m USING cnn TARGET label WITH ("+small+") AS SELECT raw, label FROM digits"); err != nil {
		t.Fatal(err)
	}
	spent := enginetest.SpentBy(t, s.Engine)
	train := "TRAIN DP MODEL n USING cnn%s TARGET label WITH (epsilon = 1%s) AS SELECT %s, label FROM digits"
	for sql, hint := range map[string]string{
		"SELECT dp_predict('m', raw), count(*) FROM digits GROUP BY 1":                                    "EVALUATE DP MODEL m ON SELECT ... tells",
		`SELECT dp_predict_proba('m', '\x00'::bytea)`:                                                     "EXPORT DP MODEL m AS onnx",
		"EVALUATE DP MODEL m GROUP BY label ON SELECT raw, label FROM digits":                             "WHERE label = ...",
		"EVALUATE DP MODEL m ON SELECT small AS raw, label FROM digits":                                   "SELECT raw and label alone",
		"EVALUATE DP MODEL m ON SELECT raw, bright, label FROM digits":                                    "SELECT raw and label alone",
		"EVALUATE DP MODEL m ON SELECT raw FROM digits":                                                   "It has raw",
		"EVALUATE DP MODEL m WITH (price = 5000) ON SELECT raw, label FROM digits":                        "1000 is the most",
		fmt.Sprintf(train, "", "", "small"):                                                               "USING mlp",
		fmt.Sprintf(train, "", "", "flat"):                                                                "USING mlp",
		fmt.Sprintf(train, "", "", "raw, bright"):                                                         "USING mlp",
		fmt.Sprintf(train, "", ", filters = (16)", "raw"):                                                 "filters = (16, 32)",
		fmt.Sprintf(train, "", ", filters = (16, 65)", "raw"):                                             "filters = (16, 32)",
		fmt.Sprintf(train, "", ", temperature = 11", "raw"):                                               "from 0.1 to 10",
		fmt.Sprintf(train, "", ", activation = relu", "raw"):                                              "mlp",
		fmt.Sprintf(train, " METHOD objective_perturbation", "", "raw"):                                   "Leave METHOD out",
		strings.Replace(fmt.Sprintf(train, "", ", filters = (3, 4)", "raw"), "USING cnn", "USING mlp", 1): "cnn",
	} {
		_, err := enginetest.Try(s, sql)
		if e, ok := err.(*sqlerr.Error); !ok || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if enginetest.SpentBy(t, s.Engine) != spent {
		t.Error("something that is refused was charged")
	}
}

// rowsOf gives the bounded rows of a training to use; apart makes each a unit of its own.
func rowsOf(t *testing.T, of *model.Training, apart bool, use func(unit int64, steps []int64) error) {
	t.Helper()
	st, err := sqlgen.UnitRows(of.Analysis, of.Session.Engine.Dialect, of.Features, of.Analysis.MaxRows, 42)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := of.Session.Engine.Backend.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	row := int64(0)
	if err := model.ReadRows(t.Context(), tx, st, func(unit int64, steps []int64) error {
		if row++; apart {
			unit = row
		}
		return use(unit, steps)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestImagesNeighbours: with the same noise, the sum of gradients of a step, over all layers together, differs by at most the clip without the heaviest person, and by nearly all of it. Rows that are clipped one by one, as units of their own, are found.
func TestImagesNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		imagesNeighbours(t, d)
	}
}

func imagesNeighbours(t *testing.T, d dialect.Dialect) {
	const clip = 0.05
	with, without := digitSession(t, d, -1), digitSession(t, d, 7)
	sql := "TRAIN DP MODEL m USING cnn METHOD %s TARGET label WITH (epsilon = 1, steps = 1, filters = (3, 4), hidden = (6), learning_rate = 1, population = 1, clip = 0.05, max_rows_per_unit = %d%s) AS SELECT raw, label FROM digits"
	parameters := func(of *model.Training, s *session.Session, apart bool) (out []float64) {
		c, err := of.Plan.Collect()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Wipe()
		read := *of
		read.Session = s
		rowsOf(t, &read, apart, c.Add)
		m, err := of.Plan.Train(c, audit.Source(77), func(int, int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range m.Convolutions {
			for _, w := range v.Weights {
				out = append(out, w...)
			}
			out = append(out, v.Biases...)
		}
		for _, l := range m.Layers {
			for _, w := range l.Coefficients {
				out = append(out, w...)
			}
			out = append(out, l.Biases...)
		}
		return out
	}
	moved := func(method, more string, rows int, apart bool) float64 {
		of := trainingOf(t, with, fmt.Sprintf(sql, method, rows, more))
		a, b, square := parameters(of, with, apart), parameters(of, without, apart), 0.0
		for j := range a {
			square += (a[j] - b[j]) * (a[j] - b[j])
		}
		return math.Sqrt(square) / clip
	}
	for method, more := range map[string]string{"dp_gd": "", "dp_sgd": ", sampling_rate = 1"} {
		for _, rows := range []int{1, 2} {
			if by := moved(method, more, rows, false); by > 1+1e-6 || by < 0.99 {
				t.Errorf("%s: %s, %d rows: the person moves the sum by %g clips", d, method, rows, by)
			}
		}
	}
	if by := moved("dp_gd", "", 2, true); by < 1.1 {
		t.Errorf("%s: rows that are units of their own: they move the sum by %g clips", d, by)
	}
}

// TestImagesCanceled: a training ends when its client cancels, between rows of a step, and stays charged.
func TestImagesCanceled(t *testing.T) {
	s := digitSession(t, funcs.DuckDB, -1)
	of := trainingOf(t, s, "TRAIN DP MODEL m USING cnn TARGET label WITH ("+small+") AS SELECT raw, label FROM digits")
	c, err := of.Plan.Collect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Wipe()
	rowsOf(t, of, false, c.Add)
	asked := 0
	_, err = of.Plan.Train(c, audit.Source(1), func(int, int) error {
		if asked++; asked > 1 {
			return context.Canceled
		}
		return nil
	})
	if err == nil || asked > 4 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}
