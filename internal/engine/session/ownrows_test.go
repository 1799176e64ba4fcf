package session_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

const guestPolicy = `
dataset: guests
backend: BACKEND
unit: customers.customer_id
population: 40
tables:
  customers: {columns: {customer_id: {}, city: {values: [Oslo, Bergen]}}}
  orders:
    unit: customer_id -> customers.customer_id
    rows_without_unit: own
    columns: {order_id: {}, customer_id: {}, channel: {values: [web, shop, null]}, total: {range: [0, 1000]}}
  items:
    unit: order_id -> orders.order_id
    rows_without_unit: own
    columns: {order_id: {}, product: {}, price: {range: [0, 500]}}
  parcels: {unit: order_id -> orders.order_id, columns: {order_id: {}, weight: {range: [0, 100]}}}
  visits: {unit: customer_id -> customers.customer_id, rows_without_unit: drop, columns: {customer_id: {}, minutes: {range: [0, 600]}}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [customers, orders, items, parcels, visits], max_query_price: 20}
`

func guestSession(t testing.TB, d dialect.Dialect) *session.Session {
	t.Helper()
	return enginetest.PersonlessSession(t, d, guestPolicy, append(neighbour.GuestCatalog("int4").DDL(), neighbour.GuestRows("int4")...))
}

// TestRowsWithoutAPerson: rows that lead to no person are counted where the policy says own, and never as persons; EXPLAIN says who is protected, and answers and EXPLAIN alike which rows are left out.
func TestRowsWithoutAPerson(t *testing.T) {
	const parcels = "rows in which parcels.order_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
	const visits = "rows in which visits.customer_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
	for _, d := range enginetest.Dialects {
		s := guestSession(t, d)
		enginetest.FixedNoise(s, 7) // noise is the same in each run
		enginetest.Set(t, s, "dpsql.price", "20")
		enginetest.Set(t, s, "dpsql.clip", "12") // too few people to choose a bound by
		for _, c := range []struct {
			sql  string
			want float64
			own  bool
			says []string
		}{
			{"select count(*) from orders", 40, true, nil},
			{"select count(distinct customer_id) from orders", 8, true, nil},
			{"select count(*) from items i join orders o on o.order_id = i.order_id where o.customer_id is null", 37, true, nil},
			{"select count(*) from parcels", 40, true, []string{parcels}},
			{"select count(*) from visits", 18, false, []string{visits}},
			{"select count(*) from visits where customer_id is not null", 18, false, nil},
			{"select count(*) from orders o join visits v on v.customer_id = o.customer_id", 0, true, nil},
			{"select count(*) from (select customer_id, count(*) as n from orders group by 1) t", 8, false,
				[]string{"rows in which orders.customer_id is NULL are left out: the statement takes it for the person"}},
			{"select count(*) from (select count(*) over (partition by customer_id) as n from orders) t where n = 1", 13, true,
				[]string{"rows in which orders.customer_id is NULL are in partitions apart: the statement takes it for the person"}},
			{"select count(*) from (select distinct on (customer_id) customer_id, total from orders order by customer_id, total) t", 21, true,
				[]string{"rows in which orders.customer_id is NULL are in partitions apart: the statement takes it for the person"}},
			{"select city, count(*) from customers group by 1", 0, false, []string{"rows in which customers.city is NULL or a value that the policy does not list are in no group"}},
			{"select channel, count(*) from orders group by 1", 0, true, []string{"rows in which orders.channel is a value that the policy does not list are in no group"}},
		} {
			told := enginetest.Explained(t, s, c.sql)
			if strings.Contains(told, "unit of its own") != c.own {
				t.Errorf("%s: %s: %s", d, c.sql, told)
			}
			_, a := enginetest.Ask(t, s, c.sql)
			says := slices.DeleteFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "wider than") }) // which TestWideWithoutChoice looks at
			if !slices.Equal(says, c.says) || strings.Count(told, "Warning: ") != len(c.says) {
				t.Errorf("%s: %s: %q\n%s", d, c.sql, a.Warnings, told)
			}
			rows, err := a.All(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := rows[0][0].(int64); c.want > 0 && (!ok || math.Abs(float64(n)-c.want) > max(8, 0.6*c.want)) {
				t.Errorf("%s: %s: %v, want about %g", d, c.sql, rows, c.want)
			}
		}
	}
}

