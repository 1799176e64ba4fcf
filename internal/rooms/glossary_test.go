package rooms

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossary: each identifier that docs/glossary.md names stands in Go source, and the terms are in alphabetic order.
func TestGlossary(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := sourceByPackage(root)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, text := range source {
		all.WriteString(text)
	}
	last, terms := "", 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || cells[0] == "| term" {
			continue
		}
		terms++
		term := strings.ToLower(strings.TrimPrefix(cells[0], "| "))
		if term <= last {
			t.Errorf("%q stands after %q", term, last)
		}
		last = term
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			if !identifierExists(root, m[1], source, all.String()) {
				t.Errorf("%s: no %s in Go source", term, m[1])
			}
		}
	}
	if terms < 80 {
		t.Errorf("%d terms were read", terms)
	}
}

// sourceByPackage is the text of the Go files of each folder's name.
func sourceByPackage(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Base(path) == "glossary_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		out[filepath.Base(filepath.Dir(path))] += string(text)
		return err
	})
	return out, err
}

// identifierExists says whether a name of the glossary is there: a folder, a Go name with its package, a setting or function of SQL in quotes, or
// the last part of a policy's key.
func identifierExists(root, name string, source map[string]string, all string) bool {
	quoted := func(s string) bool { return strings.Contains(all, `"`+s+`"`) }
	last := name[strings.LastIndex(name, ".")+1:]
	switch {
	case strings.Contains(name, "/"):
		info, err := os.Stat(filepath.Join(root, name))
		return err == nil && info.IsDir()
	case regexp.MustCompile(`^[a-z]+\.[A-Z]`).MatchString(name):
		return regexp.MustCompile(`(?m)^(type|func( \([^)]*\))?|const|var|\t)\s*` + last + `\b`).MatchString(source[name[:strings.Index(name, ".")]])
	case strings.HasPrefix(name, "dpsql."):
		return quoted(name)
	}
	return quoted(last) || regexp.MustCompile(`\b`+regexp.QuoteMeta(last)+`\b`).MatchString(all)
}
