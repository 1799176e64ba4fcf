package model_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// drawnArray adds an array's elements to an input, some of them beyond the range or NaN, and gives it as SQL.
func drawnArray(rnd *rand.Rand, f *mlext.Feature, into *[]any) string {
	var raw []byte
	var texts []string
	for range f.Length {
		x := f.Lo + (f.Hi-f.Lo)*(1.4*rnd.Float64()-0.2)
		switch {
		case f.Type == "bytea":
			b := byte(rnd.IntN(256))
			raw, x = append(raw, b), float64(b)
		case strings.HasPrefix(f.Type, "smallint"):
			x = math.Round(x)
		case strings.HasPrefix(f.Type, "real"):
			x = float64(float32(x))
		}
		text := fmt.Sprint(x)
		if isFloat := strings.HasPrefix(f.Type, "real") || strings.HasPrefix(f.Type, "double"); isFloat && rnd.IntN(20) == 0 {
			*into, texts = append(*into, "NaN"), append(texts, "NaN")
			continue
		}
		*into, texts = append(*into, x), append(texts, text)
	}
	if f.Type == "bytea" {
		return fmt.Sprintf(`'\x%x'::bytea`, raw)
	}
	return "CAST('{" + strings.Join(texts, ",") + "}' AS " + f.Type + ")"
}

// drawnModel is one of each feature with coefficients of which nothing is to be learnt.
func drawnModel(rnd *rand.Rand, kind string, target mlext.Feature, features ...mlext.Feature) *mlext.Model {
	m := &mlext.Model{Name: kind, Kind: kind, Method: "dp_gd", Target: target, Features: slices.Clone(features)}
	for i := range features {
		if f := &m.Features[i]; f.Length == 0 && f.Levels == nil && !strings.HasPrefix(kind, "mlp") {
			f.Bins = []float64{f.Lo + (f.Hi-f.Lo)*0.19, f.Lo + (f.Hi-f.Lo)*0.61}
		}
	}
	outputs := 1
	if len(target.Levels) > 2 {
		outputs = len(target.Levels)
	}
	scores := outputs
	if of, activation, ok := strings.Cut(kind, "_"); ok && of == "mlp" {
		m.Kind, scores = "mlp", 4
		for _, l := range [][2]int{{4, 3}, {3, outputs}} {
			layer := mlext.Layer{Activation: activation}
			for range l[1] {
				layer.Biases = append(layer.Biases, rnd.NormFloat64())
				var list []float64
				for range l[0] {
					list = append(list, rnd.NormFloat64())
				}
				layer.Coefficients = append(layer.Coefficients, list)
			}
			m.Layers = append(m.Layers, layer)
		}
	}
	for range scores {
		s := mlext.Score{Intercept: rnd.NormFloat64()}
		for _, f := range m.Features {
			list := make([]float64, max(1, f.Length, len(f.Levels)))
			for i := range list {
				if list[i] = rnd.NormFloat64() / math.Sqrt(float64(len(list))); f.Levels == nil && f.Hi > f.Lo {
					list[i] /= f.Hi - f.Lo
				}
			}
			for range f.Bins {
				list = append(list, rnd.NormFloat64())
			}
			s.Coefficients = append(s.Coefficients, list)
		}
		m.Scores = append(m.Scores, s)
	}
	return m
}

// everyFeature is one of each kind; lists says that there are arrays of numbers.
func everyFeature(lists bool) []mlext.Feature {
	out := []mlext.Feature{
		{Name: "amount", Type: "double precision", Hi: 80, To: 160},
		{Name: "raw", Type: "bytea", Length: 4, Hi: 200, To: 200},
		{Name: "level", Type: "integer", Lo: 2, Hi: 7, From: 2, To: 7},
		{Name: "smokes", Type: "boolean", Boolean: true, Levels: []string{"false", "true"}, To: 1},
		{Name: "ward", Type: "text", Levels: []string{"A", "B's", "C"}, To: 2},
		{Name: "born", Type: "date", Lo: -3000, Hi: 4000, From: -3000, To: 4000},
		{Name: "seen", Type: "timestamp without time zone", Lo: 7300 * 8.64e10, Hi: 9500 * 8.64e10, From: 7300 * 8.64e10, To: 9500 * 8.64e10},
	}
	if lists {
		out = append(out, mlext.Feature{Name: "wave", Type: "real[]", Length: 3, Lo: -1, Hi: 1, To: session.ElementSteps}, mlext.Feature{Name: "curve", Type: "double precision[]", Length: 5, Lo: -30, Hi: 1e4, To: session.ElementSteps},
			mlext.Feature{Name: "counts", Type: "smallint[]", Length: 2, Lo: -5, Hi: 9, From: -5, To: 9})
	}
	return out
}

// everyKind is a target of each kind of model.
func everyKind() map[string]mlext.Feature {
	two := mlext.Feature{Name: "y", Type: "boolean", Boolean: true, Levels: []string{"false", "true"}, To: 1}
	return map[string]mlext.Feature{
		"logistic_regression": two, "svm": two, "softmax_regression": {Name: "y", Type: "text", Levels: []string{"a", "b's", "c"}, To: 2},
		"mlp_tanh": two, "mlp_relu": {Name: "y", Type: "text", Levels: []string{"a", "b's", "c"}, To: 2}, "mlp_elu": {Name: "y", Type: "double precision", Lo: -4, Hi: 9, From: -8, To: 18},
		"linear_regression": {Name: "y", Type: "double precision", Lo: -4, Hi: 9, From: -8, To: 18}, "poisson_regression": {Name: "y", Type: "integer", Hi: 20, To: 20},
	}
}

// TestONNXArrays: a model over arrays beside features of every other kind has a matrix as input for each array, and says in onnxruntime (make test-clients) what dp_predict says; NaN is the middle of a number's range where the model was trained so.
func TestONNXArrays(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := drawnDigits(3, 2).session(t, d)
		rnd := rand.New(rand.NewPCG(4, 20)) //nolint:gosec // a fixed seed
		targets := everyKind()
		for _, kind := range slices.Sorted(maps.Keys(targets)) {
			target := targets[kind]
			m := drawnModel(rnd, kind, target, everyFeature(d == funcs.Postgres)...)
			m.Fill = kind == "logistic_regression" || kind == "linear_regression"
			enginetest.KeepModel(t, s.Engine, m)
			list, err := enginetest.Try(s, "EXPORT DP MODEL "+kind+" AS onnx_base64")
			if err != nil {
				t.Fatal(err)
			}
			model := list[0][0].(string)
			raw, err := base64.StdEncoding.DecodeString(model)
			if err != nil {
				t.Fatal(err)
			}
			shapes := graphShapes(t, raw)
			for i, f := range m.Features {
				if in := shapes[i]; in.name != f.Name || in.width != uint64(max(1, f.Length)) || f.Length > 0 && in.elem != 11 {
					t.Errorf("%s: %s: input %+v of %s", d, kind, in, f.Name)
				}
			}
			if os.Getenv("DPSQL_CLIENTS") != "" {
				compareONNX(t, s, kind, m, graphInputs(t, raw), model, 200)
			}
		}
	}
}
