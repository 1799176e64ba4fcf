package main

// question is one row of the table of docs/accuracy.md.
type question struct {
	id, title, data string
	sql             string // as an analyst asks
	partials        string // what each person adds to each group: person, group as text, value; asked past the proxy
	grouped         bool   // sql gives (group, value), not one value
	epsilon, delta  float64
	query           string  // more of the policy's query line
	gs              float64 // what Race-to-the-Top is told that one person can add at most; 0: it is not run
	published       string  // what others publish for it
	target          float64 // largest median relative error
	factor          float64 // largest ratio to the best fixed bound
	slower          float64 // largest ratio of times, private over raw; 0: it is not timed
}

const (
	encounterPartials = `SELECT patient_id::text, '', count(*)::float8 FROM encounters GROUP BY 1`
	// The forms for which Race-to-the-Top's numbers were published, from its authors' repository (hkustDB/Race-to-the-Top, Query and
	// Result; Q3's dates from a later one's): their exact answers at SF 1, 2,888,656, 1,500,000 and 153,078,795, are those here.
	q3 = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
  WHERE o_orderdate < DATE '1997-01-01' AND l_shipdate > DATE '1994-01-01'`
	q10 = `FROM orders JOIN customer ON c_custkey = o_custkey JOIN nation ON c_nationkey = n_nationkey`
	q18 = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey`
	// TPC-H's own, with all of their conditions.
	q3Revenue = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
  WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'`
	q10Revenue = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
  WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'`
	dates  = `FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1995-04-10'`
	nation = `FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey`

	revenue = `sum(l_extendedprice * (1 - l_discount))`
)

