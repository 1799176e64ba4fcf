package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A policy has <auto|fixed> where a bound stands: the fixed ones are what an owner could write who knows what the columns mean and
// has not looked at the data.
var bound = regexp.MustCompile(`<auto\|([^>]*)>`)

// policyText fills a policy in: its bounds, the backend's line, the budget and the price of a statement.
func policyText(d *dataset, kind, where string, fixed bool, budget, query, verifier string) string {
	with := "auto"
	if fixed {
		with = "$1"
	}
	text := bound.ReplaceAllString(d.policy, with)
	return fmt.Sprintf("dataset: bench\nbackend: {%s: %q%s}\n%sbudget: {%s}\nquery: {%s}\nanalysts:\n  bench: {password: %q, may: [%s], max_query_price: 100}\nlimits: {statement_time: 10m}\n",
		kind, where, settingsOf(kind), text, budget, query, verifier, strings.Join(d.private, ", "))
}

// settingsOf is what private and raw statements run under alike.
func settingsOf(kind string) string {
	if kind == "postgres" {
		return ", settings: {work_mem: " + workMem + "}"
	}
	return ""
}

const diabetesPolicy = `population: 70000
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}, gender: {}}}
  encounters:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: <auto|10>
    columns: {encounter_id: {}, patient_id: {}, days_in_hospital: {range: <auto|[1, 14]>}, readmitted: {}}
`

const hospitalPolicy = `population: 1000
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}}}
  encounters:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: <auto|100>
    columns: {encounter_id: {}, patient_id: {}, encounter_class: {}, total_claim_cost: {range: <auto|[0, 10000]>}}
`

const retailPolicy = `population: 4000
unit: customers.customer_id
tables:
  customers: {columns: {customer_id: {}}}
  lines:
    unit: customer_id -> customers.customer_id
    max_rows_per_unit: <auto|500>
    columns: {line_id: {}, customer_id: {}, quantity: {range: <auto|[-1000, 1000]>}, price: {range: <auto|[0, 100]>}}
`

// tpchPolicy is for a number of customers.
const tpchPolicy = `population: %d
unit: customer.c_custkey
tables:
  customer: {columns: {c_custkey: {}, c_nationkey: {values: {from: nation.n_nationkey}}, c_mktsegment: {}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    max_rows_per_unit: <auto|50>
    columns: {o_orderkey: {}, o_custkey: {}, o_orderdate: {values: {from: calendar.day}}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    max_rows_per_unit: <auto|200>
    columns:
      l_orderkey: {}
      l_suppkey: {}
      l_quantity: {range: <auto|[0, 50]>}
      l_extendedprice: {range: <auto|[0, 120000]>}
      l_discount: {range: <auto|[0, 0.1]>}
      l_tax: {range: <auto|[0, 0.08]>}
      l_returnflag: {values: [A, N, R]}
      l_linestatus: {values: [O, F]}
      l_shipdate: {}
  supplier: {public: true}
  nation: {public: true}
  region: {public: true}
  calendar: {public: true}
`
