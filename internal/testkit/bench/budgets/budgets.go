// Package main counts how many questions a budget holds under each accountant, and writes the tables and the figure of docs/budget.md.
package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// The policy of the first table: budget: {epsilon: 10, delta: 1e-6}, query: {price: 0.1}.
const (
	epsilon    = 10
	delta      = 1e-6
	queryPrice = 0.1
)

// count is the analysis of SELECT count(*) where a person has one row.
func count() *sensitivity.Analysis {
	a := &sensitivity.Analysis{Limit: sensitivity.GroupLimit{PerUnit: 1}, Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 1}}}}
	a.Groups.Public = true
	return a
}

// asked is a count as a statement: what it costs, and the mean square of its noise.
type quoted struct {
	loss     dp.Loss
	variance float64
	noise    price.Mechanism
	event    dp.Event
}

func ask(f *budget.Filter, priceValue float64, mechanism price.Mechanism) (quoted, error) {
	p, err := price.New(count(), price.Request{Filter: f, Epsilon: priceValue, Mechanism: mechanism, Population: 1000})
	if err != nil {
		return quoted{}, err
	}
	d, err := noise.DistributionOf(p.Measures[0])
	return quoted{p.Loss, d.Variance(), p.Mechanism, p.Measures[0]}, err
}

// asExact is the least price at which auto's noise has no more than a variance, to 1e-7 of it.
func asExact(f *budget.Filter, variance float64) (quoted, float64, error) {
	lo, hi := 1e-4, 10.0
	var at quoted
	for hi/lo > 1.0000001 {
		mid := math.Sqrt(lo * hi)
		a, err := ask(f, mid, price.Auto)
		if err != nil {
			return a, 0, err
		}
		if a.variance <= variance {
			hi, at = mid, a
		} else {
			lo = mid
		}
	}
	return at, hi, nil
}

func filterOf(epsilon, delta, price float64, accountant string) (*budget.Filter, error) {
	return budget.NewFilter(budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: price, Accountant: accountant})
}

