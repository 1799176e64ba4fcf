package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// merged adds gaps that are not listed yet.
func merged(list, more []sqlgen.Gap) []sqlgen.Gap {
	for _, g := range more {
		if !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// gaps are what the statement's total forms leave out.
func (p *Prepared) gaps() (list []sqlgen.Gap) {
	for _, st := range p.stages {
		list = merged(list, st.gaps)
	}
	return list
}

// innerWarnings say which derived tables are released with noise, because what reads their rows is another aggregate, and what the analyses warn of. They follow from the statement, the policy and public values.
func (p *Prepared) innerWarnings() (lines []string) {
	add := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, i := range p.program.InnerStages() {
		an := p.stages[i].an
		names := make([]string, len(an.Agg.Keys))
		for k, id := range an.Agg.Keys {
			names[k] = an.Query.Columns[id].Name
		}
		line := fmt.Sprintf("the groups by %s of the inner query have rows of several people: they are released with noise, and the outer query reads the noisy numbers", strings.Join(names, ", "))
		if !an.Groups.Public {
			line += "; groups of few people are left out"
		}
		add(line)
	}
	for _, st := range p.stages {
		for _, w := range st.an.Warnings {
			add(w)
		}
	}
	return lines
}

const valueThere = "; PostgreSQL may give a value there"

// warningsOf say in words what becomes NULL, which follows from the statement's text alone; rare values are told together.
func warningsOf(gaps []sqlgen.Gap) (lines []string) {
	var rare []string
	for _, g := range gaps {
		switch {
		case !g.Rare:
			lines = append(lines, fmt.Sprintf("%s gives NULL for %s", g.Of, g.Words)+valueThere)
		case !slices.Contains(rare, g.Words):
			rare = append(rare, g.Words)
		}
	}
	if len(rare) > 0 {
		lines = append(lines, "functions and operators of this statement give NULL for "+strings.Join(rare, ", and for ")+valueThere)
	}
	return lines
}

// omitted says which rows are in no answer, by the statement, the policy and the schema alone.
func omitted(list ...*sensitivity.Analysis) (lines []string) {
	var lost, groups []string
	for _, a := range list {
		if a != nil {
			lost, groups = append(lost, a.Lost...), append(groups, a.NullGroups...)
		}
	}
	say := func(columns []string, words string) {
		if slices.Sort(columns); len(columns) > 0 {
			lines = append(lines, fmt.Sprintf(words, strings.Join(slices.Compact(columns), " or ")))
		}
	}
	say(lost, "rows in which %s is NULL lead to no person and are left out (the policy's rows_without_unit)")
	say(groups, "rows in which %s is NULL are in no group: the public values have no NULL")
	return lines
}

// omitted is of all releases.
func (p *Prepared) omitted() []string {
	list := make([]*sensitivity.Analysis, len(p.stages))
	for i, st := range p.stages {
		list[i] = st.an
	}
	return omitted(list...)
}

// warn gives an answer its warnings: which rows it leaves out, and what becomes NULL: of rare values once a session.
func (s *Session) warn(ans *Answer, left []string, gaps []sqlgen.Gap) {
	ans.Warnings = append(left, warningsOf(slices.DeleteFunc(slices.Clone(gaps), func(g sqlgen.Gap) bool { return g.Rare && s.warned[g.Words] }))...)
	for _, g := range gaps {
		if s.warned == nil {
			s.warned = map[string]bool{}
		}
		s.warned[g.Words] = true
	}
}
