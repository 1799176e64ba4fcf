package attacker

import (
	"fmt"
	"slices"
	"sort"
)

// Proxy is what is attacked: it gives all that is seen of an attack's statements, asked in order of a world that has the target or not. Each call is a new draw of the world's noise.
type Proxy func(in bool, attack []string) ([]Seen, error)

// Search is how hard the attacker tries.
type Search struct {
	Statements  int // of one attack
	Population  int
	Generations int
	Draws       int // to train an attack's classifier, and as many again to score it
	Last        int // to train the last attack, and as many again to test it
	Rand        Rand
	Log         func(format string, args ...any)
}

// Result is the best attack and how often it was right on draws that were used for nothing else.
type Result struct {
	Attack       []string
	Right, Tries int
}

// Accuracy is the share of right guesses.
func (r Result) Accuracy() float64 { return float64(r.Right) / float64(r.Tries) }

type individual struct {
	genes []Statement
	score float64
}

func (a individual) texts() []string {
	var out []string
	for _, s := range a.genes {
		out = append(out, s.SQL())
	}
	return out
}

// Run searches and tests what it found.
func (o Search) Run(g *Grammar, proxy Proxy, accepts func(sql string) bool) (Result, error) {
	fresh := func() Statement {
		for range 200 {
			if s := g.Statement(); accepts(s.SQL()) {
				return s
			}
		}
		return g.Statement() // a refusal is an answer too
	}
	// A change that is refused is mostly not kept: a refusal follows from the text alone, in a proxy that is worth attacking.
	change := func(s Statement) Statement {
		for range 20 {
			if m := g.Mutate(s); accepts(m.SQL()) || g.oneIn(20) {
				return m
			}
		}
		return s
	}
	score := func(a *individual) (err error) {
		right, err := o.right(proxy, a.texts(), o.Draws)
		a.score = float64(right) / float64(o.Draws)
		return err
	}
	population := make([]individual, o.Population)
	for i := range population {
		for range o.Statements {
			population[i].genes = append(population[i].genes, fresh())
		}
		if err := score(&population[i]); err != nil {
			return Result{}, err
		}
	}
	best := func() {
		sort.SliceStable(population, func(i, j int) bool { return population[i].score > population[j].score })
	}
	best()
	for generation := range o.Generations {
		parents := population[:max(2, o.Population/4)]
		for i := len(parents); i < o.Population; i++ {
			child := individual{genes: slices.Clone(pick(o.Rand, parents).genes)}
			other := pick(o.Rand, parents).genes
			for j := range child.genes {
				switch o.Rand.IntN(6) {
				case 0:
					child.genes[j] = change(child.genes[j])
				case 1:
					child.genes[j] = other[j]
				case 2:
					child.genes[j] = g.Same(pick(o.Rand, child.genes)) // the same question in other words
				case 3:
					if o.Rand.IntN(4) == 0 {
						child.genes[j] = fresh()
					}
				}
			}
			if err := score(&child); err != nil {
				return Result{}, err
			}
			population[i] = child
		}
		for i := range parents { // scored again, so that luck does not stay
			was := parents[i].score
			if err := score(&parents[i]); err != nil {
				return Result{}, err
			}
			parents[i].score = (was + parents[i].score) / 2
		}
		best()
		if o.Log != nil {
			o.Log("generation %d: %.3f by %q", generation+1, population[0].score, population[0].texts())
		}
	}
	return o.Test(proxy, population[0].texts())
}

// Test trains an attack's classifier and tests it, on draws of their own.
func (o Search) Test(proxy Proxy, attack []string) (Result, error) {
	right, err := o.right(proxy, attack, o.Last)
	return Result{Attack: attack, Right: right, Tries: o.Last}, err
}

// right trains on n draws of balanced worlds and says how many of n others are guessed.
func (o Search) right(proxy Proxy, attack []string, n int) (int, error) {
	draw := func() (draws []map[string]float64, in []bool, err error) {
		for i := range n {
			in = append(in, i%2 == 0)
		}
		o.Rand.Shuffle(n, func(i, j int) { in[i], in[j] = in[j], in[i] })
		for i := range n {
			seen, err := proxy(in[i], attack)
			if err != nil {
				return nil, nil, fmt.Errorf("attacker: %w", err)
			}
			draws = append(draws, features(seen))
		}
		return draws, in, nil
	}
	draws, in, err := draw()
	if err != nil {
		return 0, err
	}
	c, err := train(draws, in)
	if err != nil {
		return 0, err
	}
	if draws, in, err = draw(); err != nil {
		return 0, err
	}
	right := 0
	for i, d := range draws {
		if c.guess(d) == in[i] {
			right++
		}
	}
	return right, nil
}