// TestOwnRowsAreOneEach: where a condition keeps rows without a person alone, each is a unit of one row, so no bound is chosen and nothing can be lost. A row's children, and rows of persons, are not.
func TestOwnRowsAreOneEach(t *testing.T) {
	s := guestSession(t, funcs.DuckDB)
	for sql, one := range map[string]bool{
		"select count(*) from orders where customer_id is null":                                                          true,
		"select channel, count(*), avg(total) from orders where customer_id is null group by 1":                          true,
		"select count(*) from (select * from orders) o where customer_id is null":                                        true,
		"select count(*) from orders":                                                                                    false,
		"select count(*) from orders where customer_id is not null":                                                      false,
		"select count(*) from orders where customer_id is null or total > 5":                                             false,
		"select count(*) from items i join orders o on o.order_id = i.order_id where o.customer_id is null":              false,
		"select count(*) from customers c left join orders o on o.customer_id = c.customer_id and o.customer_id is null": false,
		"select count(*) from visits where customer_id is null":                                                          false,
	} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		a := p.Analysis()
		if a.CanAnyBeClipped() == one || a.Measures[0].Single != one {
			t.Errorf("%s: may be clipped %t, one row a unit %t", sql, a.CanAnyBeClipped(), a.Measures[0].Single)
		}
	}
}

const mailPolicy = `
dataset: guests
backend: BACKEND
unit: customers.customer_id
population: 40
tables:
  customers: {columns: {customer_id: {}, city: {values: [Oslo, Bergen]}}}
  orders:
    unit: coalesce(customer_id, email, phone) -> customers.customer_id
    rows_without_unit: own
    columns: {order_id: {}, customer_id: {}, email: {}, channel: {values: [web, shop, null]}, total: {range: [0, 1000]}}
  items: {unit: "coalesce(order_id, email) -> orders.order_id", columns: {order_id: {}, product: {}, price: {range: [0, 500]}}}
  letters: {unit: "coalesce(customer_id, email) -> customers.customer_id", columns: {customer_id: {}, words: {range: [0, 600]}}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5, joins: any}
analysts:
  ann: {password: VERIFIER, may: [customers, orders, items, letters], max_query_price: 60}
`

// TestUnitsByColumns: where a row leads to no person its email is the unit, never a person; EXPLAIN says that one human may be two units, and answers and EXPLAIN alike which rows are left out.
// A column that the analyst may not see is not named. Noise is the same in each run: it decides too whether the clip is far below what people have.
func TestUnitsByColumns(t *testing.T) {
	const two = "so one human may be two units"
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.PersonlessSession(t, d, mailPolicy, append(neighbour.MailCatalog().DDL(), neighbour.MailRows()...)), 7)
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
		enginetest.Set(t, s, "dpsql.price", "60")
		enginetest.Set(t, s, "dpsql.clip", "12") // too few people to choose a bound by
		for _, c := range []struct {
			sql, unit string
			want      float64
			says      []string
		}{
			{"select count(*) from orders", "Where a row leads to no person, the value of a column that you may not see or orders.email, " + two + ". A row that leads to neither is a unit of its own", 40, nil},
			{"select count(distinct customer_id) from orders", two, 8, nil},
			{"select count(*) from orders where customer_id is null", two, 13, nil},
			{"select count(*) from letters", "the value of a column that you may not see, " + two, 16,
				[]string{"rows in which letters.customer_id is NULL and a column that you may not see is NULL lead to no person and are left out (the policy's rows_without_unit)"}},
			{"select count(*) from letters where customer_id is not null", two, 12, nil},
			{"select count(*) from (select customer_id, count(*) as n from orders group by 1) t", "", 8,
				[]string{"rows in which orders.customer_id is NULL are left out: the statement takes it for the person"}},
		} {
			told := enginetest.Explained(t, s, c.sql)
			if !strings.Contains(told, c.unit) || strings.Contains(told, two) != (c.unit != "") {
				t.Errorf("%s: %s: %s", d, c.sql, told)
			}
			_, a := enginetest.Ask(t, s, c.sql)
			says := slices.DeleteFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "wider than") }) // which TestWideWithoutChoice looks at
			if !slices.Equal(says, c.says) || strings.Count(told, "Warning: ") != len(c.says) {
				t.Errorf("%s: %s: %q\n%s", d, c.sql, a.Warnings, told)
			}
			rows, err := a.All(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := rows[0][0].(int64); !ok || math.Abs(float64(n)-c.want) > 4 {
				t.Errorf("%s: %s: %v, want about %g", d, c.sql, rows, c.want)
			}
		}
		told := enginetest.Explained(t, s, "select count(*) from orders o join items i on i.price = o.total") // of several people's rows: persons alone
		if !strings.Contains(told, "orders.customer_id is NULL are left out: the statement takes it for the person") {
			t.Errorf("%s: %s", d, told)
		}
	}
}
