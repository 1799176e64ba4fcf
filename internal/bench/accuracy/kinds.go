package main

import (
	"fmt"
	"math"
	"path/filepath"
	"sort"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/bench/baseline"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/sensitivity"
)

// traded is a table of rows that belong to a customer and a supplier each: every customer has as many, of suppliers whose probability goes as their rank to the minus exponent.
type traded struct {
	suppliers, customers, rows int
	exponent                   float64
}

var (
	kindsTables = []traded{{30, 3000, 10, 0}, {100, 5000, 10, 0}, {300, 5000, 10, 0}, {1000, 10_000, 10, 0}, {10_000, 100_000, 10, 0}, {100, 5000, 10, 1}, {1000, 10_000, 10, 1}}
	kindsPrices = []float64{0.2, 0.4, 0.8, 2}
)

const kindsDraws = 1000

func (t traded) graph(random *baseline.Random) (*flow.Graph, error) {
	sums, sum := make([]float64, t.suppliers), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -t.exponent)
		sums[i] = sum
	}
	var p flow.Pairs
	for c := range t.customers {
		for range t.rows {
			if err := p.Add(int32(c), int32(sort.SearchFloat64s(sums, random.Uniform()*sum)), 1); err != nil {
				return nil, err
			}
		}
	}
	graphs, err := p.Graphs()
	if err != nil || len(graphs) != 1 {
		return nil, fmt.Errorf("%d graphs: %w", len(graphs), err)
	}
	return graphs[0], nil
}

// count is what is analysed of count(*) over such a table, and its plan.
func (t traded) count(f *budget.Filter, epsilon float64) (*sensitivity.Analysis, *measure.Plan, error) {
	kinds := [2]dp.Unit{"customer.id", "supplier.id"}
	c := &sensitivity.Choice{Edges: sensitivity.CapLadder(1, 1<<32)}
	a := &sensitivity.Analysis{Class: sensitivity.Private, Pairs: &sensitivity.Pairs{Units: kinds}, People: -1, Groups: sensitivity.Groups{Public: true, Count: 1}, Limit: sensitivity.GroupLimit{PerUnit: 1}, Choices: []*sensitivity.Choice{c},
		Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, Bound: c, Factor: 1, Fine: 1, Single: true, RowHi: 1, PerGroup: c.Edges[len(c.Edges)-1], Grid: decimal.NewFromInt(1)}}}
	p, err := measure.New(a, measure.Ask{Filter: f, Epsilon: epsilon, Mechanism: measure.Laplace, Population: 1, Kinds: map[dp.Unit]uint64{kinds[0]: uint64(t.customers), kinds[1]: uint64(t.suppliers)}})
	return a, p, err
}

// kinds makes the table of docs/joins.md of errors with few people of one kind, of tables that are drawn here.
func (b *bench) kinds(write bool) error {
	f, err := budget.NewFilter(budget.Params{Epsilon: 1000, QueryEpsilon: 1, Accountant: budget.AccountantPure})
	if err != nil {
		return err
	}
	var page strings.Builder
	page.WriteString("| suppliers | customers | rows of suppliers |")
	for _, e := range kindsPrices {
		fmt.Fprintf(&page, " epsilon %g |", e)
	}
	page.WriteString("\n|" + strings.Repeat("---|", 3+len(kindsPrices)) + "\n")
	rows := [][]string{{"suppliers", "customers", "rows_of_customer", "zipf_exponent", "epsilon", "median", "p95"}}
	for _, t := range kindsTables {
		g, err := t.graph(b.random)
		if err != nil {
			return err
		}
		spread := "even"
		if t.exponent > 0 {
			spread = fmt.Sprintf("Zipf, exponent %g", t.exponent)
		}
		fmt.Fprintf(&page, "| %d | %d | %s |", t.suppliers, t.customers, spread)
		values := map[uint64]int64{}
		for _, e := range kindsPrices {
			a, p, err := t.count(f, e)
			if err != nil {
				return err
			}
			errors, _, err := (&flows{analysis: a, plan: p, graph: g, values: values}).errors(kindsDraws, float64(g.Total()))
			if err != nil {
				return err
			}
			median, p95 := baseline.Quantile(errors, 0.5), baseline.Quantile(errors, 0.95)
			fmt.Fprintf(&page, " %s, %s |", percent(median), percent(p95))
			rows = append(rows, []string{fmt.Sprint(t.suppliers), fmt.Sprint(t.customers), fmt.Sprint(t.rows), short(t.exponent), short(e), short(median), short(p95)})
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
