package rooms

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture of docs/architecture.md")

// Between these lines docs/architecture.md has its picture.
const (
	pictureBegins = "<!-- rooms: written by go test ./internal/rooms -run TestArchitecturePicture -update -->\n"
	pictureEnds   = "<!-- end -->\n"
)

// inOneRoom are rooms whose parts the picture shows as one.
var inOneRoom = []string{"internal/engine", "internal/backend", "mlext", "rewrite/dialect", "sensitivity"}

// roomShown is the node of the picture that a package belongs to; "" for leaves, embedded pages and helpers of tests, which it leaves out.
func roomShown(dir string) string {
	if contains(leaves, dir) || dir == "docs" || strings.HasPrefix(dir, "testdata/") {
		return ""
	}
	for _, x := range testOnly {
		if dir == x {
			return ""
		}
	}
	if dir == "budget/account" {
		return "budget"
	}
	for _, x := range inOneRoom {
		if dir == x || strings.HasPrefix(dir, x+"/") {
			return x
		}
	}
	return dir
}

// picture draws the import rules as a Mermaid graph. An arrow that follows from others is left out.
func picture(allowed map[string][]string) string {
	imports := map[string]map[string]bool{}
	for dir := range allowed {
		if room := roomShown(dir); room != "" && imports[room] == nil {
			imports[room] = map[string]bool{}
		}
	}
	for dir, list := range allowed {
		room := roomShown(dir)
		for _, x := range list {
			if to := roomShown(x); x != "*" && room != "" && to != "" && to != room {
				imports[room][to] = true
			}
		}
		if room != "" && contains(list, "*") {
			for other := range imports {
				imports[room][other] = other != room
			}
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for x, is := range imports[from] {
			if is && (x == to || reaches(x, to)) {
				return true
			}
		}
		return false
	}
	var lines []string
	for room, list := range imports {
		for to, is := range list {
			if !is {
				continue
			}
			direct := true
			for x, is := range list {
				direct = direct && (!is || x == to || !reaches(x, to))
			}
			if direct {
				lines = append(lines, fmt.Sprintf("  %s --> %s\n", node(room), node(to)))
			}
		}
	}
	slices.Sort(lines)
	return "```mermaid\nflowchart TD\n" + strings.Join(lines, "") + "```\n"
}

// node is a room with its name in the graph.
func node(room string) string {
	return strings.ReplaceAll(room, "/", "_") + "[" + room + "]"
}

// TestArchitecturePicture: the picture of docs/architecture.md is that of the import rules, and the page has a paragraph for each of its rooms.
func TestArchitecturePicture(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "architecture.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), pictureBegins)
	shown, after, ends := strings.Cut(rest, pictureEnds)
	if !begins || !ends {
		t.Fatal("the page has no place for a picture")
	}
	allowed := parsed()
	want := picture(allowed)
	if *update {
		if err := os.WriteFile(file, []byte(before+pictureBegins+want+pictureEnds+after), 0o644); err != nil { //nolint:gosec // a page of the tree
			t.Fatal(err)
		}
	} else if shown != want {
		t.Errorf("the picture is not that of the import rules: %s writes it\n%s", strings.TrimSuffix(strings.TrimPrefix(pictureBegins, "<!-- rooms: written by "), " -->\n"), want)
	}
	for dir := range allowed {
		if room := roomShown(dir); room != "" && !regexp.MustCompile("(?m)^\\*\\*.*`"+regexp.QuoteMeta(room)+"`.*\\*\\*").MatchString(after) {
			t.Errorf("the page has no paragraph on %s", room)
		}
	}
}

// declared are the names that the tree declares: of each package by the last element of its path, and of each type its fields and methods as Type.Name.
func declared(root string) (map[string]map[string]bool, error) {
	out := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.Base(filepath.Dir(file))
		if out[pkg] == nil {
			out[pkg] = map[string]bool{}
		}
		names := out[pkg]
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					names[decl.Name.Name] = true
				} else if of := typeName(decl.Recv.List[0].Type); of != "" {
					names[of+"."+decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							names[n.Name] = true
						}
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
						var fields *ast.FieldList
						switch x := spec.Type.(type) {
						case *ast.StructType:
							fields = x.Fields
						case *ast.InterfaceType:
							fields = x.Methods
						default:
							continue
						}
						for _, field := range fields.List {
							for _, n := range field.Names {
								names[spec.Name.Name+"."+n.Name] = true
							}
						}
					}
				}
			}
		}
		return nil
	})
	return out, err
}

func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

var goName = regexp.MustCompile(`^([a-z]\w*\.)?[A-Za-z]\w*(\.[A-Za-z]\w*)?$`)

// unresolved are the code spans of a page that name neither a file or folder of the tree, nor something that it declares, nor a word that the reference pages have. Flags are left out.
func unresolved(page string, root string, names map[string]map[string]bool, words string) (out []string) {
	page = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page, "")
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(page, -1) {
		span := strings.TrimSuffix(m[1], "()")
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(span))); err == nil {
			continue
		}
		if strings.HasPrefix(span, "-") || strings.HasPrefix(span, "bin/") {
			continue // a flag, or what make builds
		}
		if strings.HasPrefix(span, "go ") {
			out = append(out, unresolvedIn(span, root, names)...)
			continue
		}
		if !isDeclared(span, names) && !strings.Contains(words, "`"+span) {
			out = append(out, m[1])
		}
	}
	return out
}

// unresolvedIn are the folders and tests of a go command that do not exist.
func unresolvedIn(command, root string, names map[string]map[string]bool) (out []string) {
	for _, word := range strings.Fields(command) {
		if dir, ok := strings.CutPrefix(word, "./"); ok {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(dir, "...")))); err != nil {
				out = append(out, word)
			}
		}
	}
	for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(command, -1) {
		if !isDeclared(name, names) {
			out = append(out, name)
		}
	}
	return out
}

// isDeclared reports a Go name: package.Name, package.Type.Name, Type.Name or Name.
func isDeclared(span string, names map[string]map[string]bool) bool {
	if !goName.MatchString(span) {
		return false
	}
	if pkg, name, ok := strings.Cut(span, "."); ok && names[pkg][name] {
		return true
	}
	for _, of := range names {
		if of[span] {
			return true
		}
	}
	return false
}

// TestArchitectureNames: what docs/architecture.md and CONTRIBUTING.md name in code spans exists.
func TestArchitectureNames(t *testing.T) {
	root := filepath.Join("..", "..")
	names, err := declared(root)
	if err != nil {
		t.Fatal(err)
	}
	words := ""
	for _, file := range []string{"docs/configuration.md", "docs/policy.md", "docs/sql.md", "docs/training.md"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		words += string(text)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][\w -]*):`).FindAllStringSubmatch(string(makefile), -1) {
		for _, target := range strings.Fields(m[1]) {
			words += "`make " + target + "`"
		}
	}
	for _, file := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range unresolved(string(page), root, names, words) {
			t.Errorf("%s names `%s`, which does not exist", file, span)
		}
	}
	for _, bad := range []string{"internal/nothing", "sensitivity.Nothing", "Program.Nothing", "noise/nothing.go", "go doc ./nothing", "go test ./noise -run TestNothing"} {
		if len(unresolved("`"+bad+"`", root, names, words)) == 0 {
			t.Errorf("%s is not found out", bad)
		}
	}
}
