package plan

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestWalked: below an aggregate what a derived column computes counts wherever it is read, through several projections too; lists and texts count by their lengths.
func TestWalked(t *testing.T) {
	list := make([]Scalar, 1000)
	for i := range list {
		list[i] = &Const{Value: int64(i), T: sqltype.Int4}
	}
	inner := &Project{Input: &Scan{}, Items: []Item{{ID: 2, Expr: &In{X: &Col{ID: 1}, List: list}}, {ID: 1, Expr: &Col{ID: 1}}}}
	named := &Project{Input: inner, Items: []Item{{ID: 3, Expr: &Col{ID: 2}}}}
	agg := &Aggregate{Input: named}
	for range 200 {
		agg.Aggs = append(agg.Aggs, AggItem{Filter: &Is{X: &Col{ID: 3}, What: "TRUE"}})
	}
	for want, q := range map[int]Rel{
		1002 + 3:               inner,
		1 + 1005 + 1:           &Filter{Input: inner, Cond: &Col{ID: 2}},
		200*1005 + 1004 + 1006: agg,
		MostWalked + 1:         &Filter{Input: agg, Cond: &Logic{Op: And, Args: []Scalar{&Const{Value: string(make([]byte, 64<<20))}, &Col{ID: 3}}}},
		1 + 1 + 1 + 101 + 501:  &Filter{Input: &Scan{}, Cond: &Logic{Op: And, Args: []Scalar{&Const{Value: string(make([]byte, 6400))}, &Const{Value: &sqltype.Array{Values: make([]sqltype.Value, 500)}}}}},
	} {
		if got := Walked(&Query{Root: q}); got != want {
			t.Errorf("%T: %d, not %d", q, got, want)
		}
	}
}
