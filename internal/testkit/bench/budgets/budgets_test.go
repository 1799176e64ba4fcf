package main

import (
	"math"
	"os"
	"testing"
)

// TestFactors fixes what the page promises: under budget {epsilon: 10, delta: 1e-6} the filter holds at least 3 times as many counts of epsilon 0.1, with Laplace noise of scale 10, as basic
// composition, and at the same root mean square error `auto` at least 5 times; and no accountant for noise fixed in advance is passed by one that takes any; what that
// difference is made of is as the page says: Renyi accounting afterwards, with half the delta as the filter has it, holds just what the filter holds.
func TestFactors(t *testing.T) {
	rows, err := counts()
	if err != nil {
		t.Fatal(err)
	}
	n, rmse := map[string]int{}, map[string]float64{}
	for _, r := range rows {
		n[r.key], rmse[r.key] = r.n, r.rmse
	}
	if n["basic"] != 100 || n["pure"] != 100 {
		t.Errorf("basic composition holds %d, the pure sum %d", n["basic"], n["pure"])
	}
	if n["filter"] < 3*n["basic"] {
		t.Errorf("the filter holds %d", n["filter"])
	}
	if n["auto"] < 5*n["basic"] || rmse["auto"] > rmse["filter"] || rmse["auto"] < 0.99999*rmse["filter"] || math.Abs(rmse["filter"]-math.Sqrt(200)) > 0.1 {
		t.Errorf("auto holds %d at an error of %g, beside %g", n["auto"], rmse["auto"], rmse["filter"])
	}
	if n["filter"] > n["PLD"] || n["auto"] > n["PLD, Gaussian"] || n["Renyi"] > n["PLD"] || n["zCDP"] > n["Renyi"] || n["advanced"] > n["PLD"] {
		t.Errorf("%v", n)
	}
	holds := func(sigma float64) int { return most(func(n int) bool { return renyi(n, sigma, delta/2) <= epsilon }) }
	if laplace, gaussian := holds(0), holds(rmse["filter"]); laplace != n["filter"] || gaussian != n["auto"] {
		t.Errorf("with half of delta Renyi accounting holds %d and %d, the filter %d and %d", laplace, gaussian, n["filter"], n["auto"])
	}
}

// TestPages: the pages have the tables as they are made now.
func TestPages(t *testing.T) {
	pages, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for of, blocks := range pages {
		page, err := os.ReadFile("../../../../docs/" + of)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range blocks {
			begin, end, err := places(string(page), name)
			if err != nil || string(page[begin:end]) != want {
				t.Errorf("block %q of %s is stale: make bench-budgets: %v", name, of, err)
			}
		}
	}
}
