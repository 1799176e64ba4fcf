package claims

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect/duckdb"
	"github.com/dpsql/dpsql/rewrite/dialect/postgres"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// TestAggregateFacts: the table of aggregates and the statistics here name the same, a dialect computes within a person's rows only what does not depend on their order, and an aggregate that has a row and no formula is refused.
func TestAggregateFacts(t *testing.T) {
	for fn, facts := range plan.Aggregates {
		if _, is := statistics[fn]; is != facts.IsStatistic || facts.IsProportional && !is {
			t.Errorf("%s: a row here: %v, in the table: %+v", fn, is, facts)
		}
	}
	for fn := range statistics {
		if _, is := plan.Aggregates[fn]; !is {
			t.Errorf("%s has no row", fn)
		}
	}
	for _, list := range [][]string{postgres.Dialect.Facts().UnitAggregates, duckdb.Dialect.Facts().UnitAggregates} {
		for _, fn := range list {
			if !plan.AggFunc(fn).Facts().IsOfUnit {
				t.Errorf("%s is computed within a person's rows", fn)
			}
		}
	}
	plan.Aggregates["planted"] = plan.AggFacts{}
	defer delete(plan.Aggregates, "planted")
	z := NewMeasurer(groups.NewGrouper(unit.NewLinker(t.Context(), &plan.Query{}, &plan.Aggregate{}, sensitivity.Options{})))
	if f, err := z.formula(plan.AggItem{Fn: "planted", Arg: &plan.Const{T: sqltype.Int8}}, nil); err == nil {
		t.Errorf("an aggregate without a formula has %+v", f)
	}
}
