package policy

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// AssumedPopulation is about how many units there are where the owner does not say. A small number: with a larger one few people's bounds would be
// chosen with too little of the price, or not found at all; with a smaller one the bounds of many cost some more than they need.
const AssumedPopulation = 1000

// most is the number of the kind that has most, and how to speak of it: what a delta must be small against, since the promise is to each kind's people. 0: the owner says none.
func (p *Policy) most() (n uint64, of string) {
	if p.Population.each == nil {
		return p.Population.one, "people"
	}
	for _, k := range p.kinds {
		if own := p.Population.each[k.unit]; own > n {
			n, of = own, fmt.Sprintf("of %s", k.unit)
		}
	}
	return n, of
}

// Units is about how many units there are of a kind that EachUnits does not have: the declared number, or what is assumed.
func (p *Policy) Units() uint64 {
	if p.Population.one == 0 {
		return AssumedPopulation
	}
	return p.Population.one
}

// EachUnits are the declared numbers by kind; nil where one number stands for all.
func (p *Policy) EachUnits() map[dp.Unit]uint64 { return p.Population.each }

// population reads a number, or one for each kind of units by its table or by its full name. known: nothing was wrong with the kinds.
func (f *file) population(n ast.Node, known bool) {
	p := f.p
	f.populationAt = at(n)
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		if x, _, ok := f.count(n, "population", maxPopulation); ok {
			p.Population.one = uint64(x)
		}
		return
	}
	entries, ok := f.mapping(n, "population")
	if !ok {
		return
	}
	each, first, wrong := map[dp.Unit]uint64{}, map[dp.Unit]position{}, false
	for _, e := range entries {
		k := f.kind(e.key.text)
		x, _, ok := f.count(e.value, "population of "+clip(e.key.text), maxPopulation)
		wrong = wrong || !ok
		switch {
		case k == nil && known:
			wrong = true
			var all, names []string
			for _, k := range p.kinds {
				all, names = append(all, string(k.unit)), append(names, string(k.unit), k.table.String())
			}
			problem := f.add(e.key.position, "population: %s is not one of the policy's units", clip(e.key.text))
			if near := Nearest(e.key.text, names); near != "" {
				problem.hint("did you mean %s?", near)
			} else {
				problem.hint("known: %s", strings.Join(all, ", "))
			}
		case k == nil:
		case first[k.unit] != position{}:
			wrong = true
			f.add(e.key.position, "population: %s is given twice", k.unit).hint("first on line %d; a kind has one number, by its table or by its full name", first[k.unit].line)
		default:
			first[k.unit] = e.key.position
			if ok {
				each[k.unit] = uint64(x)
			}
		}
	}
	if wrong || !known {
		return
	}
	var texts []string
	for _, k := range p.kinds {
		if each[k.unit] == 0 {
			f.add(at(n), "population: %s is missing", k.unit).hint("each kind of units has its number: %s: about how many there are", k.table)
			wrong = true
		}
		texts = append(texts, fmt.Sprint(each[k.unit]))
	}
	switch {
	case wrong:
	case len(p.kinds) == 1:
		p.Population = Populations{one: each[p.kinds[0].unit]}
	default:
		p.Population = Populations{each: each, text: "[" + strings.Join(texts, " ") + "]"}
	}
}

// populationSays is how a policy says its numbers.
func (p *Policy) populationSays() string {
	if len(p.kinds) < 2 {
		return "population"
	}
	var each []string
	for _, k := range p.kinds {
		each = append(each, k.table.String()+": ...")
	}
	return "population: {" + strings.Join(each, ", ") + "}"
}

// kind is the kind of units of that name: as the policy spells it, or its table.
func (f *file) kind(name string) *unitDecl {
	for i, k := range f.p.kinds {
		if string(k.unit) == name {
			return &f.p.kinds[i]
		}
	}
	parts, err := parseDotted(name, 3)
	if err != nil {
		return nil
	}
	for i, k := range f.p.kinds {
		if n := len(parts); n > 1 && parts[n-1] == k.column.text && f.find(parts[:n-1]) == k.table {
			return &f.p.kinds[i]
		}
	}
	if t := f.find(parts); len(parts) < 3 && t != nil {
		return f.p.rootOf(t)
	}
	return nil
}
