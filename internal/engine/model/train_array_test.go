package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// imageSession is ann's over images of 2 x 2: of each form in which a backend holds them, with values beyond their range, NULL, NaN and other lengths. left[i] of one person are with the class, the others without.
func imageSession(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: images.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/images"}`}[d]
	columns, more := ", i smallint[], f double precision[]", ", i: {shape: [2, 2], range: [0, 10]}, f: {shape: [4], range: [-1, 1]}"
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY, y boolean, raw bytea%s)", "CREATE TABLE takes (id int REFERENCES people, y boolean, raw bytea%s)"}
	if d == funcs.DuckDB { // of a length, and of numbers that no array of PostgreSQL has
		columns, more = columns+", e FLOAT[4], b BIGINT[]", more+", e: {shape: [2, 2], range: [-1, 1]}, b: {shape: [4], range: [0, 10]}"
	}
	for i := range statements {
		statements[i] = fmt.Sprintf(statements[i], columns)
	}
	blob := func(b ...byte) string {
		if d == funcs.Postgres {
			return fmt.Sprintf(`'\x%x'::bytea`, b)
		}
		return fmt.Sprintf(`from_hex('%x')`, b)
	}
	add := func(table string, id int, y bool, raw, i, f string) {
		row := fmt.Sprintf("%d, %t, %s", id, y, raw)
		if d == funcs.Postgres {
			row += ", " + i + ", " + f
		} else {
			list := strings.NewReplacer("{{1,1},{1,1}}", "[1,1,1,1,1]", "{", "[", "}", "]")
			whole := list.Replace(f)
			if strings.Count(whole, ",") != 3 {
				whole = "NULL"
			}
			row += ", " + list.Replace(i) + ", " + list.Replace(f) + ", " + whole + ", " + list.Replace(i)
		}
		statements = append(statements, "INSERT INTO "+table+" VALUES ("+row+")")
	}
	for id := range 300 {
		switch id % 10 {
		case 8:
			add("people", id, true, "NULL", "NULL", "'{NaN,Infinity,-Infinity,0}'")
		case 9:
			add("people", id, false, blob(1, 2, 3), "'{1,2,NULL,3}'", "'{{1,1},{1,1}}'")
		default:
			if id%2 == 0 {
				add("people", id, true, blob(250, byte(id), 3, 255), "'{30000,0,0,9}'", "'{1e300,0,0,1}'")
			} else {
				add("people", id, false, blob(3, byte(id), 250, 9), "'{-7,0,10,1}'", "'{-1,0,1,-0.5}'")
			}
		}
		for take := range id % 3 {
			add("takes", id, id%2 == 0, blob(byte(200*(1-id%2)+take), 0, 0, 0), fmt.Sprintf("'{%d,0,0,0}'", 9*(1-id%2)), "'{0,0,0,0}'")
		}
	}
	p, err := policy.Parse("images.yaml", []byte("dataset: images\nbackend: "+uri+"\nunit: people.id\npopulation: 300\ntables:\n  people:\n    columns: {id: {}, y: {}, raw: {shape: [2, 2]}"+more+"}\n"+
		"  takes:\n    unit: id -> people.id\n    max_rows_per_unit: 2\n    columns: {id: {}, y: {}, raw: {shape: [2, 2]}"+more+"}\n"+
		"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 1, delta: 1e-9}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people, takes], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, "images", statements, p)
}

// TestTrainArrays: an array of a declared shape is as many features, each within its range; a row whose array is NULL, of another length or dimension, or with NULL in it is left out; what is learnt predicts from columns and from literals.
func TestTrainArrays(t *testing.T) {
	const delta = " (epsilon = 50, delta = 1e-8) AS SELECT "
	for _, d := range enginetest.Dialects {
		s := imageSession(t, d)
		for column, rows := range map[string]int{"raw": 240, "i": 240, "f": 270, "e": 270, "b": 240} {
			if d == funcs.Postgres && (column == "e" || column == "b") {
				continue
			}
			for _, from := range []string{"people", "takes"} {
				sql := "TRAIN DP MODEL " + column + from + " USING logistic_regression TARGET y WITH" + delta + column + ", y FROM " + from
				if column == "i" {
					sql = strings.Replace(sql, "SELECT i, y", "SELECT x.i, x.y", 1) + " AS x"
				}
				read := 0
				tr := trainingOf(t, s, sql)
				tx, err := s.Engine.Backend.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				st, err := sqlgen.UnitRows(tr.Analysis, s.Engine.Dialect, tr.Features, tr.Analysis.MaxRows, 0)
				if err != nil {
					t.Fatal(err)
				}
				err = model.ReadRows(t.Context(), tx, st, func(_ int64, steps []int64) error {
					read++
					for j, n := range steps[:4] {
						if f := tr.Plan.Features[0]; n < f.From || n > f.To {
							t.Errorf("%s: element %d of %s is %d", d, j, column, n)
						}
					}
					return nil
				})
				tx.Close()
				if err != nil || from == "people" && read != rows || from == "takes" && read != 300 {
					t.Errorf("%s: of %s %d rows of %s are read, %v", d, from, read, column, err)
				}
				if _, err := enginetest.Try(s, sql); err != nil {
					t.Fatalf("%s: %s: %v", d, sql, err)
				}
			}
		}
		literal := map[dialect.Dialect]string{funcs.Postgres: `'\xfa0003ff'::bytea`, funcs.DuckDB: `'\xfa0003ff'::bytea`}[d]
		rows, err := enginetest.Try(s, "SELECT dp_predict('rawpeople', "+literal+`), dp_predict('rawpeople', '\x0300fa09'::bytea), dp_predict('rawpeople', '\x03'::bytea)`)
		if err != nil || fmt.Sprint(rows[0]) != fmt.Sprint([]sqltype.Value{true, false, nil}) {
			t.Errorf("%s: predicts %v, %v", d, rows, err)
		}
		rows, err = enginetest.Try(s, "SELECT avg(CASE WHEN dp_predict('rawpeople', raw) = y THEN 1 ELSE 0 END) FROM people WHERE raw IS NOT NULL")
		if err != nil || model.Float(rows[0][0]) < 0.8 {
			t.Errorf("%s: predicts its own rows %v, %v", d, rows, err)
		}
		rows, err = enginetest.Try(s, "EVALUATE DP MODEL rawpeople WITH (epsilon = 100) ON SELECT raw, y FROM people")
		told := map[string]string{}
		for _, r := range rows {
			told[r[0].(string)] = r[1].(string)
		}
		var accuracy float64
		if _, fails := fmt.Sscan(told["accuracy"], &accuracy); err != nil || fails != nil || accuracy < 0.9 || told["AUC"] == "" {
			t.Errorf("%s: is evaluated as %v, %v", d, rows, err)
		}
		rows, err = enginetest.Try(s, "SELECT dp_predict('ipeople', ARRAY[9, 0, 0, 9]), dp_predict('ipeople', ARRAY[0, 0, 10, 1]), dp_predict('fpeople', '{1,0,0,1}'), dp_predict('fpeople', ARRAY[-1, 0, 1, -0.5])")
		if err != nil || fmt.Sprint(rows[0]) != fmt.Sprint([]sqltype.Value{true, false, true, false}) {
			t.Errorf("%s: predicts %v, %v", d, rows, err)
		}
		for _, column := range []string{"i", "f", "e", "b"} {
			if d == funcs.Postgres && (column == "e" || column == "b") {
				continue
			}
			for _, sql := range []string{
				"SELECT avg(dp_predict_proba('" + column + "people', " + column + ")) FROM people",
				"SELECT avg(dp_predict_proba('" + column + "people', x." + column + ")) FROM (SELECT " + column + ", y FROM people) AS x WHERE x." + column + " IS NOT NULL AND y",
				"SELECT count(*) FROM people WHERE dp_predict('" + column + "people', " + column + ") AND " + column + " IS NOT NULL",
				"SELECT count(*) FROM people WHERE dp_predict('" + column + "people', '{1,0,0,1}') AND dp_predict('" + column + "people', ARRAY[-1, 0, 1, -0.5])",
				"EVALUATE DP MODEL " + column + "people ON SELECT " + column + ", y FROM people",
			} {
				if _, err := enginetest.Try(s, sql); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}
		}
		if d == funcs.DuckDB {
			for _, sql := range []string{
				"SELECT count(i) FROM people", "SELECT i, count(*) FROM people GROUP BY 1", "SELECT count(DISTINCT f) FROM people", "SELECT count(*) FROM people WHERE i = f", "SELECT count(*) FROM people WHERE i[1] = 2",
				"SELECT sum(i[1]) FROM people", "SELECT count(*) FROM people JOIN takes USING (i)", "SELECT count(*) FROM (SELECT DISTINCT i FROM people) AS x", "SELECT count(*) FROM people WHERE 1 = ANY (i)",
				"SELECT count(*) FROM (SELECT i, dp_predict('ipeople', i) AS p FROM people GROUP BY 1, 2) AS x", "SELECT count(*) FROM people WHERE cardinality(i) = 4", "SELECT min(i) FROM people", "SELECT count(*) FROM people WHERE i::text = '{}'",
				"SELECT avg(dp_predict_proba('ipeople', CASE WHEN y THEN i ELSE b END)) FROM people", "SELECT count(*) FROM people WHERE (i, id) IN (SELECT i, id FROM takes)", "SELECT count(*) FROM people WHERE i IS DISTINCT FROM f",
			} {
				if _, err := enginetest.Try(s, sql); err == nil || sqlerr.ID(err) == sqlerr.Internal.ID || sqlerr.ID(err) == sqlerr.ResourceFailure.ID {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}
		}
		for sql, says := range map[string]string{
			"TRAIN DP MODEL m USING linear TARGET raw AS SELECT y, raw FROM people":                       "is an array",
			"TRAIN DP MODEL m USING logistic TARGET y AS SELECT y, substr(raw, 1, 2) AS part FROM people": "no shape",
		} {
			if _, err := enginetest.Try(s, sql); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}
