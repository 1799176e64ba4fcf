package sqlgen_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestPrint holds the printed statements: private (groups= sets the cap), the leaves or distinct values of its first measure, and public, for one dialect or both.
func TestPrint(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			groups := uint64(4)
			if d.HasArg("groups") {
				d.ScanArgs(t, "groups", &groups)
			}
			var b strings.Builder
			for _, dialect := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
				var st *sqlgen.Statement
				var err error
				switch d.Cmd {
				case "private":
					st, err = sqlgen.Private(neighbour.Analyze(t, d.Input, neighbour.InsideClinic, groups), dialect, 42)
				case "pairs":
					st, err = sqlgen.Private(analyzeShop(t, d.Input), dialect, 42)
				case "joined", "truncate", "weighted":
					st, err = sqlgen.Private(analyzeJoined(t, d.Input, d.Cmd), dialect, 42)
				case "frequencies":
					st, err = sqlgen.Frequencies(analyzeJoined(t, d.Input, d.Cmd), dialect, 42)
				case "leaves":
					a := neighbour.Analyze(t, d.Input, neighbour.InsideClinic, groups)
					st, err = sqlgen.TreeLeaves(a, dialect, 0, sqlgen.Kept{Rows: a.Measures[0].PerGroup, Groups: a.Limit.PerUnit}, 42)
				case "distinct":
					a := neighbour.Analyze(t, d.Input, neighbour.InsideClinic, groups)
					st, err = sqlgen.Distinct(a, dialect, 0, sqlgen.Kept{Rows: a.Measures[0].PerGroup, Groups: a.Limit.PerUnit}, 42)
				default:
					st, err = sqlgen.PublicQuery(neighbour.BindText(t, d.Input, neighbour.ClinicCatalog()), dialect)
				}
				fmt.Fprintf(&b, "-- %s\n", dialect)
				if err != nil {
					fmt.Fprintln(&b, err)
					continue
				}
				b.WriteString(layout(st.SQL) + "\n")
				if dialect == funcs.DuckDB {
					continue // arguments and columns are those above
				}
				for i, a := range st.Args {
					fmt.Fprintf(&b, "$%d = %v %s %d\n", i+1, a.Value, a.Type, a.Param)
				}
				for _, c := range st.Columns {
					fmt.Fprintf(&b, "%s %d %s\n", c.Role, c.Index, c.Type)
				}
			}
			return b.String()
		})
	})
}

// layout breaks the one line that is printed where a reader would.
func layout(sql string) string {
	for _, w := range []string{" FROM ", " WHERE ", " GROUP BY ", " INNER JOIN ", " LEFT JOIN ", " CROSS JOIN ", " ORDER BY ", ", pg_catalog.sum(", ", sum("} {
		sql = strings.ReplaceAll(sql, w, "\n "+w[1:])
	}
	return sql
}

var (
	scanForm   = regexp.MustCompile(`"public"\."(\w+)" AS "(t\d+)"`)
	exported   = regexp.MustCompile(`"(t\d+)"\."(\w+)" AS "(c\d+)"`)
	typedForm  = regexp.MustCompile(`string_to_array\("\w+"\."\w+", '[^']*'|(rtrim\([^']*|ESCAPE )'\\'|(int8|float8|float4|numeric) '[^']*'|(date_trunc|date_part)\('\w+'|'-?infinity'|'\{-?\d[\d,-]*\}'|'\d{4,6}-\d\d-\d\d[^']*'`) // of total forms, and edges of buckets: no analyst's values
	fieldForm  = regexp.MustCompile(`EXTRACT\(\w+ FROM`)
	colEqual   = regexp.MustCompile(`"(t\d+)"\."(\w+)" = "(t\d+)"\."(\w+)"`)
	ownLetters = regexp.MustCompile(`''|'[NHV: ]'|CAST\('(1e100000|NaN)'`)                                              // of the print's own
	partsForm  = regexp.MustCompile(`^(VALUES (\(-?\d+\)(, )?)+\)|(ROWS FROM \()?pg_catalog\.unnest\(CAST\(\$\d+ AS )`) // parts of a histogram; released rows (rule 4)
	fromForm   = regexp.MustCompile(`(?:FROM|JOIN) (?:LATERAL )?\(*`)
)

