package funcs

import (
	"context"
	"database/sql"
	gojson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// matrix is random, of so many rows.
func matrix(r *rand.Rand, rows, columns int, scale float64) (out [][]float64) {
	for range rows {
		list := make([]float64, columns)
		for j := range list {
			list[j] = scale * r.NormFloat64()
		}
		out = append(out, list)
	}
	return out
}

// someNetwork has so many inputs, five bytes where bytes is set, and layers of 4 and 3 units and k scores.
func someNetwork(r *rand.Rand, of, activation string, inputs, k int, bytes bool, scale float64) Scores {
	lo, hi := -1.0, 1.0
	switch activation {
	case ActivationRelu:
		lo, hi = 0, 64
	case ActivationElu:
		hi = 64
	}
	s := Scores{Of: of, K: k, Inputs: inputs, Biases: matrix(r, 1, 4, scale)[0], Lo: 0, Hi: 40, Bins: 10}
	if inputs > 0 {
		s.Arrays = append(s.Arrays, ScoreArray{Length: inputs, Hi: 1, Coefficients: matrix(r, 4, inputs, scale)})
	}
	if bytes {
		s.Arrays = append(s.Arrays, ScoreArray{Length: 5, Hi: 255, Coefficients: matrix(r, 4, 5, scale/100)})
	}
	for _, l := range [][2]int{{4, 3}, {3, k}} {
		s.Layers = append(s.Layers, ScoreLayer{Activation: activation, Lo: lo, Hi: hi, Biases: matrix(r, 1, l[1], scale)[0], C: matrix(r, l[1], l[0], scale)})
	}
	return s
}

// plain are the scores by loops, without a grid.
func (s *Scores) plain(inputs []float64, bytes []byte) []float64 {
	z := slices.Clone(s.Biases)
	var elements [][]float64
	if s.Inputs > 0 {
		elements = append(elements, inputs)
	}
	if bytes != nil {
		var list []float64
		for _, b := range bytes {
			list = append(list, float64(b))
		}
		elements = append(elements, list)
	}
	for i, list := range elements {
		for j := range z {
			for e, v := range list {
				z[j] += s.Arrays[i].Coefficients[j][e] * v
			}
		}
	}
	for _, l := range s.Layers {
		next := slices.Clone(l.Biases)
		for i, v := range z {
			switch {
			case l.Activation == ActivationTanh:
				v = math.Tanh(v)
			case v < 0 && l.Activation == ActivationElu:
				v = math.Exp(v) - 1
			case v < 0:
				v = 0
			}
			for j := range next {
				next[j] += l.C[j][i] * math.Min(v, l.Hi)
			}
		}
		z = next
	}
	return z
}

// TestScoresOfNetworks: PostgreSQL, DuckDB and Go say the same of a network's scores, whatever the inputs are, none raises, and it is what loops over the layers say.
func TestScoresOfNetworks(t *testing.T) {
	conn, r := connect(t), rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a fixed seed
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close()
	kinds := []struct {
		of string
		k  int
	}{{ScoreClass, 1}, {ScoreClass, 3}, {ScoreShare, 1}, {ScoreShare, 3}, {ScoreLoss, 1}, {ScoreLoss, 3}, {ScoreOdds, 1}, {ScoreSure, 3}, {ScoreValue, 1}, {ScoreCount, 1}}
	for i, kind := range kinds {
		for at, activation := range []string{ActivationTanh, ActivationRelu, ActivationElu} {
			inputs, bytes, scale := 3, (i+at)%2 == 0, 1.0
			if at == i%3 && bytes {
				inputs = 0
			}
			if i%4 == 3 {
				scale = 1e100
			}
			what := someNetwork(r, kind.of, activation, inputs, kind.k, bytes, scale)
			text, err := gojson.Marshal(what)
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Repeat([]sqltype.OID{f8}, inputs)
			if kind.of == ScoreLoss {
				args = append(args, i4)
			}
			if bytes {
				args = append(args, blob)
			}
			f, err := NewScores(string(text), args)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]sqltype.Value{{0.25, 1.0, 0.0}, {0.0, 0.0, 0.0}, {1.0, 0.3, 0.7}, {math.Inf(1), math.Inf(-1), math.NaN()}, {1e300, -1e300, 5e-324}, {0.5, nil, 0.5}} {
				values, there := []sqltype.Value{""}, true
				pg, dk := []string{""}, []string{""}
				var numbers []float64
				for _, v := range list[:inputs] {
					printed := "CAST(NULL AS double precision)"
					if v != nil {
						printed = "CAST('" + sqltype.FormatText(v, sqltype.Float8) + "' AS double precision)"
						x := v.(float64)
						if math.IsNaN(x) {
							x = 1
						}
						numbers = append(numbers, math.Max(0, math.Min(1, x)))
					}
					there = there && v != nil
					values, pg, dk = append(values, v), append(pg, printed), append(dk, printed)
				}
				if kind.of == ScoreLoss {
					values, pg, dk = append(values, int64(min(2, kind.k))), append(pg, fmt.Sprint(min(2, kind.k))), append(dk, fmt.Sprint(min(2, kind.k)))
				}
				var raw []byte
				if bytes {
					raw = []byte{1, 200, 255, 0, 17}
					values, pg, dk = append(values, sqltype.Bytes(raw)), append(pg, `CAST('\x01c8ff0011' AS bytea)`), append(dk, "(from_hex('01c8ff0011'))")
				}
				name := fmt.Sprintf("%s of %d, %s, %d inputs %v, bytes %t", kind.of, kind.k, activation, inputs, list, bytes)
				say := func(d dialect.Dialect, x []string) string {
					return "SELECT CAST(" + f.TotalForm.Print(d, x, nil, sqltype.Type{OID: f.Result, Typmod: -1}) + " AS double precision)"
				}
				var got, rows *float64
				var other sql.NullFloat64
				if err := conn.QueryRow(context.Background(), say(Postgres, pg)).Scan(&got); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				written := mostTerms
				mostTerms = 0
				err := conn.QueryRow(context.Background(), say(Postgres, pg)).Scan(&rows)
				if mostTerms = written; err != nil || (got == nil) != (rows == nil) || got != nil && *got != *rows {
					t.Errorf("%s: written out %v, of rows %v, %v", name, got, rows, err)
				}
				if err := duck.QueryRow(say(DuckDB, dk)).Scan(&other); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !there {
					if got != nil || other.Valid {
						t.Errorf("%s: %v, %v for NULL", name, got, other)
					}
					continue
				}
				own, err := f.Eval(values, nil, sqltype.Type{})
				if err != nil || got == nil || !other.Valid || own == nil || math.Abs(*got-other.Float64) > 1e-9 || math.Abs(asFloat(own)-*got) > 1e-9 {
					t.Errorf("%s: Go %v, %v, PostgreSQL %v, DuckDB %v", name, own, err, got, other)
					continue
				}
				if x := f.Range([]*num.Interval{}, nil); *got < x.Lo.InexactFloat64() || *got > x.Hi.InexactFloat64() {
					t.Errorf("%s: %g is outside of %s to %s", name, *got, x.Lo, x.Hi)
				}
				if scale > 1 {
					continue
				}
				z := what.plain(numbers, raw)
				c := scoreCase{Scores{Of: kind.of, K: kind.k, Bins: 10, Arrays: []ScoreArray{{Coefficients: make([][]float64, kind.k)}}}, blob, kind.k}
				var scores []sqltype.Value
				for _, v := range z {
					scores = append(scores, v)
				}
				if want := c.loop(scores, nil); math.Abs(want-*got) > 1e-3 {
					t.Errorf("%s: %g, want %g of %v", name, *got, want, z)
				}
			}
		}
	}
}