// most is the largest n that holds, for a property that does not come back.
func most(holds func(n int) bool) int {
	lo, hi := 0, 1
	for holds(hi) {
		lo, hi = hi, hi*2
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// fixed is where the next question may depend on all answers, and its noise, and how many there are, may not: advanced composition, zCDP, Renyi and Gaussian DP compose so, and dominating pairs (Zhu, Dong, Wang 2022, Theorem 10).
const fixed = "chosen as one goes, noise and number fixed in advance"

// accountants are the epsilons of n counts of the usual price under each accountant, at delta; each of the Laplace noise that gives 0.1 by itself but where it says Gaussian.
var accountants = []struct {
	name, key, holds string
	of               func(n int, sigma float64) (float64, error)
}{
	{"basic composition", "basic", "always", func(n int, _ float64) (float64, error) { return float64(n) * queryPrice, nil }},
	{"advanced composition (Dwork, Rothblum, Vadhan)", "advanced", fixed, func(n int, _ float64) (float64, error) {
		return math.Sqrt(2*float64(n)*math.Log(1/delta))*queryPrice + float64(n)*queryPrice*math.Expm1(queryPrice), nil // Theorem III.3
	}},
	{"Gaussian DP", "GDP", fixed, func(n int, _ float64) (float64, error) {
		return account.GaussianEpsilon(account.MuOfPure(queryPrice)*math.Sqrt(float64(n)), delta), nil
	}},
	{"zCDP", "zCDP", fixed, func(n int, _ float64) (float64, error) {
		e, _ := account.ZCDP(account.RhoOfPure(queryPrice) * float64(n)).Epsilon(delta)
		return e, nil
	}},
	{"Renyi, best order afterwards", "Renyi", fixed, func(n int, _ float64) (float64, error) {
		return renyi(n, 0, delta), nil
	}},
	{"Renyi, best order afterwards, Gaussian noise of the same size", "Renyi, Gaussian", fixed, func(n int, sigma float64) (float64, error) {
		return renyi(n, sigma, delta), nil
	}},
	{"privacy loss distribution (= optimal composition)", "PLD", fixed, func(n int, _ float64) (float64, error) {
		return composed(account.DiscreteLaplace{Scale: 1 / queryPrice, Sensitivity: 1}, n)
	}},
	{"privacy loss distribution, Gaussian noise of the same size", "PLD, Gaussian", fixed, func(n int, sigma float64) (float64, error) {
		return composed(account.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, n)
	}},
}

// renyi is of n counts with Gaussian noise, or with sigma 0 of any that gives 0.1 by itself.
func renyi(n int, sigma, delta float64) float64 {
	one := account.Curve(func(a float64) float64 { // randomised response's (Mironov 2017, Proposition 5)
		return math.Min(queryPrice, math.Log((math.Exp(a*queryPrice)+math.Exp((1-a)*queryPrice))/(1+math.Exp(queryPrice)))/(a-1))
	})
	if sigma > 0 {
		one = account.GaussianCurve(sigma)
	}
	e, _ := account.Curve(func(a float64) float64 { return float64(n) * one(a) }).Epsilon(delta)
	return e
}

func composed(m account.Mechanism, n int) (float64, error) {
	c, err := account.Compose(account.Step{Mechanism: m, Rate: 1, Count: n})
	if err != nil {
		return 0, err
	}
	return c.Epsilon(delta), nil
}

// held is a row: an accountant, and how many counts it holds.
type held struct {
	key, name, holds string
	n                int
	rmse             float64
}

// counts are the first table's.
func counts() ([]held, error) {
	f, err := filterOf(epsilon, delta, queryPrice, budget.AccountantRDP)
	if err != nil {
		return nil, err
	}
	pure, err := filterOf(epsilon, delta, queryPrice, budget.AccountantPure)
	if err != nil {
		return nil, err
	}
	plain, err := ask(pure, queryPrice, price.Laplace)
	if err != nil {
		return nil, err
	}
	rmse := math.Sqrt(plain.variance)
	loss, err := f.Loss(plain.event)
	if err != nil {
		return nil, err
	}
	auto, at, err := asExact(f, plain.variance)
	if err != nil {
		return nil, err
	}
	if auto.noise != price.Gaussian {
		return nil, fmt.Errorf("auto takes %s noise", auto.noise)
	}
	out := []held{
		{"pure", "dpsql, `accountant: pure`", "always", int(pure.StatementsLeft(dp.Loss{}, plain.loss)), rmse},
		{"filter", "dpsql's filter, Laplace", "always", int(f.StatementsLeft(dp.Loss{}, loss)), rmse},
		{"auto", fmt.Sprintf("dpsql's filter, `mechanism: auto` (Gaussian) at price %.3g", at), "always", int(f.StatementsLeft(dp.Loss{}, auto.loss)), math.Sqrt(auto.variance)},
	}
	for _, a := range accountants {
		var failed error
		sigma := math.Sqrt(plain.variance)
		n := most(func(n int) bool {
			e, err := a.of(n, sigma)
			failed = err
			return err == nil && e <= epsilon*(1+1e-12)
		})
		if failed != nil {
			return nil, failed
		}
		out = append(out, held{a.key, a.name, a.holds, n, rmse})
	}
	return out, nil
}

// table writes rows with the factor over basic composition.
func table(rows []held) string {
	basic := 0
	for _, r := range rows {
		if r.key == "basic" {
			basic = r.n
		}
	}
	var b strings.Builder
	b.WriteString("| accountant | valid for questions that are | RMSE | counts | times basic |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		how := "chosen as one goes, noise and number too"
		if r.holds != "always" {
			how = r.holds
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f | %d | %.2f |\n", r.name, how, r.rmse, r.n, float64(r.n)/float64(basic))
	}
	return b.String()
}

// others is the table of other budgets: counts of the usual price that are held.
func others() (string, error) {
	var b strings.Builder
	b.WriteString("| budget | price of a count | `pure`, Laplace | `rdp`, Laplace | `rdp`, `auto`, same RMSE | order |\n|---|---|---|---|---|---|\n")
	for _, e := range []float64{1, 3, 10, 20} {
		for _, q := range []float64{0.01, 0.1, 0.5} {
			f, err := filterOf(e, delta, q, budget.AccountantRDP)
			if err != nil {
				return "", err
			}
			pure, err := filterOf(e, delta, q, budget.AccountantPure)
			if err != nil {
				return "", err
			}
			plain, err := ask(pure, q, price.Laplace)
			if err != nil {
				return "", err
			}
			n := pure.StatementsLeft(dp.Loss{}, plain.loss)
			if f.Order == 0 {
				fmt.Fprintf(&b, "| %g | %g | %d | %d | %d | none |\n", e, q, n, n, n)
				continue
			}
			loss, err := f.Loss(plain.event)
			if err != nil {
				return "", err
			}
			auto, _, err := asExact(f, plain.variance)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "| %g | %g | %d | %d | %d | %.2f |\n", e, q, n, f.StatementsLeft(dp.Loss{}, loss), f.StatementsLeft(dp.Loss{}, auto.loss), f.Order)
		}
	}
	return b.String(), nil
}
