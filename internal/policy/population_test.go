package policy

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

const twoKinds = "-unit\nunits: [people.id, shops.id]\ntables: {people: {columns: {id: {}}}, shops: {columns: {id: {}}}}\n"

// TestPopulationEpoch: a policy with one number, or of one kind, has the epoch that it had before numbers of each kind could be said, so that its ledger goes on; each kind's number is part of the epoch.
func TestPopulationEpoch(t *testing.T) {
	rels := parseSchema(t, "people(id int!, age int) key(id)\nshops(id int!) key(id)")
	seen := map[string]string{}
	for text, want := range map[string]string{
		"":                               "fe5be17ac16cb7ecacb49df739cbf432273d530ac6bfa30e90f1b200ec6b646e", // these three as commit 7a87a29 gave them
		"population: 70000\n":            "6b3819fc53550a77cc38c14ca7cdf02a7a9ce893dc52a02349f609377d461597",
		twoKinds + "population: 40\n":    "f59d040097ef9862cf8a67f3155e8b5580d7ba0ba26f7783afaa4188a3d122b4",
		"population: {people: 70000}\n":  "6b3819fc53550a77cc38c14ca7cdf02a7a9ce893dc52a02349f609377d461597",
		"population: {people.id: 700}\n": "",
		twoKinds:                         "",
		twoKinds + "population: {people: 40, shops: 40}\n":  "",
		twoKinds + "population: {people: 400, shops: 40}\n": "",
		twoKinds + "population: {shops: 400, people: 40}\n": "",
		twoKinds + "population: {shops: 4, people: 4000}\n": "",
	} {
		p, err := parse("p.yaml", []byte(with(text)), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Bind(rels)
		if err != nil {
			t.Fatal(err)
		}
		e := c.Epoch()
		switch {
		case len(want) == 64:
			if e != want {
				t.Errorf("%q: epoch %s, it was %s", text, e, want)
			}
		case want == "":
			if seen[e] != "" {
				t.Errorf("%q has the epoch of %q", text, seen[e])
			}
			seen[e] = text
		}
	}
}

// TestPopulationOfKinds: a kind has its number, several the largest; one number is everybody's.
func TestPopulationOfKinds(t *testing.T) {
	people, shops := dp.Unit("people.id"), dp.Unit("shops.id")
	for text, want := range map[string][4]uint64{ // of people, of shops, of both, assumed
		twoKinds: {0, 0, 0, AssumedPopulation}, twoKinds + "population: 40\n": {40, 40, 40, 40}, twoKinds + "population: {people: 400, shops: 40}\n": {400, 40, 400, AssumedPopulation},
	} {
		p, err := parse("p.yaml", []byte(with(text)), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]uint64{p.Population.Of(people), p.Population.Of(shops), p.Population.MostOf(dp.Units{shops, people}), p.Units()}; got != want || len(p.EachUnits()) != map[bool]int{want[0] != want[1]: 2}[true] {
			t.Errorf("%q: %v, %v", text, got, p.EachUnits())
		}
	}
}

// TestPopulationOfKindsReview: one number for several kinds is warned of, with what to write; so is none where bounds are automatic. A delta that all windows make too large for the kind that has most is told of it.
func TestPopulationOfKindsReview(t *testing.T) {
	people, stays := peopleAndStays()
	shops := people
	shops.Name = "shops"
	for head, want := range map[string]string{
		"population: 40\n":                       "1:13: population is one number for 2 kinds of units: it is taken for each kind's, and a delta is held against it alone (population: {people: ..., shops: ...}; one number must be",
		"":                                       "5:3: bounds are automatic and no population is declared: they are chosen as for 1000 people (population: {people: ..., shops: ...}: how many people",
		"population: {people: 400, shops: 40}\n": "",
		"population: {people: 4, shops: 50000}\n": "8:29: budget.delta 1e-06 is 4e-06 in all windows of the lifetime, more than a tenth of 1/population (50000 of shops.id)",
	} {
		text := head + "dataset: d\nbackend: {postgres: \"postgres://h/d\"}\nunits: [people.id, shops.id]\ntables:\n  stays: {unit: who -> people.id, columns: {nr: {}}}\n" +
			"  people: {columns: {id: {}}}\n  shops: {columns: {id: {}}}\nbudget: {epsilon: 1, delta: 1e-6, per: month, lifetime: 4}\nanalysts: {}\n"
		if head != "" {
			want = strings.Replace(want, "8:29", "9:29", 1)
		}
		var got []string
		r := review(t, text, people, stays, shops)
		if len(r.Problems) > 0 {
			t.Fatal(r.Err())
		}
		for _, w := range r.Warnings {
			if strings.Contains(w.Message, "population") {
				got = append(got, (&Error{File: "p", Problems: []Problem{w}}).Error())
			}
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "p:"+want)) {
			t.Errorf("%q: %q", head, got)
		}
	}
}