var questions = []question{
	{id: "encounters", title: "count of encounters", data: "diabetes", epsilon: 1, gs: 1e6, target: 0.0006, factor: 1.3,
		published: "R2T 1.5%", sql: `SELECT count(*) FROM encounters`, partials: encounterPartials},
	{id: "days", title: "sum of days in hospital", data: "diabetes", epsilon: 1, gs: 1e6, target: 0.0008, factor: 1.3,
		published: "R2T 1.9%", sql: `SELECT sum(days_in_hospital) FROM encounters`,
		partials: `SELECT patient_id::text, '', sum(days_in_hospital)::float8 FROM encounters GROUP BY 1`},
	{id: "readmitted", title: "readmitted within 30 days", data: "diabetes", epsilon: 1, gs: 1e6, target: 0.005, factor: 1.3,
		published: "R2T 6.2%", sql: `SELECT count(*) FROM encounters WHERE readmitted = '<30'`,
		partials: `SELECT patient_id::text, '', count(*)::float8 FROM encounters WHERE readmitted = '<30' GROUP BY 1`},
	{id: "orders", title: "count of orders", data: "tpch_sf0.1", epsilon: 1, gs: 1e6, target: 0.0003, factor: 1.3,
		published: "R2T 2.3%", sql: `SELECT count(*) FROM orders`,
		partials: `SELECT o_custkey::text, '', count(*)::float8 FROM orders GROUP BY 1`},
	{id: "lines", title: "lines with a customer", data: "retail", epsilon: 1, gs: 1e6, target: 0.042, factor: 3,
		published: "R2T 24%", sql: `SELECT count(*) FROM lines`,
		partials: `SELECT customer_id::text, '', count(*)::float8 FROM lines WHERE customer_id IS NOT NULL GROUP BY 1`},
	{id: "revenue", title: "positive revenue", data: "retail", epsilon: 1, gs: 1e6, target: 0.115, factor: 3,
		published: "R2T 37%", sql: `SELECT sum(quantity * price) FROM lines WHERE quantity * price > 0`,
		partials: `SELECT customer_id::text, '', sum(quantity * price)::float8 FROM lines WHERE customer_id IS NOT NULL AND quantity * price > 0 GROUP BY 1`},
	{id: "visits", title: "count of encounters", data: "hospital", epsilon: 1, gs: 1e6, target: 0.125, factor: 3,
		published: "R2T 54%", sql: `SELECT count(*) FROM encounters`, partials: encounterPartials},
	{id: "cost", title: "total claim cost", data: "hospital", epsilon: 1, gs: 1 << 24, target: 0.24, factor: 3,
		published: "R2T 69%", sql: `SELECT sum(total_claim_cost) FROM encounters`,
		partials: `SELECT patient_id::text, '', sum(total_claim_cost)::float8 FROM encounters GROUP BY 1`},
	{id: "q3", title: "Q3's count", data: "tpch_sf1", epsilon: 0.8, gs: 1e6, target: 0.00008, factor: 1.3, slower: 2.5,
		published: "R2T 0.254%", sql: `SELECT count(*) ` + q3, partials: `SELECT c_custkey::text, '', count(*)::float8 ` + q3 + ` GROUP BY 1`},
	{id: "q10", title: "Q10's count", data: "tpch_sf1", epsilon: 0.8, gs: 1e6, target: 0.00008, factor: 1.3, slower: 2.5,
		published: "R2T 0.174%", sql: `SELECT count(*) ` + q10, partials: `SELECT c_custkey::text, '', count(*)::float8 ` + q10 + ` GROUP BY 1`},
	{id: "q18", title: "Q18's sum", data: "tpch_sf1", epsilon: 0.8, gs: 1e6, target: 0.00008, factor: 1.3, slower: 2.5,
		published: "R2T 0.132%", sql: `SELECT sum(l_quantity) ` + q18,
		partials: `SELECT c_custkey::text, '', sum(l_quantity)::float8 ` + q18 + ` GROUP BY 1`},
	{id: "q3-revenue", title: "Q3's revenue, no GROUP BY", data: "tpch_sf1", epsilon: 0.8, gs: 1 << 24, factor: 1.3, slower: 2.5,
		sql: `SELECT ` + revenue + ` ` + q3Revenue, partials: `SELECT c_custkey::text, '', ` + revenue + `::float8 ` + q3Revenue + ` GROUP BY 1`},
	{id: "q10-revenue", title: "Q10's revenue, no GROUP BY", data: "tpch_sf1", epsilon: 0.8, gs: 1 << 24, factor: 1.3, slower: 2.5,
		sql: `SELECT ` + revenue + ` ` + q10Revenue, partials: `SELECT c_custkey::text, '', ` + revenue + `::float8 ` + q10Revenue + ` GROUP BY 1`},
	{id: "dates-sf1", title: "revenue per o_orderdate, 100 groups", data: "tpch_sf1", grouped: true, epsilon: 4, delta: 1e-7, factor: 1.3, slower: 3,
		sql:      `SELECT o_orderdate, ` + revenue + ` ` + dates + ` GROUP BY o_orderdate`,
		partials: `SELECT o_custkey::text, o_orderdate::text, ` + revenue + `::float8 ` + dates + ` GROUP BY 1, 2`},
	{id: "dates-sf2", title: "revenue per o_orderdate, 100 groups", data: "tpch_sf2", grouped: true, epsilon: 4, delta: 1e-7, target: 0.003, factor: 1.3, slower: 3,
		published: "PMSJA 0.34%, 8.6 s", sql: `SELECT o_orderdate, ` + revenue + ` ` + dates + ` GROUP BY o_orderdate`,
		partials: `SELECT o_custkey::text, o_orderdate::text, ` + revenue + `::float8 ` + dates + ` GROUP BY 1, 2`},
	{id: "nations-sf1", title: "lineitems per customer nation, 25 groups", data: "tpch_sf1", grouped: true, epsilon: 4, delta: 1e-7, factor: 1.3,
		sql:      `SELECT c_nationkey, count(*) ` + nation + ` GROUP BY c_nationkey`,
		partials: `SELECT c_custkey::text, c_nationkey::text, count(*)::float8 ` + nation + ` GROUP BY 1, 2`},
	{id: "nations-sf2", title: "lineitems per customer nation, 25 groups", data: "tpch_sf2", grouped: true, epsilon: 4, delta: 1e-7, target: 0.00015, factor: 1.3,
		published: "PMSJA 0.041%, 26 s", sql: `SELECT c_nationkey, count(*) ` + nation + ` GROUP BY c_nationkey`,
		partials: `SELECT c_custkey::text, c_nationkey::text, count(*)::float8 ` + nation + ` GROUP BY 1, 2`},
	{id: "dates-cap", title: "revenue per o_orderdate, 100 groups, max_groups: auto", data: "tpch_sf1", grouped: true, epsilon: 4, delta: 1e-7, query: ", max_groups: auto",
		sql:      `SELECT o_orderdate, ` + revenue + ` ` + dates + ` GROUP BY o_orderdate`,
		partials: `SELECT o_custkey::text, o_orderdate::text, ` + revenue + `::float8 ` + dates + ` GROUP BY 1, 2`},
	{id: "flags-l2", title: "lineitems per l_returnflag, 3 groups, bounding: l2", data: "tpch_sf0.1", grouped: true, epsilon: 1, delta: 1e-6, query: ", bounding: l2",
		sql:      `SELECT l_returnflag, count(*) FROM lineitem GROUP BY l_returnflag`,
		partials: `SELECT o_custkey::text, l_returnflag::text, count(*)::float8 FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY 1, 2`},
}