// TestScaleRules checks scale.md's rules 2 to 4 on every printed PostgreSQL statement, so that a distributed backend goes on
// working: unit equalities are in the joins, group totals stand over one subquery without WITH, values travel as parameters.
func TestScaleRules(t *testing.T) {
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly) {
		for _, groups := range []uint64{1, 4} {
			st, err := sqlgen.Private(neighbour.Analyze(t, sql, neighbour.InsideClinic, groups), funcs.Postgres, 42)
			if err != nil {
				t.Fatal(err)
			}
			for _, broken := range scaleRules(st.SQL, neighbour.ClinicCatalog()) {
				t.Errorf("%s: %s\n%s", sql, broken, st.SQL)
			}
		}
	}
	for _, bad := range []string{
		`WITH x AS (SELECT 1) SELECT 1`,
		`SELECT count(*) FROM "public"."labs" AS "t1" INNER JOIN "public"."encounters" AS "t2" ON "t1"."encounter_id" = "t2"."encounter_id"`,
		`SELECT count(*) FROM "public"."labs" AS "t1" WHERE "t1"."x" = 'text'`,
		`SELECT count(*) FROM "labs" AS "t1"`,
	} {
		if len(scaleRules(bad, neighbour.ClinicCatalog())) == 0 {
			t.Errorf("the rules see nothing wrong in %s", bad)
		}
	}
}

// TestScaleRulesOfShapes: shapes within each person's rows are printed by these rules, too.
func TestScaleRulesOfShapes(t *testing.T) {
	for _, sql := range slices.Concat(neighbour.Shapes, neighbour.Ties) {
		st, err := sqlgen.Private(neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4), funcs.Postgres, 42)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range scaleRules(st.SQL, neighbour.ClinicCatalog()) {
			t.Errorf("%s: %s\n%s", sql, broken, st.SQL)
		}
	}
}

func scaleRules(sql string, cat plan.Catalog) []string {
	sql, pieces := apart(sql)
	out := levelRules(sql, cat)
	for _, p := range pieces {
		out = append(out, scaleRules(p, cat)...)
	}
	return out
}

var derivedForm = regexp.MustCompile(`\) AS "(t\d+)"`)

