package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// traded is a table of rows that belong to a customer and a supplier each: every customer has as many, of suppliers whose probability goes as their rank to the minus exponent.
type traded struct {
	suppliers, customers, each int
	exponent                   float64
}

var (
	kindsTables = []traded{{30, 3000, 10, 0}, {100, 5000, 10, 0}, {300, 5000, 10, 0}, {1000, 10_000, 10, 0}, {10_000, 100_000, 10, 0}, {100, 5000, 10, 1}, {1000, 10_000, 10, 1}}
	kindsPrices = []float64{0.2, 0.4, 0.8, 2}
)

const kindsDraws = 1000

// count is count(*) over such a table at a price.
func (t traded) count(epsilon float64) made {
	return made{epsilon: epsilon, may: "trades", sql: "SELECT count(*) FROM trades",
		tables: []string{"CREATE TABLE customers (id int PRIMARY KEY)", "CREATE TABLE suppliers (id int PRIMARY KEY)", "CREATE TABLE trades (customer int, supplier int)"},
		policy: fmt.Sprintf(`units: [customers.id, suppliers.id]
population: {customers: %d, suppliers: %d}
tables:
  customers: {columns: {id: {}}}
  suppliers: {columns: {id: {}}}
  trades: {unit: customer -> customers.id, also_unit: supplier -> suppliers.id, columns: {customer: {}, supplier: {}}}
`, t.customers, t.suppliers)}
}

// rows are the table's, as pairs.
func (t traded) rows(random *baseline.Random) (pairs [][2]int64) {
	sums, sum := make([]float64, t.suppliers), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -t.exponent)
		sums[i] = sum
	}
	for c := range t.customers {
		for range t.each {
			pairs = append(pairs, [2]int64{int64(c), int64(sort.SearchFloat64s(sums, random.Uniform()*sum))})
		}
	}
	return pairs
}

// ask reads the rows and draws answers.
func (s *scan) ask(ctx context.Context, pairs [][2]int64, draws int) (r result, err error) {
	for _, p := range pairs {
		s.first.give(func(c sqlgen.Column) sqltype.Value {
			if c.Role == sqlgen.RoleUnit {
				return p[c.Index]
			}
			return int64(1)
		})
	}
	if err := s.paired(); err != nil {
		return r, err
	}
	return r, s.redraw(ctx, draws, map[string]float64{"": float64(len(pairs))}, &r)
}

// kinds makes the table of docs/joins.md of errors with few people of one kind, of tables that are drawn here.
func (b *bench) kinds(ctx context.Context, write bool) error {
	var page strings.Builder
	page.WriteString("| suppliers | customers | rows of suppliers |")
	for _, e := range kindsPrices {
		fmt.Fprintf(&page, " epsilon %g |", e)
	}
	page.WriteString("\n|" + strings.Repeat("---|", 3+len(kindsPrices)) + "\n")
	rows := [][]string{{"suppliers", "customers", "rows_of_customer", "zipf_exponent", "epsilon", "median", "p95"}}
	for _, t := range kindsTables {
		pairs := t.rows(b.random)
		spread := "even"
		if t.exponent > 0 {
			spread = fmt.Sprintf("Zipf, exponent %g", t.exponent)
		}
		fmt.Fprintf(&page, "| %d | %d | %s |", t.suppliers, t.customers, spread)
		for _, e := range kindsPrices {
			asked, err := t.count(e).open(ctx, b.verifier)
			if err != nil {
				return err
			}
			r, err := asked.ask(ctx, pairs, kindsDraws)
			if err := errors.Join(err, asked.world.close()); err != nil {
				return err
			}
			fmt.Fprintf(&page, " %s, %s |", percent(r.median), percent(r.p95))
			rows = append(rows, []string{fmt.Sprint(t.suppliers), fmt.Sprint(t.customers), fmt.Sprint(t.each), short(t.exponent), short(e), short(r.median), short(r.p95)})
		}
		page.WriteString("\n")
	}
	fmt.Print(page.String())
	if !write {
		return nil
	}
	if err := writeBlock(filepath.Join(b.docs, "joins.md"), "kinds", page.String()); err != nil {
		return err
	}
	return writeCSV(filepath.Join(b.docs, "joins", "kinds.csv"), rows)
}
