package groups

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestTupleText: types whose text is written without reflection have the same one as all others, which names stored releases.
func TestTupleText(t *testing.T) {
	for _, v := range []sqltype.Value{nil, true, int64(-3), int64(0), "", "a:b;", "é", decimal.RequireFromString("1.50"), decimal.RequireFromString("-0.00"), decimal.New(1, 5), 0.5, sqltype.Days(7), sqltype.Micros(-1)} {
		s := fmt.Sprint(v)
		want := fmt.Sprintf("%T%d:%s;", v, len(s), s)
		if got := TupleText([]sqltype.Value{v, v}); got != want+want {
			t.Errorf("%v: %s, not %s", v, got, want+want)
		}
	}
}