// apart takes the relations out that are made within a unit's rows, or of public tables: sides of set operations and aggregates.
func apart(sql string) (string, []string) {
	var pieces []string
	for at := 0; ; {
		m := derivedForm.FindStringIndex(sql[at:])
		if m == nil {
			return sql, pieces
		}
		end := at + m[0]
		start, depth := end-1, 1
		for ; start >= 0; start-- {
			if sql[start] == ')' {
				depth++
			} else if sql[start] == '(' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		at += m[1]
		inner := sql[start+1 : end]
		switch {
		case strings.HasPrefix(inner, "VALUES "):
		case strings.HasPrefix(inner, "SELECT ") && strings.Contains(inner, " GROUP BY "):
			pieces = append(pieces, inner)
		case strings.HasPrefix(inner, "(SELECT "):
			pieces = append(pieces, regexp.MustCompile(`\) (?:UNION|EXCEPT|INTERSECT)(?: ALL)? \(`).Split(inner[1:len(inner)-1], -1)...)
		default:
			continue
		}
		sql, at = sql[:start]+`"public"."derived"`+sql[end+1:], start
	}
}

func levelRules(sql string, cat plan.Catalog) []string {
	var out []string
	group, unit := map[string]string{}, map[string]string{}
	for _, m := range scanForm.FindAllStringSubmatch(sql, -1) {
		if tab, ok := cat.Table("", m[1]); ok && !tab.Public && tab.UnitCol >= 0 {
			group[m[2]], unit[m[2]] = m[2], tab.Columns[tab.UnitCol].Name
		}
	}
	sql = fieldForm.ReplaceAllString(typedForm.ReplaceAllString(unexport(sql, unit), "0"), "(")
	for _, m := range colEqual.FindAllStringSubmatch(sql, -1) { // rule 2
		if unit[m[1]] != m[2] || unit[m[3]] != m[4] {
			continue
		}
		from, to := group[m[1]], group[m[3]]
		for k, v := range group {
			if v == from {
				group[k] = to
			}
		}
	}
	first := ""
	for _, v := range group {
		if first == "" {
			first = v
		}
		if v != first {
			out = append(out, "a join without the equality of the unit's columns")
		}
	}
	if regexp.MustCompile(`(?i)\bWITH\b|GROUPING|ROLLUP|CUBE`).MatchString(sql) || strings.Count(sql, "GROUP BY") > 2 { // rule 3
		out = append(out, "no group totals over one subquery")
	}
	if strings.Contains(ownLetters.ReplaceAllString(sql, ""), "'") || regexp.MustCompile(`(?i)TEMP|CREATE|INTO`).MatchString(sql) { // rule 4
		out = append(out, "a value that is no parameter "+regexp.MustCompile(`'[^']*'`).FindString(ownLetters.ReplaceAllString(sql, "")))
	}
	for _, at := range fromForm.FindAllStringIndex(sql, -1) {
		if rest := sql[at[1]:]; !strings.HasPrefix(rest, `"public".`) && !strings.HasPrefix(rest, "SELECT ") && !partsForm.MatchString(rest) {
			out = append(out, "a table without its schema")
		}
	}
	return out
}

// unexport names the unit's column where a subquery passes it on.
func unexport(sql string, unit map[string]string) string {
	for _, m := range exported.FindAllStringSubmatchIndex(sql, -1) {
		table, column := sql[m[2]:m[3]], sql[m[4]:m[5]]
		if unit[table] != column {
			continue
		}
		depth, end := 1, m[1]
		for ; end < len(sql) && depth > 0; end++ {
			switch sql[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		rest, ok := strings.CutPrefix(sql[end:], ` AS "`)
		alias, _, _ := strings.Cut(rest, `"`)
		if ok {
			return unexport(strings.Replace(strings.ReplaceAll(sql, fmt.Sprintf(`"%s"."%s"`, alias, sql[m[6]:m[7]]), fmt.Sprintf(`"%s"."%s"`, table, column)),
				sql[m[0]:m[1]], "1", 1), unit)
		}
	}
	return sql
}

// TestNoUnnoisedPrint: nothing that the package exports prints a private table without its bounds.
func TestNoUnnoisedPrint(t *testing.T) {
	for _, sql := range append([]string{"select * from encounters", "select k.label from kinds k left join encounters e on true"}, neighbour.Statements...) {
		for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
			if st, err := sqlgen.PublicQuery(neighbour.BindText(t, sql, neighbour.ClinicCatalog()), d); err == nil {
				t.Errorf("%s is printed: %s", sql, st.SQL)
			}
			if st, err := sqlgen.Finishing(neighbour.BindText(t, sql, neighbour.ClinicCatalog()), nil, nil, d); err == nil {
				t.Errorf("%s is printed as computed from releases: %s", sql, st.SQL)
			}
		}
	}
	cat := neighbour.ClinicCatalog()
	for _, table := range cat.Tables {
		if _, err := sqlgen.DistinctTuples(table, []int{0}, 10, funcs.Postgres); (err == nil) != table.Public {
			t.Errorf("distinct values of %s: %v", table.Name, err)
		}
		if _, err := sqlgen.MostOften(&plan.Scan{Table: table, Columns: make([]plan.ColID, len(table.Columns))}, nil, funcs.Postgres); (err == nil) != table.Public {
			t.Errorf("how often values of %s occur: %v", table.Name, err)
		}
	}
	if _, err := sqlgen.Private(&sensitivity.Analysis{}, funcs.Postgres, 0); err == nil {
		t.Error("an empty analysis is printed")
	}
	if _, err := sqlgen.Private(neighbour.Analyze(t, "select count(*) from kinds", neighbour.InsideClinic, 4), funcs.Postgres, 0); err == nil {
		t.Error("a public analysis is printed as a private one")
	}
}

// TestDeepNesting: derived columns that double at each level are refused before they fill memory. More levels than these are refused before they are printed.
func TestDeepNesting(t *testing.T) {
	sql := "select patient_id, days as a0 from encounters"
	for i := range 16 {
		sql = fmt.Sprintf("select patient_id, a%d + a%d as a%d from (%s) d%d", i, i, i+1, sql, i)
	}
	a := neighbour.Analyze(t, "select count(*) from ("+sql+") x where a16 > 1", neighbour.InsideClinic, 4)
	if _, err := sqlgen.Private(a, funcs.Postgres, 0); err == nil || !strings.Contains(err.Error(), "54001") {
		t.Errorf("got %v", err)
	}
}

// TestLargePrints: what a database would plan for minutes, or could not parse, is refused, over private rows, public ones and released values.
func TestLargePrints(t *testing.T) {
	cat := neighbour.ClinicCatalog()
	joined := func(table, column string, levels int) string {
		sql := fmt.Sprintf("with a0 as (select %s from %s)", column, table)
		for i := range levels {
			sql += fmt.Sprintf(", a%d as (select %s from a%d x join a%d y using (%s) join a%d z using (%s))", i+1, column, i, i, column, i, column)
		}
		return fmt.Sprintf("%s select count(*) from a%d", sql, levels)
	}
	const most = "the statement reads 81 tables"
	for levels, words := range map[int]string{3: "private", 4: most} {
		if got := fate(t, joined("patients", "patient_id", levels), cat); !strings.Contains(got, words) {
			t.Errorf("%d levels over private rows: %s", levels, got)
		}
	}
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		for levels, isLarge := range map[int]bool{3: false, 4: true} {
			_, err := sqlgen.PublicQuery(neighbour.BindText(t, joined("cities", "id", levels), cat), d)
			if got := err != nil && strings.Contains(err.Error(), most); got != isLarge || !isLarge && err != nil {
				t.Errorf("%d levels over public rows on %s: %v", levels, d, err)
			}
		}
		for operators, isDeep := range map[int]bool{100: false, 2600: true} {
			q := neighbour.BindText(t, "select 1"+strings.Repeat(" + v", operators)+" from (values (1)) w (v)", cat)
			_, err := sqlgen.Finishing(q, nil, nil, d)
			if got := sqlerr.ID(err) == sqlerr.TooComplex.ID; got != isDeep || !isDeep && err != nil {
				t.Errorf("%d operators over released values on %s: %v", operators, d, err)
			}
		}
	}
}
