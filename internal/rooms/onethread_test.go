package rooms

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOneThread: what the race detector skips in the engine (InOneThread) is run by make test-statistics.
func TestOneThread(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^test-statistics:\n.* -run '([^']*)'`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the Makefile's test-statistics has no -run")
	}
	run := regexp.MustCompile(strings.ReplaceAll(m[1], "$$", "$"))
	files, err := filepath.Glob(filepath.Join(root, "internal", "engine", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`^func (\w+)`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for _, line := range strings.Split(string(text), "\n") {
			if m := function.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			if !strings.HasPrefix(line, "\t") || !strings.Contains(line, "InOneThread(t)") {
				continue
			}
			if found++; !run.MatchString(name) {
				t.Errorf("%s: %s runs in no part of make test: the race detector skips it, and %s does not match it", file, name, run)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d tests of one thread", found)
	}
}
