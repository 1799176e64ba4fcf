package policy

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpsql/dpsql/testdata/demo"
)

var goldenInput = regexp.MustCompile(`(?ms)^(policy|with|bind)\n(.*?\n)?----$`)

// FuzzParse: any text gives a policy whose promises are sound, or problems at places in the text that show no secret; the same ones
// each time; never a panic. A sound policy takes one analyst more.
func FuzzParse(f *testing.F) {
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(strings.ReplaceAll(string(text), "\n", "\r\n"))
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		golden, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range goldenInput.FindAllStringSubmatch(string(golden), -1) {
			if m[1] == "policy" {
				f.Add(m[2])
			} else {
				f.Add(with(m[2]))
			}
		}
	}
	for _, text := range []string{"a: &x [*x, !!str 5, <<: {b: c}]", "? [a]\n: |\n  b", "\ufeffdataset: d", "dataset: \"\\xff\"", "a: \"\n\n\"\n", "- ", "a:\n- b\n c", "#\r\n0", "budget:", "%YAML 1.2\n---\n{}",
		"unit: a.b\rtables: {a: {}}", with("tables: {people: {columns: {id: {}}}, x: {unit: a -> people.id, columns: {a: {range: [1e9999, 0x10]}}}}")} {
		f.Add(text)
	}
	f.Setenv("VERIFIER", testVerifier)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse("p.yaml", []byte(text), testEnv)
		_, again := parse("p.yaml", []byte(text), testEnv)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("first %v\nthen %v", err, again)
		}
		if err != nil {
			checkPlaces(t, text, err)
			return
		}
		checkSound(t, p)
		added, err := AddAnalyst("p.yaml", []byte(text), NewAnalyst{Name: "fuzz_new", Verifier: testVerifier})
		if err != nil {
			return
		}
		more, err := parse("p.yaml", added, testEnv)
		if err != nil {
			t.Fatalf("with one analyst more: %v\n%s", err, added)
		}
		checkSound(t, more)
		if len(more.Analysts) != len(p.Analysts)+1 || len(added) < len(text) {
			t.Fatalf("%d analysts, then %d:\n%s", len(p.Analysts), len(more.Analysts), added)
		}
	})
}

func checkPlaces(t *testing.T, text string, err error) {
	var e *Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		t.Fatalf("not a policy's error: %v", err)
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for _, pr := range e.Problems {
		if pr.Line < 1 || pr.Col < 1 || pr.Message == "" || pr.Line > len(lines) || pr.Col > utf8.RuneCountInString(lines[pr.Line-1])+2 { // a missing value would stand behind its colon and a blank
			t.Fatalf("a problem without a place in %d lines: %+v", len(lines), pr)
		}
		if strings.ContainsFunc(pr.Message+pr.Hint, func(r rune) bool { return r < ' ' && r != '\t' }) {
			t.Fatalf("a problem of more than one line: %+v", pr)
		}
	}
	if strings.Contains(err.Error(), "secretword") && !strings.Contains(text, "secretword") {
		t.Fatalf("a secret is in a message: %v", err)
	}
}

func checkSound(t *testing.T, p *Policy) {
	if !(p.Budget.Epsilon > 0) || !(p.Budget.Delta >= 0 && p.Budget.Delta <= maxDelta) || !(p.Query.Epsilon > 0) || !(p.Query.Epsilon <= p.Budget.Epsilon) ||
		p.Query.Bounding == "" || p.Unit == "" || len(p.kinds) == 0 || p.unitTable == nil || p.Dataset == "" {
		t.Fatalf("an unsound policy was taken: %+v", p)
	}
	for _, a := range p.Analysts {
		password := checkVerifier(a.Verifier) == nil || a.Verifier == "" && p.TLS != nil && p.TLS.ClientCA != "" && p.TLS.ClientCert == CertAlone
		if !(a.Epsilon > 0 && a.Epsilon <= p.Budget.Epsilon) || slices.ContainsFunc(a.Roles, func(r Role) bool { return !(r.Epsilon > 0 && r.Epsilon <= p.Budget.Epsilon) }) || !password || !(a.MaxQueryEpsilon > 0) {
			t.Fatalf("an unsound analyst was taken: %+v", a)
		}
	}
	for _, tab := range p.tables {
		if !tab.public && p.rootOf(tab) == nil && tab.path == nil {
			t.Fatalf("a private table without a unit was taken: %s", tab)
		}
	}
}
