package plan_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNodesAreKnown: every node has its case wherever nodes are told apart: one that is missing in Children or Inputs would hide what is below it, and a private
// table with it. Those without operands are named here.
func TestNodesAreKnown(t *testing.T) {
	source := map[string]string{}
	for _, f := range []string{"plan.go", "shapes.go", "capped.go", "walk.go", "canonical.go"} {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source[f] = string(text)
	}
	body := func(file, start string) string {
		_, rest, ok := strings.Cut(source[file], start)
		if !ok {
			t.Fatalf("%s has no %s", file, start)
		}
		out, _, _ := strings.Cut(rest, "\n}\n")
		return out
	}
	for _, c := range []struct {
		method string
		leaves []string
		in     map[string]string // what must name each: function by file
	}{
		{"scalar", []string{"Col", "Const", "Param"}, map[string]string{"walk.go": "func Children(", "canonical.go": "func (p *printer) text("}},
		{"scalar", []string{"Col", "Const", "Param"}, map[string]string{"walk.go": "func mapChildren("}},
		{"rel", []string{"OneRow", "Values"}, map[string]string{"walk.go": "func Inputs("}},
		{"rel", nil, map[string]string{"canonical.go": "func (p *printer) line("}},
		{"rel", []string{"Scan", "OneRow", "Distinct", "Sort", "DistinctOn", "Capped", "SetOp"}, map[string]string{"walk.go": "func Scalars("}},
		{"rel", []string{"OneRow", "Filter", "Join", "Distinct", "Sort", "Limit", "DistinctOn", "Capped"}, map[string]string{"walk.go": "func makes("}},
	} {
		found := regexp.MustCompile(`func \(\*(\w+)\) `+c.method+`\(\)`).FindAllStringSubmatch(source["plan.go"]+source["shapes.go"]+source["capped.go"], -1)
		if len(found) < 10 {
			t.Fatalf("%d nodes with %s()", len(found), c.method)
		}
		for file, fn := range c.in {
			text := body(file, fn)
			for _, m := range found {
				named := regexp.MustCompile(`\*` + m[1] + `\b`).MatchString(text)
				if leaf := slices.Contains(c.leaves, m[1]) && file != "canonical.go"; !named && !leaf {
					t.Errorf("%s in %s does not know %s", fn, file, m[1])
				}
			}
		}
	}
}
