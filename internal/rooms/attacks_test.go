package rooms

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// attacks is how many the threat model has, numbered from 1.
const attacks = 40

// TestThreatModel: each attack has its row in docs/threat-model.md and a test of its number in that row; each TestAttackNN is in the row of its number,
// and each test that the page names exists.
func TestThreatModel(t *testing.T) {
	root := filepath.Join("..", "..")
	tests, err := testNames(root)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range threatModelProblems(string(page), tests) {
		t.Error(problem)
	}
}

// TestPromises: each promise of README.md has a row of tests in docs/threat-model.md, which TestThreatModel looks for.
func TestPromises(t *testing.T) {
	pages := readPages(t)
	_, promises, _ := strings.Cut(pages["README.md"], "## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	list := regexp.MustCompile(`(?m)^- \*\*(.*)\.\*\*`).FindAllStringSubmatch(promises, -1)
	if len(list) < 4 {
		t.Errorf("README.md has %d promises", len(list))
	}
	for _, p := range list {
		if !regexp.MustCompile(`(?m)^\| ` + p[1] + " \\| `Test").MatchString(pages["docs/threat-model.md"]) {
			t.Errorf("no test is named for %q", p[1])
		}
	}
}

// threatModelProblems holds a page against the names of the tests there are.
func threatModelProblems(page string, tests map[string]bool) (out []string) {
	rows := map[string]string{}
	for _, line := range strings.Split(page, "\n") {
		if m := regexp.MustCompile(`^\| (\d+) \|`).FindStringSubmatch(line); m != nil {
			if rows[m[1]] != "" {
				out = append(out, "two rows are numbered "+m[1])
			}
			rows[m[1]] = line
			if cells := strings.Count(line, "|"); cells != 6 {
				out = append(out, fmt.Sprintf("row %s has %d cells", m[1], cells-1))
			}
		}
	}
	if len(rows) != attacks {
		out = append(out, fmt.Sprintf("%d rows, %d attacks", len(rows), attacks))
	}
	for n := 1; n <= attacks; n++ {
		row := rows[fmt.Sprint(n)]
		if row == "" {
			out = append(out, fmt.Sprintf("attack %d has no row", n))
		}
		if !strings.Contains(row, fmt.Sprintf("`TestAttack%02d", n)) {
			out = append(out, fmt.Sprintf("attack %d names no test of its number", n))
		}
		for name := range tests {
			if strings.HasPrefix(name, fmt.Sprintf("TestAttack%02d", n)) && !strings.Contains(row, "`"+name+"`") {
				out = append(out, fmt.Sprintf("row %d does not name %s", n, name))
			}
		}
	}
	for _, m := range regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(page, -1) {
		if !tests[m[1]] {
			out = append(out, "no test is called "+m[1])
		}
	}
	for name := range tests {
		if m := regexp.MustCompile(`^TestAttack(\d*)`).FindStringSubmatch(name); m != nil && !regexp.MustCompile(`^(0[1-9]|[123]\d|40)$`).MatchString(m[1]) {
			out = append(out, name+" is not numbered as an attack is")
		}
	}
	return out
}

// TestFaultsOfTheBudget: each test that docs/budget.md names exists, and each of its faults names one.
func TestFaultsOfTheBudget(t *testing.T) {
	root := filepath.Join("..", "..")
	tests, err := testNames(root)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "budget.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, faults, found := strings.Cut(string(page), "## Faults and recovery")
	if !found || strings.Count(faults, "\n| ") < 20 {
		t.Fatal("the page has no list of faults")
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	for _, line := range strings.Split(faults, "\n")[1:] {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| fault") && !named.MatchString(line) {
			t.Errorf("no test tries: %s", line)
		}
	}
	for _, m := range named.FindAllStringSubmatch(string(page), -1) {
		if !tests[m[1]] {
			t.Errorf("no test is called %s", m[1])
		}
	}
}

// testNames are the test functions of the tree.
func testNames(root string) (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		tests, err := testsOf(path)
		for _, name := range tests {
			names[name] = true
		}
		return err
	})
	return names, err
}

// testsOf are the test functions of a file.
func testsOf(path string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
			names = append(names, fn.Name.Name)
		}
	}
	return names, nil
}

// TestThreatModelBites: a page that lacks a row or names a test that is not there is found out.
func TestThreatModelBites(t *testing.T) {
	var page strings.Builder
	tests := map[string]bool{}
	for n := 1; n <= attacks; n++ {
		name := fmt.Sprintf("TestAttack%02dX", n)
		tests[name] = true
		fmt.Fprintf(&page, "| %d | attack | what | `%s` | |\n", n, name)
	}
	good := page.String()
	if got := threatModelProblems(good, tests); len(got) > 0 {
		t.Fatal(got)
	}
	for name, bad := range map[string]string{
		"a row less":        strings.Replace(good, "| 7 |", "| seven |", 1),
		"a row twice":       good + "| 7 | attack | what | `TestAttack07X` | |\n",
		"another's test":    strings.Replace(good, "`TestAttack07X`", "`TestAttack08X`", 1),
		"a test not there":  good + "`TestNothing`",
		"a cell too many":   strings.Replace(good, "what", "what | more", 1),
		"a test in no row":  strings.Replace(good, "`TestAttack30X`", "`TestAttack30X`, `TestAttack30Y`", 1),
		"a row without one": strings.Replace(good, "`TestAttack30X`", "none", 1),
	} {
		if len(threatModelProblems(bad, tests)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	tests["TestAttack39"] = true
	if len(threatModelProblems(good, tests)) == 0 {
		t.Error("an attack without a number of the list is not found")
	}
}
