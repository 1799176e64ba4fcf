package rooms

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileGroups reads the groups of a package's files from the section "# Files" of its doc.go, in their order. nil: there is no such section.
func fileGroups(t *testing.T, dir string) [][]string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(dir), "doc.go"))
	if err != nil {
		return nil
	}
	return groupsOf(string(doc))
}

// groupsOf reads the groups. A line "//	name: what it is" begins one, and the lines below it that are indented have its files without ".go".
func groupsOf(doc string) (groups [][]string) {
	_, section, _ := strings.Cut(doc, "\n// # Files\n")
	for line := range strings.Lines(section) {
		text, isBlock := strings.CutPrefix(line, "//\t")
		switch {
		case !isBlock:
		case !strings.HasPrefix(text, " "):
			groups = append(groups, nil)
		case len(groups) > 0:
			for _, name := range strings.Fields(text) {
				groups[len(groups)-1] = append(groups[len(groups)-1], name+".go")
			}
		}
	}
	return groups
}

// groupProblems are the files that no group has, or two, and those that use a file of a later group.
func groupProblems(groups [][]string, files []string, needs map[string]map[string]bool) (problems []string) {
	if groups == nil {
		return nil
	}
	of := map[string]int{}
	for i, group := range groups {
		for _, f := range group {
			if _, twice := of[f]; twice {
				problems = append(problems, f+" is in doc.go twice")
			}
			if of[f] = i; !slices.Contains(files, f) {
				problems = append(problems, f+" is in doc.go and not in the package")
			}
		}
	}
	for _, f := range files {
		if _, listed := of[f]; !listed && f != "doc.go" {
			problems = append(problems, f+" is in no group of doc.go")
		}
		for other := range needs[f] {
			if of[f] < of[other] {
				problems = append(problems, fmt.Sprintf("%s uses %s, which is in a later group", f, other))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// TestFileGroups: the groups in a doc.go are read and held against the files. TestFileCycles asks that of each package.
func TestFileGroups(t *testing.T) {
	const doc = "// Package x\n//\n// # Files\n//\n// Words.\n//\n//\tlow: the first\n//\t    a b\n//\t    c\n//\thigh: the second\n//\t    d\npackage x\n"
	groups := groupsOf(doc)
	if fmt.Sprint(groups) != "[[a.go b.go c.go] [d.go]]" {
		t.Errorf("the groups are %v", groups)
	}
	needs := map[string]map[string]bool{"b.go": {"c.go": true, "d.go": true}, "d.go": {"a.go": true}}
	problems := groupProblems(groups, []string{"a.go", "b.go", "d.go", "doc.go", "e.go"}, needs)
	want := []string{"b.go uses d.go, which is in a later group", "c.go is in doc.go and not in the package", "e.go is in no group of doc.go"}
	if !slices.Equal(problems, want) {
		t.Errorf("the problems are %q", problems)
	}
	if p := groupProblems(groupsOf("// Package x\npackage x\n"), []string{"a.go"}, needs); p != nil {
		t.Errorf("a package without groups has the problems %q", p)
	}
}
