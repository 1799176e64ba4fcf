package main

import (
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

// joined is a question of the second table: over TPC-H at SF 1 on DuckDB, whose unit is not the customer alone, or that joins rows off it.
type joined struct {
	id, title, unit   string
	policy            string // what stands between the backend and the budget
	query             string // more of the policy's line of that name
	tables            string // that the analyst may read
	settings          map[string]string
	epsilon, delta    float64
	target            float64 // largest median of the relative error
	published         string
	sql               string
	exact             string  // without values and pairs: the exact answer past the proxy, and how often the most frequent key occurs
	weights           string  // the exact answer of a weighted question
	values            string  // each person's part of it
	pairs             string  // customer, supplier and their part of it, in whole steps
	steps             float64 // that make 1 of what gs and Race-to-the-Top's bounds are in
	unitSize          float64 // of that, in the answer; 0: 1
	gs                float64 // what Race-to-the-Top is told
	raced             [2][2]float64
	median, p95, p995 float64
	errors            []float64
	clips             [][]float64
	answer            float64
	best              baseline.Fixed
	refused           string
	explained         []string
	took              time.Duration
}

func (q *joined) unitOf() float64 {
	if q.unitSize == 0 {
		return 1
	}
	return q.unitSize
}

const (
	ordersPolicy = `population: 1500000
unit: orders.o_orderkey
tables:
  orders: {columns: {o_orderkey: {}}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    max_rows_per_unit: auto
    columns: {l_orderkey: {}}
`
	suppliersPolicy = `population: 10000
unit: supplier.s_suppkey
tables:
  supplier: {columns: {s_suppkey: {}, s_nationkey: {}}}
  partsupp:
    unit: ps_suppkey -> supplier.s_suppkey
    max_rows_per_unit: auto
    columns: {ps_partkey: {}, ps_suppkey: {}}
  lineitem:
    unit: l_suppkey -> supplier.s_suppkey
    max_rows_per_unit: auto
    columns: {l_partkey: {}, l_suppkey: {}}
  nation: {public: true}
`
	bothPolicy = `population: {customer: 150000, supplier: 10000}
units: [customer.c_custkey, supplier.s_suppkey]
tables:
  customer: {columns: {c_custkey: {}, c_nationkey: {}}}
  supplier: {columns: {s_suppkey: {}, s_nationkey: {}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    columns: {o_orderkey: {}, o_custkey: {}, o_orderdate: {}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    also_unit: l_suppkey -> supplier.s_suppkey
    columns: {l_orderkey: {}, l_suppkey: {}, l_extendedprice: {range: [0, 120000]}, l_discount: {range: [0, 0.1]}}
  nation: {public: true}
  region: {public: true}
`
	offPolicy = `population: 150000
unit: customer.c_custkey
tables:
  customer: {columns: {c_custkey: {}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    max_rows_per_unit: 50
    columns: {o_orderkey: {}, o_custkey: {}, o_orderdate: {}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    max_rows_per_unit: 200
    columns: {l_orderkey: {}, l_partkey: {}}
`
	dayCap  = "    max_rows_per_unit: 50\n    max_frequency: {o_orderdate: 1000}\n"
	partCap = "    max_rows_per_unit: 200\n    max_frequency: {l_partkey: 60}\n"
)

// The statements of Race-to-the-Top's experiments (their repository, folder Query), as joins.
const (
	bothTables = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON o_orderkey = l_orderkey JOIN supplier ON l_suppkey = s_suppkey`
	q5Joins    = bothTables + ` AND c_nationkey = s_nationkey
  JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey`
	q7Joins = bothTables + `
  JOIN nation AS n1 ON c_nationkey = n1.n_nationkey JOIN nation AS n2 ON s_nationkey = n2.n_nationkey`
	q8Joins = q7Joins + `
  JOIN region ON n1.n_regionkey = r_regionkey WHERE o_orderdate >= DATE '1995-01-01' AND o_orderdate <= DATE '1996-12-31'`
	bothUnits = `SELECT c_custkey::integer, s_suppkey::integer, `
)

var joinedQuestions = []*joined{
	{id: "q5-count", title: "Q5's count", unit: "customer and supplier", policy: bothPolicy, tables: "customer, supplier, orders, lineitem", epsilon: 0.8, target: 0.001, published: "R2T 1.63%", gs: 1e6, steps: 16,
		sql: `SELECT count(*) ` + q5Joins, pairs: bothUnits + `(16 * count(*))::bigint ` + q5Joins + ` GROUP BY 1, 2`},
	{id: "q7-revenue", title: "Q7's revenue", unit: "customer and supplier", policy: bothPolicy, tables: "customer, supplier, orders, lineitem", epsilon: 0.8, target: 0.0006, published: "R2T 0.61%", gs: 1e6, steps: 1e7, unitSize: 1000,
		sql: `SELECT ` + revenue + ` ` + q7Joins, pairs: bothUnits + `(10000 * ` + revenue + `)::bigint ` + q7Joins + ` GROUP BY 1, 2`},
	{id: "q8-count", title: "Q8's count", unit: "customer and supplier", policy: bothPolicy, tables: "customer, supplier, orders, lineitem", epsilon: 0.8, target: 0.0006, published: "R2T 1.92%", gs: 1e6, steps: 16,
		sql: `SELECT count(*) ` + q8Joins, pairs: bothUnits + `(16 * count(*))::bigint ` + q8Joins + ` GROUP BY 1, 2`},
	{id: "q12-count", title: "Q12's count of lineitems", unit: "order", policy: ordersPolicy, tables: "orders, lineitem", epsilon: 0.8, target: 0.000004, published: "R2T 0.023%", gs: 1e6,
		sql:    `SELECT count(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey`,
		values: `SELECT count(*)::double FROM lineitem GROUP BY l_orderkey`},
	{id: "q20-count", title: "Q20's count over supplier, partsupp, lineitem", unit: "supplier", policy: suppliersPolicy, tables: "supplier, partsupp, lineitem", epsilon: 0.8, target: 0.00025, published: "R2T 0.579%", gs: 1e6,
		sql: `SELECT count(*) FROM supplier JOIN nation ON s_nationkey = n_nationkey JOIN partsupp ON s_suppkey = ps_suppkey JOIN lineitem ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey`,
		values: `SELECT count(*)::double FROM supplier JOIN nation ON s_nationkey = n_nationkey JOIN partsupp ON s_suppkey = ps_suppkey
  JOIN lineitem ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey GROUP BY s_suppkey`},
	off("parts-elastic", "lineitem joined with itself on part, elastic", "elastic", capped(partCap), partsJoined, partsExact),
	off("parts-truncate", "lineitem joined with itself on part, truncated: at most 60 of a part", "truncate", capped(partCap), partsJoined, partsExact),
	weighted("parts-weighted", "weights of lineitem joined with itself on part, in place of its count", offPolicy, partsJoined, partsWeights),
	off("days-elastic", "orders joined on order date, elastic", "elastic", capped(dayCap), daysJoined, daysExact),
	off("days-truncate", "orders joined on order date, truncated: at most 1000 of a day", "truncate", capped(dayCap), daysJoined, daysExact),
}

const (
	partsJoined  = `SELECT count(*) FROM lineitem AS a JOIN lineitem AS b ON a.l_partkey = b.l_partkey`
	partsExact   = `SELECT sum(n * n)::double, max(n)::double FROM (SELECT count(*) AS n FROM lineitem GROUP BY l_partkey)`
	partsWeights = `SELECT sum(n / 2)::double FROM (SELECT count(*)::double AS n FROM lineitem GROUP BY l_partkey)` // n n / (n + n)
	daysJoined   = `SELECT count(*) FROM orders AS a JOIN orders AS b ON a.o_orderdate = b.o_orderdate`
	daysExact    = `SELECT sum(n * n)::double, max(n)::double FROM (SELECT count(*) AS n FROM orders GROUP BY o_orderdate)`
)

// off is a question that joins rows of different customers.
func off(id, title, bounding, policy, text, exact string) *joined {
	return &joined{id: id, title: title, unit: "customer", policy: policy, settings: map[string]string{"dpsql.bounding": bounding}, query: ", joins: any", tables: "customer, orders, lineitem", epsilon: 1, delta: 1e-7, sql: text, exact: exact}
}

// weighted is one whose answer is another number: its exact one is of the same weights, of which nothing is published.
func weighted(id, title, policy, text, weights string) *joined {
	q := off(id, title, "weighted", policy, text, "")
	q.weights = weights
	return q
}

// capped is offPolicy with a declared frequency in place of the line that it begins with.
func capped(lines string) string {
	line, _, _ := strings.Cut(lines, "\n")
	return strings.Replace(offPolicy, line+"\n", lines, 1)
}
