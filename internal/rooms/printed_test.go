package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printingRooms are those whose functions make SQL.
var printingRooms = []string{"rewrite/dialect", "rewrite/dialect/postgres", "rewrite/dialect/duckdb", "rewrite/funcs", "rewrite/sqlgen"}

// textEdits are functions that edit a text or look for something in it.
var textEdits = regexp.MustCompile(`^(strings|bytes)\.(New?Replacer|Replace\w*|Trim\w*|Cut\w*|Split\w*|Fields\w*|Index\w*|LastIndex\w*|Contains\w*|Has\w*|Count|Map|To\w+|Title|EqualFold)$|^regexp\.|^utf8\.Decode`)

// textReaders are the functions of the printing rooms that may do so, by what the text is that they read.
var textReaders = map[string][]string{
	"values, which are computed in Go": {"funcs.textFunctions", "funcs.textParts", "funcs.startsWith", "funcs.translate", "funcs.splitPart", "funcs.trims", "funcs.initcap", "funcs.textArray", "funcs.encoding", "duckdb.digitsOf"},
	"constants of a statement, and lists of names": {
		"funcs.units", "funcs.unitOf", "funcs.location", "funcs.duckZoneNames", "funcs.fieldRow", "funcs.clockTZField", "funcs.encoding", "funcs.liked", "funcs.likeEscape", "funcs.similarToRegex",
		"funcs.translatePattern", "funcs.quantifier", "funcs.escape", "funcs.set", "funcs.dateShape", "funcs.dateRow", "funcs.parseFormat", "funcs.cased", "funcs.numberFormat",
	},
	"templates of rows, into which arguments are put once":   {"funcs.fill", "funcs.duckFill", "funcs.guard"},
	"texts that become literals and names":                   {"dialect.Quote", "duckdb.literal"},
	"prints that are refused, for what looks like the thing": {"dialect.HasSubquery", "sqlgen.textsMade", "sqlgen.checkLength", "sqlgen.depth"},
	"a row's print of no arguments":                          {"funcs.Calls"},
}

// TestPrintedIsBuilt: SQL that was printed is never edited. An edit cannot tell the form that it means from an argument's, which a row chose for its own reasons, nor from a text in quotes.
func TestPrintedIsBuilt(t *testing.T) {
	allowed := map[string]bool{}
	for _, list := range textReaders {
		for _, name := range list {
			allowed[name] = true
		}
	}
	used, files := map[string]bool{}, 0
	for _, room := range printingRooms {
		paths, err := filepath.Glob(filepath.Join("..", "..", room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			edits, err := editsOf(string(text))
			if err != nil {
				t.Fatal(err)
			}
			files++
			for _, e := range edits {
				if name := filepath.Base(room) + "." + e[0]; allowed[name] {
					used[name] = true
				} else {
					t.Errorf("%s: %s calls %s: build the text; a function that reads no printed SQL belongs to textReaders", path, name, e[1])
				}
			}
		}
	}
	for name := range allowed {
		if !used[name] {
			t.Errorf("%s reads no text", name)
		}
	}
	if files < 70 || len(used) < 20 {
		t.Errorf("only %d files, with %d functions that read texts", files, len(used))
	}
}

// editsOf are the functions of a file that edit or read texts, each with the call. What is declared outside of functions has the name of the variable.
func editsOf(source string) (out [][2]string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // of imports
	for _, im := range f.Imports {
		path := strings.Trim(im.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if im.Name != nil {
			names[im.Name.Name] = name
		} else {
			names[name] = name
		}
	}
	for _, d := range f.Decls {
		name := "var"
		switch d := d.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
		case *ast.GenDecl:
			if spec, ok := d.Specs[0].(*ast.ValueSpec); ok {
				name = spec.Names[0].Name
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok || names[x.Name] == "" {
				return true
			}
			if call := names[x.Name] + "." + sel.Sel.Name; textEdits.MatchString(call) && call != "regexp.Regexp" {
				if e := [2]string{name, call}; !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
			return true
		})
	}
	return out, nil
}

// TestPrintedIsBuiltBites: edits are found wherever they stand.
func TestPrintedIsBuiltBites(t *testing.T) {
	for source, want := range map[string]string{
		"import \"strings\"\nfunc f(s string) string { return strings.ReplaceAll(s, \"TRY_CAST(\", \"CAST(\") }":        "strings.ReplaceAll",
		"import s \"strings\"\nfunc f(x string) string { return func() string { return s.TrimSuffix(x, \" END\") }() }": "strings.TrimSuffix",
		"import \"strings\"\nvar edit = strings.NewReplacer(\"a\", \"b\")":                                              "strings.NewReplacer",
		"import \"regexp\"\nfunc f(s string) string { return regexp.MustCompile(\"a\").ReplaceAllString(s, \"\") }":     "regexp.MustCompile",
		"import \"strings\"\nfunc f(s []string) string { return strings.Join(s, \", \") }":                              "",
		"import \"bytes\"\nfunc f(s []byte) bool { return bytes.Contains(s, nil) }":                                     "bytes.Contains",
		"import \"strings\"\nfunc f(s string) bool { edit := strings.Cut; _, _, ok := edit(s, \"TRY\"); return ok }":    "strings.Cut",
		"import \"strings\"\nfunc f(s string) (n int) { for range strings.SplitSeq(s, \"TRY\") { n++ }; return n }":     "strings.SplitSeq",
	} {
		edits, err := editsOf("package x\n" + source)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(edits) == 1 && edits[0][1] == want; got != (want != "") {
			t.Errorf("%v in %s", edits, source)
		}
	}
}
