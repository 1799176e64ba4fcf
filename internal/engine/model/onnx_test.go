package model_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

type onnxInput struct {
	Type   string `json:"type"`
	Width  int    `json:"width"`
	Values []any  `json:"values"`
}

// TestONNX: EXPORT AS onnx gives a graph with an input a feature, and in both spellings the same; in onnxruntime (make test-clients) it says of many rows what dp_predict and dp_predict_proba say, also of values beyond their range and outside their domain.
func TestONNX(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 200,")
	const rows = 300
	kinds := map[string]int{}
	for i, sql := range append([]string{
		"TRAIN DP MODEL m USING softmax TARGET readmitted WITH (max_rows_per_unit = 1) AS SELECT days AS value, active AS label, gender, readmitted FROM encounters JOIN patients USING (patient_id)",
		"TRAIN DP MODEL m USING logistic_regression TARGET gender AS SELECT active, ward, gender FROM patients",
	}, trainings...) {
		name := fmt.Sprintf("m%d", i)
		sql = strings.Replace(sql, "MODEL m ", "MODEL "+name+" ", 1)
		if with := "WITH (delta = 1e-9, epsilon = 2"; strings.Contains(sql, "WITH (") {
			sql = strings.Replace(sql, "WITH (", with+", ", 1)
		} else {
			sql = strings.Replace(sql, " AS SELECT", " "+with+") AS SELECT", 1)
		}
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var m *mlext.Model
		var text, model string
		for form, to := range map[string]*string{"json": &text, "onnx_base64": &model} {
			list, err := enginetest.Try(s, "EXPORT DP MODEL "+name+" AS "+form)
			if err != nil {
				t.Fatal(err)
			}
			*to = list[0][0].(string)
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(model)
		if list, err2 := enginetest.Try(s, "EXPORT DP MODEL "+name+" AS onnx"); err != nil || err2 != nil || list[0][0] != sqltype.Bytes(raw) {
			t.Errorf("%s: %v, %v", sql, err, err2)
		}
		inputs := graphInputs(t, raw)
		if len(inputs) != len(m.Features) {
			t.Errorf("%s: inputs %v", sql, inputs)
		}
		kinds[m.Kind]++
		if os.Getenv("DPSQL_CLIENTS") != "" {
			compareONNX(t, s, name, m, inputs, model, rows)
		}
	}
	if len(kinds) != 6 {
		t.Errorf("kinds of models: %v", kinds)
	}
}

// graphInputs are the names of a model's inputs.
func graphInputs(t *testing.T, model []byte) (names []string) {
	t.Helper()
	for _, in := range graphShapes(t, model) {
		names = append(names, in.name)
	}
	return names
}

// onnxShape is an input's name, the type of its elements and how many there are in a row.
type onnxShape struct {
	name        string
	elem, width uint64
}

// graphShapes are a model's inputs.
func graphShapes(t *testing.T, model []byte) (shapes []onnxShape) {
	t.Helper()
	each := func(b []byte, field protowire.Number, use func([]byte)) {
		for len(b) > 0 {
			n, kind, k := protowire.ConsumeTag(b)
			if k < 0 {
				t.Fatal(protowire.ParseError(k))
			}
			b = b[k:]
			if k = protowire.ConsumeFieldValue(n, kind, b); k < 0 {
				t.Fatal(protowire.ParseError(k))
			}
			if n == field {
				v := b[:k]
				if kind == protowire.BytesType {
					v, _ = protowire.ConsumeBytes(v)
				}
				use(v)
			}
			b = b[k:]
		}
	}
	each(model, 7, func(graph []byte) {
		each(graph, 11, func(input []byte) {
			in := onnxShape{}
			each(input, 1, func(name []byte) { in.name = string(name) })
			each(input, 2, func(typ []byte) {
				each(typ, 1, func(tensor []byte) {
					each(tensor, 1, func(n []byte) { in.elem, _ = protowire.ConsumeVarint(n) })
					each(tensor, 2, func(shape []byte) {
						each(shape, 1, func(dim []byte) { each(dim, 1, func(n []byte) { in.width, _ = protowire.ConsumeVarint(n) }) })
					})
				})
			})
			shapes = append(shapes, in)
		})
	})
	return shapes
}

func compareONNX(t *testing.T, s *session.Session, name string, m *mlext.Model, inputs []string, modelName string, rows int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(9, 20))
	given, values, columns := map[string]*onnxInput{}, make([][]string, rows), []string{}
	for i, f := range m.Features {
		in := &onnxInput{Width: max(1, f.Length)}
		given[inputs[i]] = in
		columns = append(columns, fmt.Sprintf("c%d", i+1))
		for r := range rows {
			var v any
			var text string
			switch {
			case f.Length > 0:
				in.Type, text = "float64", drawnArray(rnd, &f, &in.Values)
				values[r] = append(values[r], text)
				continue
			case f.Boolean:
				in.Type, v = "bool", rnd.IntN(2)
				text = fmt.Sprint(v == 1)
			case f.Levels != nil && strings.Contains(f.Type, "int"):
				in.Type, v = "int64", f.Levels[rnd.IntN(len(f.Levels))]
				text = v.(string)
			case f.Levels != nil:
				in.Type, v = "string", f.Levels[rnd.IntN(len(f.Levels))]
				if rnd.IntN(10) == 0 {
					v = "nobody"
				}
				text = "CAST('" + strings.ReplaceAll(v.(string), "'", "''") + "' AS " + f.Type + ")"
			case f.Type == "date":
				days := int(f.Lo) - 100 + rnd.IntN(int(f.Hi-f.Lo)+200)
				in.Type, v, text = "int64", days+10957, fmt.Sprintf("DATE '2000-01-01' + (%d)", days)
			case m.Fill && rnd.IntN(8) == 0:
				in.Type, v, text = "float64", "NaN", "CAST(NULL AS double precision)"
				if strings.HasPrefix(f.Type, "timestamp") {
					text = "CAST(NULL AS timestamp)"
				}
			case strings.HasPrefix(f.Type, "timestamp"):
				x := math.Round(f.Lo + (f.Hi-f.Lo)*(1.4*rnd.Float64()-0.2))
				at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(x) * time.Microsecond)
				in.Type, v, text = "float64", x, "CAST('"+at.Format("2006-01-02 15:04:05.000000")+"' AS timestamp)"
			case !m.Fill && rnd.IntN(8) == 0:
				in.Type, v, text = "float64", "NaN", "CAST('NaN' AS double precision)"
			default:
				x := f.Lo + (f.Hi-f.Lo)*(1.4*rnd.Float64()-0.2)
				in.Type, v, text = "float64", x, fmt.Sprintf("CAST('%g' AS double precision)", x)
			}
			in.Values, values[r] = append(in.Values, v), append(values[r], text)
		}
	}
	list := make([]string, rows)
	for r := range rows {
		list[r] = fmt.Sprintf("(%d, %s)", r, strings.Join(values[r], ", "))
	}
	call := "('" + name + "', " + strings.Join(columns, ", ") + ")"
	asks := "dp_predict" + call
	if m.Kind == "logistic_regression" || m.Kind == "softmax_regression" {
		asks += ", dp_predict_proba" + call
	}
	want, err := enginetest.Try(s, "SELECT "+asks+" FROM (VALUES "+strings.Join(list, ", ")+") AS v(r, "+strings.Join(columns, ", ")+") ORDER BY r")
	if err != nil {
		t.Fatal(err)
	}
	out := runONNX(t, name, modelName, given)
	for r, w := range want {
		isNetwork := strings.HasPrefix(m.Kind, "mlp")
		switch {
		case m.Kind == "linear_regression", m.Kind == "poisson_regression", isNetwork && m.Target.Levels == nil:
			most := 1e-5 * math.Max(1, math.Abs(asNumber(w[0])))
			if isNetwork { // SQL rounds units to a 2^20th of their range
				most = 2e-4 * (m.Target.Hi - m.Target.Lo)
			}
			if g, w := asNumber(out("value")[r]), asNumber(w[0]); math.Abs(g-w) > most {
				t.Fatalf("%s: row %d: %g, dp_predict says %g", name, r, g, w)
			}
			continue
		case m.Kind == "logistic_regression", m.Kind == "softmax_regression":
			if g, w := asNumber(out("probability")[r]), asNumber(w[1]); math.Abs(g-w) > 1e-5 {
				t.Fatalf("%s: row %d: probability %g, dp_predict_proba says %g", name, r, g, w)
			}
		}
		label := out("label")[r]
		if same := label == w[0]; !same && (m.Target.Levels != nil && !m.Target.Boolean || asNumber(label) != asNumber(w[0])) {
			t.Fatalf("%s: row %d: label %v, dp_predict says %v", name, r, label, w[0])
		}
	}
	t.Logf("%s: %s, %d rows alike", name, m.Kind, rows)
}

// runONNX runs a model in onnxruntime for node, and gives its outputs by their names.
func runONNX(t *testing.T, name, model string, given map[string]*onnxInput) func(output string) []any {
	t.Helper()
	text, err := json.Marshal(map[string]any{"model": model, "inputs": given})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "onnx.js")
	cmd.Dir = filepath.Join("..", "..", "..", "cmd", "dpsql", "testdata", "clients", "node")
	cmd.Stdin = bytes.NewReader(text)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	var got map[string][]any
	if err := json.Unmarshal(said, &got); err != nil {
		t.Fatal(err)
	}
	return func(name string) []any {
		for n, v := range got {
			if strings.TrimRight(n, "_") == name {
				return v
			}
		}
		t.Fatalf("no output %s in %v", name, slices.Collect(maps.Keys(got)))
		return nil
	}
}

// asNumber is a value of SQL or of JSON.
func asNumber(v any) float64 {
	switch x := v.(type) {
	case bool:
		if x {
			return 1
		}
		return 0
	case float64:
		return x
	}
	return model.Float(v)
}
