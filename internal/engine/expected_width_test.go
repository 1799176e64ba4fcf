package engine_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

const storePolicy = `
dataset: store
backend: BACKEND
unit: customers.id
tables:
  cities: {public: true}
  customers:
    columns:
      id: {}
      age: {range: [0, 120]}
      city: {values: {from: cities.id}}
  orders:
    unit: customer_id -> customers.id
    columns:
      id: {}
      customer_id: {}
      total: {range: [0, 500]}
      fee: {}
      status: {values: [new, paid, sent, back]}
      product: {}
      day: {}
budget: {epsilon: 10000, delta: 1e-6}
query:  {price: 0.1}
analysts:
  ann: {password: VERIFIER, may: [cities, customers, orders]}
`

// storeStatements are customers, each with so many orders, up to most: an expression of i, the customer.
func storeStatements(customers int, orders string, most int) []string {
	return []string{
		`CREATE TABLE "public".cities (id int PRIMARY KEY)`,
		`INSERT INTO "public".cities SELECT i FROM generate_series(1, 5) AS g(i)`,
		`CREATE TABLE "public".customers (id int PRIMARY KEY, age int NOT NULL, city int NOT NULL REFERENCES "public".cities (id))`,
		`CREATE TABLE "public".orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES "public".customers (id), total numeric(10,2) NOT NULL, fee numeric(10,2) NOT NULL, status text NOT NULL, product int NOT NULL, day int NOT NULL)`,
		fmt.Sprintf(`INSERT INTO "public".customers SELECT i, 18 + i * 7919 %% 60, 1 + i * 31 %% 5 FROM generate_series(1, %d) AS g(i)`, customers),
		fmt.Sprintf(`INSERT INTO "public".orders SELECT row_number() OVER (), i, 5 + (i * 7907 + k * 104729) %% 1000 * 0.25, 1 + (i * 31 + k * 17) %% 50 * 0.1, CASE WHEN (i + k) %% 10 < 4 THEN 'sent' WHEN (i + k) %% 10 < 7 THEN 'paid' WHEN (i + k) %% 10 < 9 THEN 'new' ELSE 'back' END, 1 + (i * 13 + k * 7) %% 50, (i * 17 + k * 29) %% 365
			FROM generate_series(1, %d) AS g(i), generate_series(1, %d) AS h(k) WHERE k <= %s`, customers, most, orders),
	}
}

// expectedCases are statements with the aggregates whose intervals EXPLAIN expects; of is the part of all orders or customers that the largest group has.
var expectedCases = []struct {
	keys, aggregates, rest string
	of                     float64 // of the orders, or below 0 of the customers
}{
	{"", "count(*)", "orders", 1},
	{"", "count(*)", "customers", -1},
	{"", "count(distinct customer_id)", "orders", 1},
	{"", "count(distinct product)", "orders", 1},
	{"", "count(distinct day)", "orders where status <> 'back'", 0.9},
	{"", "count(*) filter (where status = 'back')", "orders", 0.1},
	{"", "count(*)", "orders where total > 200", 0.2},
	{"", "count(*), count(*) filter (where total > 200)", "orders", 1},
	{"status", "count(*)", "orders group by 1", 0.4},
	{"city", "count(*)", "customers group by 1", -0.2},
	{"product", "count(*)", "orders group by 1", 0.02},
	{"day / 30", "count(*)", "orders group by 1", 0.08},
	{"", "sum(total)", "orders", 1},
	{"", "sum(fee)", "orders", 1},
	{"", "sum(age)", "customers", -1},
	{"status", "sum(total)", "orders group by 1", 0.4},
	{"", "avg(total)", "orders", 1},
	{"", "avg(age)", "customers", -1},
	{"", "avg(fee)", "orders", 1},
	{"city", "avg(age)", "customers group by 1", -0.2},
	{"status", "avg(total)", "orders group by 1", 0.4},
	{"", "stddev(total)", "orders", 1},
	{"", "variance(total)", "orders", 1},
	{"", "stddev(age)", "customers", -1},
	{"", "variance(age)", "customers", -1},
	{"city", "stddev(age)", "customers group by 1", -0.2},
	{"status", "stddev(total)", "orders group by 1", 0.4},
	{"", "corr(age, id % 50)", "customers", -1},
	{"", "median(total)", "orders", 1},
	{"", "percentile_cont(0.9) within group (order by age)", "customers", -1},
	{"", "sum(total) / count(*)", "orders", 1},
	{"", "count(*) filter (where status = 'back') * 1.0 / count(*)", "orders", 1},
}

