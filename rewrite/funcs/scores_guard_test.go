package funcs

import (
	"context"
	gojson "encoding/json"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestScoresGuards: denormal elements of a wide range from 0 on, and counts whose score is far below -745, do not raise in PostgreSQL.
func TestScoresGuards(t *testing.T) {
	conn := connect(t)
	typ, _ := sqltype.ArrayOf(sqltype.Type{OID: f8, Typmod: -1})
	for _, s := range []Scores{
		{Of: ScoreShare, K: 1, Arrays: []ScoreArray{{Length: 2, Lo: 0, Hi: 1e9, Coefficients: [][]float64{{1e-9, 1e-9}}}}},
		{Of: ScoreCount, K: 1, Lo: 0, Hi: 40, Arrays: []ScoreArray{{Length: 2, Lo: 0, Hi: 1, Coefficients: [][]float64{{-1e4, -1e4}}}}},
	} {
		text, err := gojson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewScores(string(text), []sqltype.OID{f8, typ.OID})
		if err != nil {
			t.Fatal(err)
		}
		for _, array := range []string{"{5e-324,5e-324}", "{1,1}"} {
			x := []string{"''", "CAST(0 AS double precision)", "CAST('" + array + "' AS double precision[])"}
			var out float64
			if err := conn.QueryRow(context.Background(), "SELECT "+f.TotalForm[Postgres](x, nil, sqltype.Float8)).Scan(&out); err != nil {
				t.Errorf("%s of %s: %s", s.Of, array, strings.TrimSpace(err.Error()))
			}
		}
	}
}