// TestScoresOfBadNetworks: texts that are no network, and arguments that are not its, are refused.
func TestScoresOfBadNetworks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // a fixed seed
	for name, change := range map[string]func(s *Scores){
		"another activation":       func(s *Scores) { s.Layers[0].Activation = "sin" },
		"a layer too few":          func(s *Scores) { s.Layers = s.Layers[:1] },
		"no layer":                 func(s *Scores) { s.Layers = nil },
		"another number of scores": func(s *Scores) { s.K++ },
		"a bias too few":           func(s *Scores) { s.Biases = s.Biases[1:] },
		"a bias beyond bounds":     func(s *Scores) { s.Layers[0].Biases[0] = 1e295 },
		"a coefficient too few":    func(s *Scores) { s.Layers[0].C[0] = s.Layers[0].C[0][1:] },
		"more inputs":              func(s *Scores) { s.Inputs++ },
		"no inputs":                func(s *Scores) { s.Inputs = 0 },
		"an empty range":           func(s *Scores) { s.Layers[0].Lo = s.Layers[0].Hi },
		"no array":                 func(s *Scores) { s.Arrays = nil },
	} {
		s := someNetwork(r, ScoreClass, ActivationTanh, 3, 2, false, 1)
		text, err := gojson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewScores(string(text), []sqltype.OID{f8, f8, f8}); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]sqltype.OID{{f8, f8}, {f8, f8, i4}, {f8, f8, f8, f8}, {}, {f8, f8, f8, blob}} {
			if _, err := NewScores(string(text), args); err == nil {
				t.Errorf("arguments %v are taken", args)
			}
		}
		change(&s)
		if text, err = gojson.Marshal(s); err != nil {
			t.Fatal(err)
		}
		if _, err := NewScores(string(text), slices.Repeat([]sqltype.OID{f8}, max(0, s.Inputs))); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