// TestExpectedWidths: what EXPLAIN expects of a half width, by itself or as a multiple of the bound that is then chosen, is within a factor of 3 of the median that three answers show, with the group's size as dpsql.expected_size; or it says that it is not known before. Where few people have much of all, it is compared with what the release shows by whose bounds EXPLAIN goes. Once a statement has been answered, and once the settings
// that are named for it are made, a number is said of all but expressions (of which what they are computed from is told: TestExplainOfComputed), order statistics and averages without a range.
func TestExpectedWidths(t *testing.T) {
	expectation := regexp.MustCompile(`(at most )?\+- ([0-9.e+-]*[0-9])(?:, up to (\S+) where values differ by less than an eighth of their range)?(?: times the bound on a person's (rows|sum|distinct values)| if the bound on a person's (rows|sum|distinct values) becomes \S+ \(([0-9.e+-]*[0-9]) times the bound\))?`)
	for _, data := range []struct {
		customers int
		orders    string
		each      float64 // orders of a customer
		most      int
		price     string
		heavy     bool // answers differ by their bounds, so EXPLAIN is compared with the release that it goes by
	}{{1000, "1 + i % 3", 2, 3, "1", false}, {10_000, "1", 1, 1, "0.1", false}, {10_000, "1 + 40 / (1 + i * 7919 % 40)", 5, 41, "0.5", false}, {2000, "1 + 300 / (1 + i * 7919 % 2000)", 2, 301, "0.39", true}, {1000, "CASE WHEN i = 1 THEN 2000 ELSE 1 + i % 3 END", 4, 2000, "0.5", true}} {
		p, b := enginetest.Personless(t, funcs.DuckDB, storePolicy, storeStatements(data.customers, data.orders, data.most))
		s := enginetest.NewSession(enginetest.OpenOn(t, p, b), t, "ann")
		enginetest.Set(t, s, "dpsql.price", data.price)
		told := 0
		for _, c := range expectedCases {
			keys := c.keys
			if keys != "" {
				keys += ", "
			}
			sql := "select " + keys + c.aggregates + " from " + c.rest
			rows := float64(data.customers) * math.Abs(c.of)
			if c.of > 0 {
				rows *= data.each
			}
			enginetest.Set(t, s, "dpsql.expected_size", fmt.Sprint(int(rows)))
			line := func() string {
				for _, r := range enginetest.MustTry(t, s, "explain "+sql) {
					if text := r[0].(string); strings.HasPrefix(text, "Expected 95% interval") {
						_, text, _ = strings.Cut(text, ": ")
						return text
					}
				}
				t.Errorf("%s: EXPLAIN expects nothing", sql)
				return ""
			}
			names := strings.Split(c.aggregates, ", ")
			if strings.Contains(c.aggregates, "age,") {
				names = []string{c.aggregates}
			}
			compare := func(when, said string, must bool) {
				t.Helper()
				var shown [][]float64
				var bounds map[string][]float64
				for seed := range uint64(3) {
					enginetest.FixedNoise(s, 100+seed)
					asked := "select " + keys + c.aggregates
					for _, n := range names {
						asked += ", dp_error(" + n + ")"
					}
					answer := enginetest.MustTry(t, s, asked+" from "+c.rest)
					for i := range names {
						var list []float64
						for _, r := range answer {
							if x, ok := r[len(r)-len(names)+i].(float64); ok {
								list = append(list, x)
							}
						}
						if len(list) == 0 {
							return
						}
						x := slices.Max(list)
						if c.aggregates[0] == 'a' || c.aggregates[0] == 's' && c.aggregates[1] == 't' {
							x = slices.Min(list) // of the largest group
						}
						if len(shown) <= i {
							shown = append(shown, nil)
						}
						shown[i] = append(shown[i], x)
					}
					bounds = map[string][]float64{}
					for _, r := range enginetest.MustTry(t, s, "select kind, clip from dpsql.last") {
						kind := strings.TrimPrefix(strings.TrimPrefix(r[0].(string), "filtered "), "centred ")
						bounds[kind] = append(bounds[kind], r[1].(float64))
					}
				}
				if strings.Contains(said, " in rank") || strings.Contains(said, "cannot be told") || strings.Contains(c.aggregates, "/") {
					if must {
						t.Errorf("%d customers, %s, %s: %s", data.customers, sql, when, said)
					}
					return
				}
				of := expectation.FindAllStringSubmatch(said, -1)
				for i, list := range shown {
					slices.Sort(list)
					if i >= len(of) {
						t.Errorf("%s, %s: %s", sql, when, said)
						continue
					}
					low, _ := strconv.ParseFloat(of[i][2], 64)
					high := low
					if of[i][3] != "" {
						high, _ = strconv.ParseFloat(of[i][3], 64)
					}
					if of[i][6] != "" {
						low, _ = strconv.ParseFloat(of[i][6], 64)
						high = low
					}
					bound := 0.0
					if list := bounds[of[i][4]+of[i][5]]; list != nil {
						bound = list[min(i, len(list)-1)]
						low, high = low*bound, high*bound
					}
					if of[i][1] != "" {
						low = 0
					}
					times := 3.0
					if data.heavy { // a spread's width follows noisy sums of squares, of which few people have most
						times = 3.5
					}
					if x := list[1]; !(low <= times*x && x <= times*high) {
						t.Errorf("%d customers, %s, %s: %s, and %g is shown (bound %g)", data.customers, sql, when, said, x, bound)
					}
					told++
				}
			}
			isExpression, isRank := strings.Contains(c.aggregates, "/"), strings.Contains(c.aggregates, "median") || strings.Contains(c.aggregates, "percentile")
			open := isExpression || isRank || c.aggregates == "avg(fee)"
			enginetest.Set(t, s, "dpsql.fresh", "on")
			first := line()
			if data.heavy {
				enginetest.FixedNoise(s, 100)
				enginetest.MustTry(t, s, sql)
				after := line()
				enginetest.Set(t, s, "dpsql.fresh", "off")
				compare("after", after, !open)
				continue
			}
			compare("before", first, false)
			compare("after", line(), !open)
			if !strings.Contains(first, "To know them before: ") || strings.Contains(c.aggregates, "fee") || open {
				continue
			}
			for _, name := range []string{"clip", "max_groups"} {
				if strings.Contains(first, "SET dpsql."+name+" = N") {
					enginetest.Set(t, s, "dpsql."+name, map[string]string{"clip": fmt.Sprint(data.most), "max_groups": "12"}[name])
				}
			}
			compare("with settings", line(), true)
			enginetest.Set(t, s, "dpsql.clip", "auto")
			enginetest.Set(t, s, "dpsql.max_groups", "auto")
		}
		if told < 40 && !data.heavy || told < 25 {
			t.Errorf("%d customers: %d are told", data.customers, told)
		}
	}
}

