package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestExplainJSON: what EXPLAIN tells programs has keys that do not follow from words, the analyst's literals among them, and one shape each: of what is paid, free and topped up, of one release and several.
func TestExplainJSON(t *testing.T) {
	keys := regexp.MustCompile(`^(Node Type|Releases|Release|Reads|Plan Lines|Notes|Warnings|Preview|Unit|Units|Unit path|Joined \d+|Rows of a unit|Rows that one unit changes|Measured|Groups|Groups of a unit|Cap|Bounding|Not l2|Small groups|(Measure|Noise|Lost mass|Choice) \d+|Groups chosen|Charge|Charge in all|Accountants|Group privacy|Left|Expected Errors|Errors|Noises|Top-up|Target|Finishing|Intervals|Consistent|Public Rows|Shown|Shown as released)$`)
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	seen := map[string]bool{}
	look := func(sql string) (plan, first map[string]any) {
		plan, releases := enginetest.ExplainedJSON(t, s, sql)
		for _, o := range append(releases, plan) {
			for k, v := range o {
				if seen[k] = true; !keys.MatchString(k) {
					t.Errorf("%s: key %q", sql, k)
				}
				ok := true
				switch k {
				case "Charge", "Charge in all":
					charge, _ := v.(map[string]any)
					_, price := charge["Price"].(float64)
					_, delta := charge["Delta"].(float64)
					ok = price && delta
				case "Left":
					_, ok = v.(float64)
				case "Plan Lines", "Notes", "Warnings", "Noises", "Errors", "Expected Errors", "Accountants", "Public Rows", "Releases":
					_, ok = v.([]any)
				case "Release":
				default:
					if strings.HasPrefix(k, "Noise ") {
						_, ok = v.(map[string]any)
					} else {
						_, ok = v.(string)
					}
				}
				if !ok {
					t.Errorf("%s: %s is %v", sql, k, v)
				}
			}
		}
		if len(releases) > 0 {
			first = releases[0]
		}
		return plan, first
	}
	plan, _ := look("select count(*) from kinds where label = 'a: b'")
	if lines, _ := plan["Plan Lines"].([]any); plan["Node Type"] != "Public statement" || len(lines) < 2 || !strings.Contains(strings.Join(texted(lines), "\n"), `"a: b"`) {
		t.Errorf("a public statement: %v", plan)
	}
	const count = "select count(*) from encounters where diag = 'a: b'"
	paid := func(o map[string]any, name string) (price, from, epsilon float64) {
		c, _ := o[name].(map[string]any)
		price, _ = c["Price"].(float64)
		from, _ = c["From Price"].(float64)
		epsilon, _ = c["Epsilon"].(float64)
		return price, from, epsilon
	}
	alone := func(o map[string]any) (epsilon float64) { // what basic composition says
		list, _ := o["Accountants"].([]any)
		if len(list) > 0 {
			epsilon, _ = list[0].(map[string]any)["Epsilon"].(float64)
		}
		return epsilon
	}
	near := func(a, b float64) bool { return a > 0 && a/b > 1-1e-6 && a/b < 1+1e-6 }
	enginetest.Set(t, s, "dpsql.price", "0.1")
	_, rel := look(count)
	if price, from, epsilon := paid(rel, "Charge"); price != 0.1 || from != 0 || !near(alone(rel), epsilon) {
		t.Errorf("asked first: %v", rel)
	}
	enginetest.Ask(t, s, count)
	if _, rel = look(count); rel["Accountants"] != nil || len(rel["Errors"].([]any)) != 1 {
		t.Errorf("free: %v", rel)
	}
	if price, _, epsilon := paid(rel, "Charge"); price != 0 || epsilon != 0 || !strings.Contains(rel["Charge"].(map[string]any)["Why"].(string), "answered from the release") {
		t.Errorf("free: %v", rel)
	}
	enginetest.Set(t, s, "dpsql.price", "0.3")
	_, rel = look(count)
	if price, from, epsilon := paid(rel, "Charge"); price != 0.3 || from != 0.1 || !near(alone(rel), epsilon) || rel["Top-up"] == nil {
		t.Errorf("a top-up: %v", rel)
	}
	// Of several releases the accountants speak of all together, once: EXPLAIN said of each what the statement alone would cost.
	plan, rel = look("select (select count(*) from patients) / count(*) from encounters")
	if _, _, epsilon := paid(plan, "Charge in all"); rel["Accountants"] != nil || !near(alone(plan), epsilon) {
		t.Errorf("several releases: %v", plan)
	}
	const some = "select " + "(select count(*) from patients), (select count(*) from encounters where diag = 'a: b')"
	enginetest.Set(t, s, "dpsql.price", "0.6") // 0.3 each: new, and topped up
	plan, _ = look(some)
	if _, _, epsilon := paid(plan, "Charge in all"); !near(alone(plan), epsilon) {
		t.Errorf("new and topped up: %v", plan)
	}
	enginetest.Ask(t, s, some)
	plan, _ = look(some)
	if price, _, _ := paid(plan, "Charge in all"); price != 0 || plan["Accountants"] != nil {
		t.Errorf("several releases, free: %v", plan)
	}
	enginetest.Set(t, s, "dpsql.rounding", "error")
	look("select k.label, count(*) from encounters e join kinds k on k.id = e.kind_id group by 1 having count(*) > 3 order by 2")
	look("select readmitted, sum(days) from encounters group by rollup (1)")
	look("select relname from pg_class")
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	look("select count(*) from visits")
	const joined = "select count(*) from encounters a join encounters b on a.days = b.days"
	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append(enginetest.DeclaredKeys[:len(enginetest.DeclaredKeys):len(enginetest.DeclaredKeys)], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n")...)
	enginetest.Set(t, s, "dpsql.bounding", "l2")
	_, rel = look(joined)
	if why, _ := rel["Bounding"].(string); !strings.Contains(why, "95% errors at price") || rel["Not l2"] == nil {
		t.Errorf("why a bound was taken, and l2 was not: %v", rel)
	}
	enginetest.Set(t, s, "dpsql.bounding", "elastic")
	look(joined)
	s = enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB)
	look(enginetest.ShopStatements[2])
	for _, k := range []string{"Plan Lines", "Notes", "Finishing", "Shown", "Noises", "Expected Errors", "Release", "Units", "Joined 2", "Measured", "Choice 1"} {
		if !seen[k] {
			t.Errorf("no statement has %q", k)
		}
	}
}

func texted(list []any) (out []string) {
	for _, x := range list {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}
