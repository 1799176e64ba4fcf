package sqlgen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// buyers are TPC-DS's private tables with the column that is the customer.
var buyers = map[string]string{"customer": "c_customer_sk", "store_sales": "ss_customer_sk", "store_returns": "sr_customer_sk", "catalog_sales": "cs_bill_customer_sk",
	"catalog_returns": "cr_returning_customer_sk", "web_sales": "ws_bill_customer_sk", "web_returns": "wr_returning_customer_sk"}

var (
	tableText = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\);`)
	keyText   = regexp.MustCompile(`PRIMARY KEY \((.*)\)`)
)

// tpcds is the catalog of testdata/corpus/tpcds/schema.sql, the customer being the unit.
func tpcds(t *testing.T) plan.Catalog {
	t.Helper()
	text, err := os.ReadFile("../../testdata/corpus/tpcds/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range tableText.FindAllStringSubmatch(string(text), -1) {
		name, unit := m[1], buyers[m[1]]
		how := "public"
		switch {
		case name == "customer":
			how = "unit=" + unit + " m=1"
		case unit != "":
			how = fmt.Sprintf("unit=%s path=%s->customer.c_customer_sk", unit, unit)
		}
		fmt.Fprintf(&b, "%s %s key=%s\n", name, how, strings.ReplaceAll(keyText.FindStringSubmatch(m[2])[1], " ", ""))
		for _, line := range strings.Split(strings.TrimSpace(m[2]), "\n") {
			col := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ","))
			if col[0] == "PRIMARY" {
				continue
			}
			typ := strings.NewReplacer("bigint", "int8", "integer", "int4", "varchar", "text").Replace(col[1])
			end := ""
			if len(col) > 2 {
				end = " notnull"
			} else if strings.HasPrefix(typ, "numeric") && unit != "" {
				end = " range=0..20000"
			}
			fmt.Fprintf(&b, "  %s %s%s\n", col[0], typ, end)
		}
	}
	cat, err := neighbour.ParseCatalog(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// TestScaleCorpora checks the rules of TestScaleRules on what is printed for every query of TPC-H and TPC-DS.
func TestScaleCorpora(t *testing.T) {
	tpch, err := neighbour.ParseCatalog(customers)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cat   plan.Catalog
		least int
	}{"tpch": {tpch, 14}, "tpcds": {tpcds(t), 55}} {
		files, err := filepath.Glob("../../testdata/corpus/" + name + "/q*.sql")
		if err != nil {
			t.Fatal(err)
		}
		printed, lost, cut := 0, 0, 0
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, sql := range prints(t, string(text), c.cat) {
				printed++
				for _, broken := range scaleRules(sql, c.cat) {
					t.Errorf("%s: %s\n%s", f, broken, sql)
				}
				if m := unitOn(sql, c.cat); m != "" { // planted: without it the rules must see that it is missing
					cut++
					if len(scaleRules(strings.ReplaceAll(sql, m, "TRUE"), c.cat)) == 0 {
						lost++
					}
				}
			}
		}
		if printed < c.least || lost > 0 || name == "tpcds" && cut == 0 {
			t.Errorf("%s: %d statements; of %d with an equality of units %d may lose it unseen", name, printed, cut, lost)
		}
		t.Logf("%s: %d statements, %d with an equality of units", name, printed, cut)
	}
}

// prints are a statement's private prints, one a release; none where it is refused or public.
func prints(t *testing.T, text string, cat plan.Catalog) (out []string) {
	t.Helper()
	st, err := pgsyntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
	if err != nil {
		return nil
	}
	opts := sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000}
	p, err := divide.Divide(context.Background(), q, opts)
	if err != nil || p.Class == sensitivity.Public {
		return nil
	}
	for i := range p.Stages {
		a, err := p.Analyze(context.Background(), i, opts)
		if err != nil {
			return nil
		}
		st, err := sqlgen.Private(a, funcs.Postgres, 42)
		if err != nil {
			return nil
		}
		out = append(out, st.SQL)
	}
	return out
}

// unitOn is an equality of two tables' units in a print.
func unitOn(sql string, cat plan.Catalog) string {
	unit := map[string]string{}
	for _, m := range scanForm.FindAllStringSubmatch(sql, -1) {
		if tab, ok := cat.Table("", m[1]); ok && !tab.Public && tab.UnitCol >= 0 {
			unit[m[2]] = tab.Columns[tab.UnitCol].Name
		}
	}
	for _, m := range colEqual.FindAllStringSubmatch(sql, -1) {
		if unit[m[1]] == m[2] && unit[m[3]] == m[4] && unit[m[1]] != "" && unit[m[3]] != "" {
			return m[0]
		}
	}
	return ""
}