// TestExpectedAverages: what EXPLAIN expects of averages on the demo, before anything is known but the policy's population, is within a factor of 3 of the middle group's interval for most statements, and never off by 10.
func TestExpectedAverages(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst", func(p *policy.Policy) { p.Query.Bounding, p.Query.MaxGroups = "auto", 0 })
	enginetest.FixedNoise(s, 22)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	expected := regexp.MustCompile(`^Expected 95% interval: avg about \+- ([0-9.e-]+)(?:, for \d+ people a group \(the policy's population\), if each has 1/3 of the rows that the bound allows and values are near the middle of their range)?$`)
	asked, near := 0, 0
	for _, c := range []struct{ keys, of string }{
		{"", "lab_procedures"}, {"", "days_in_hospital"}, {"", "medications"}, {"", "diagnoses"}, {"", "prior_emergency"}, {"", "CASE WHEN readmitted = '<30' THEN 1 ELSE 0 END"},
		{"age_band", "lab_procedures"}, {"age_band", "days_in_hospital"}, {"readmitted", "medications"}, {"readmitted", "diagnoses"}, {"a1c", "lab_procedures"}, {"a1c", "medications"}, {"age_band", "CASE WHEN readmitted = '<30' THEN 1 ELSE 0 END"}, {"readmitted", "prior_emergency"},
	} {
		sql := fmt.Sprintf("avg(%s) from encounters", c.of)
		group := ""
		if c.keys != "" {
			sql, group = c.keys+", "+sql, " group by 1"
		}
		said := ""
		for _, r := range enginetest.MustTry(t, s, "explain select "+sql+group) {
			if m := expected.FindStringSubmatch(r[0].(string)); m != nil {
				said = m[1]
			}
		}
		want, err := strconv.ParseFloat(said, 64)
		if err != nil {
			t.Fatalf("%s: EXPLAIN expects nothing", sql)
		}
		var shown []float64
		for _, r := range enginetest.MustTry(t, s, "select "+strings.Replace(sql, " from", fmt.Sprintf(", dp_error(avg(%s)) from", c.of), 1)+group) {
			if x, ok := r[len(r)-1].(float64); ok {
				shown = append(shown, x)
			}
		}
		slices.Sort(shown)
		ratio := want / shown[len(shown)/2]
		if asked++; ratio > 1./3 && ratio < 3 {
			near++
		}
		if ratio < 0.1 || ratio > 10 {
			t.Errorf("%s: %.3g is expected, and %.3g is shown", sql, want, shown[len(shown)/2])
		}
	}
	if 4*near < 3*asked {
		t.Errorf("%d of %d are near", near, asked)
	}
}
