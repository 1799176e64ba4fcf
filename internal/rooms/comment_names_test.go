package rooms

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A qualified name in a comment, such as ledger.Ledger.Commit. Files and keys of the policy are none, and the names of dpsql are tables and settings.
var (
	commentName = regexp.MustCompile(`(?:^|[^\w./"'-])(([a-z]+)\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)?))`)
	fileEnding  = regexp.MustCompile(`^(go|gz|per|md|yaml|yml|sql|sh|db|duckdb|csv|json|jsonl|key|txt|crt)$`)
)

// TestCommentNames: a name that a comment qualifies with one of our packages is declared there, perhaps as a method, so that proofs can be followed to the lines that they rest on.
func TestCommentNames(t *testing.T) {
	root := filepath.Join("..", "..")
	names, err := declared(root)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]map[string]bool{} // of whatever type
	for pkg, of := range names {
		methods[pkg] = map[string]bool{}
		for name := range of {
			if _, method, ok := strings.Cut(name, "."); ok {
				methods[pkg][method] = true
			}
		}
	}
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, c := range f.Comments {
			for _, m := range commentName.FindAllStringSubmatch(c.Text(), -1) {
				pkg, name := m[2], m[3]
				first, _, _ := strings.Cut(name, ".")
				if pkg == "dpsql" || names[pkg] == nil || fileEnding.MatchString(first) {
					continue
				}
				if seen++; !names[pkg][name] && !names[pkg][first] && !methods[pkg][first] {
					t.Errorf("%s: a comment names %s, which is not declared", strings.TrimPrefix(path, root+"/"), m[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Errorf("%d names: the walk saw too little", seen)
	}
}
