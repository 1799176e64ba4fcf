package prooftest

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestNormOracle: the second scan's totals are those of a direct computation on the clinic's rows, to the last integer, at every edge.
func TestNormOracle(t *testing.T) {
	ctx := context.Background()
	vectors().Open(t, funcs.Postgres)
	conn, err := pgconn.Connect(ctx, enginetest.SharedServer(t).URL("clinic_vectors"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	raw, err := (&neighbour.Postgres{Conn: conn}).Text(ctx, `select patient_id::int8, kind_id::int8, least(greatest(days, 1), 14)::int8,
		medications is not null, least(greatest(medications, 0), 100)::int8 from public.encounters where patient_id is not null and kind_id between 1 and 4`,
		[]sqltype.Type{sqltype.Int8, sqltype.Int8, sqltype.Int8, sqltype.Bool, sqltype.Int8})
	if err != nil {
		t.Fatal(err)
	}
	type cell struct{ rows, days, values, medications int64 }
	people := map[int64]map[int64]*cell{}
	number := func(v sqltype.Value) int64 { return enginetest.Whole(v).Int64() }
	for _, r := range raw {
		unit, kind := number(r[0]), number(r[1])
		if people[unit] == nil {
			people[unit] = map[int64]*cell{}
		}
		if people[unit][kind] == nil {
			people[unit][kind] = &cell{}
		}
		c := people[unit][kind]
		c.rows, c.days = c.rows+1, c.days+number(r[2])
		if r[3] == true {
			c.values, c.medications = c.values+1, c.medications+number(r[4])
		}
	}
	const most, fine = 4, 256
	partials := map[sensitivity.MeasureKind]func(*cell) int64{ // in parts of steps; the measures of the statement below
		sensitivity.CountRows:   func(c *cell) int64 { return fine * min(most, c.rows) },
		sensitivity.SumValues:   func(c *cell) int64 { return fine * min(most*14, c.days) },
		sensitivity.CountValues: func(c *cell) int64 { return fine * min(most, c.values) },
		sensitivity.CentredSum: func(c *cell) int64 { // about 0, in half steps; of k > m rows m/k toward zero
			x := 2 * c.medications
			if c.values > most {
				x = x * most / c.values
			}
			return fine * x
		},
	}
	for i, d := range append(enginetest.Dialects[:len(enginetest.Dialects):len(enginetest.Dialects)], enginetest.Dialects...) {
		norm := norms[i/len(enginetest.Dialects)]
		s := enginetest.ClinicSession(t, vectors(), d)
		p := normPlanOf(t, s, norm, "select kind_id, count(*), sum(days), avg(medications) from encounters group by 1")
		if n := len(p.Analysis().Measures); n != len(partials) {
			t.Fatalf("%d measures", n)
		}
		units, err := unitsBeyondNorms(p, s.Engine.Backend, nil)
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for e := 0; e < 60; e++ {
			clips := make([]uint64, len(p.Analysis().Choices))
			for i, c := range p.Analysis().Choices {
				clips[i] = c.Edges[min(e, len(c.Edges)-1)]
			}
			want := map[string][]*big.Int{}
			for i, m := range p.Analysis().Measures {
				limit := new(big.Int).SetUint64(clips[m.Bound.Index] * m.Factor)
				beyond := int64(0)
				for _, kinds := range people {
					q := new(big.Int)
					for _, c := range kinds {
						x := big.NewInt(partials[m.Kind](c))
						q.Add(q, x.Exp(x.Abs(x), big.NewInt(int64(norm)), nil))
					}
					scaled := q.Cmp(new(big.Int).Exp(limit, big.NewInt(int64(norm)), nil)) > 0
					if scaled {
						beyond++
						cut++
					}
					r := q
					if norm == sensitivity.L2 { // the print's: never less than the root, at most 2 more
						r = new(big.Int).Sqrt(q)
						if r.Add(r, big.NewInt(2)); d == funcs.Postgres && isSquare(q) {
							r.Sub(r, big.NewInt(1))
						}
					}
					for kind, c := range kinds {
						key := fmt.Sprintf("%T:%v;", int64(0), kind)
						if want[key] == nil {
							for range p.Analysis().Measures {
								want[key] = append(want[key], new(big.Int))
							}
						}
						x := big.NewInt(partials[m.Kind](c))
						if scaled {
							x.Mul(x, limit).Quo(x, r)
						}
						want[key][i].Add(want[key][i], x)
					}
				}
				if c := m.Bound; c.Measure == i && e < len(c.Edges) && units[c.Index][e] != beyond {
					t.Errorf("%s: %d units have a norm beyond %d, the first scan says %d", d, beyond, c.Edges[e], units[c.Index][e])
				}
			}
			got, err := normTotals(p, s.Engine.Backend, clips, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := neighbour.Equal(got, &neighbour.Totals{Groups: want}); err != nil {
				t.Fatalf("%s: at norms %d: %v\n%v\n%v", d, clips, err, got.Groups, want)
			}
		}
		if cut < 400 {
			t.Errorf("only %d vectors are scaled", cut)
		}
	}
}

func isSquare(q *big.Int) bool {
	r := new(big.Int).Sqrt(q)
	return r.Mul(r, r).Cmp(q) == 0
}
