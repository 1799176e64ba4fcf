// Package rooms tests the import rules of the tree: one text policy, see docs/architecture.md.
package rooms

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dpsql/dpsql/"

// rules: room: what it may import of our own. Leaves are open to all. A room covers the folders below it unless they have a
// rule of their own. Test files may import anything.
const rules = `
cmd/dpsql: *
proxy: internal/engine/session internal/engine/answer internal/pgmeta rewrite/pgsyntax
internal/engine/answer:
internal/engine/flow:
internal/engine/price: budget internal/engine/flow noise sensitivity sensitivity/elastic
internal/engine/release: budget/ledger internal/base/secret internal/engine/flow internal/engine/price internal/engine/quantile internal/spool noise rewrite/plan rewrite/sqlgen sensitivity sensitivity/groups sensitivity/reuse
internal/engine/quantile: sensitivity
internal/engine/finish: internal/engine/price internal/engine/quantile internal/engine/release internal/eval noise rewrite/funcs rewrite/plan sensitivity sensitivity/divide
internal/engine/server: budget budget/ledger internal/backend internal/base/secret internal/engine/flow internal/engine/watch/watches internal/policy mlext noise rewrite/dialect rewrite/funcs rewrite/plan rewrite/sqlgen
internal/engine/session: budget budget/ledger internal/backend internal/base/secret internal/engine/answer internal/engine/finish internal/engine/flow internal/engine/price internal/engine/release internal/engine/server internal/engine/watch/watches internal/eval internal/pgmeta internal/policy internal/spool mlext rewrite/pgsyntax rewrite/plan rewrite/sqlgen sensitivity
internal/engine/stage: budget/ledger internal/backend internal/engine/answer internal/engine/finish internal/engine/price internal/engine/release internal/engine/server internal/engine/session internal/eval internal/spool rewrite/dialect rewrite/plan rewrite/sqlgen sensitivity sensitivity/divide sensitivity/elastic sensitivity/describe sensitivity/reuse
internal/engine/private: budget/ledger internal/backend internal/base/secret internal/engine/answer internal/engine/finish internal/engine/flow internal/engine/price internal/engine/release internal/engine/server internal/engine/session internal/engine/stage internal/eval internal/policy mlext rewrite/funcs rewrite/plan rewrite/sqlgen sensitivity sensitivity/claims sensitivity/divide sensitivity/describe sensitivity/reuse sensitivity/unit
internal/engine/catalog: internal/engine/answer internal/engine/finish internal/engine/server internal/engine/session internal/eval internal/pgmeta internal/policy mlext rewrite/pgsyntax rewrite/plan sensitivity/divide
internal/engine/explain: budget budget/ledger internal/engine/answer internal/engine/catalog internal/engine/finish internal/engine/price internal/engine/private internal/engine/release internal/engine/server internal/engine/session internal/engine/stage rewrite/pgsyntax rewrite/plan sensitivity sensitivity/divide sensitivity/describe
internal/engine/model: budget budget/ledger internal/backend internal/base/secret internal/engine/answer internal/engine/catalog internal/engine/explain internal/engine/price internal/engine/private internal/engine/server internal/engine/session internal/engine/stage internal/spool mlext rewrite/pgsyntax rewrite/plan rewrite/sqlgen sensitivity sensitivity/divide sensitivity/reuse sensitivity/unit
internal/engine/watch: budget/ledger internal/base/secret internal/engine/answer internal/engine/private internal/engine/release internal/engine/server internal/engine/session internal/engine/watch/watches noise rewrite/pgsyntax rewrite/sqlgen sensitivity sensitivity/reuse
internal/engine/watch/watches: internal/sidetable noise rewrite/pgsyntax
internal/engine/cube: budget/ledger internal/engine/answer internal/engine/explain internal/engine/private internal/engine/server internal/engine/session internal/engine/stage mlext rewrite/pgsyntax rewrite/plan sensitivity
internal/engine/synthetic: budget budget/ledger internal/engine/answer internal/engine/catalog internal/engine/explain internal/engine/model internal/engine/price internal/engine/private internal/engine/server internal/engine/session internal/engine/stage mlext mlext/synth rewrite/pgsyntax rewrite/plan rewrite/sqlgen sensitivity sensitivity/reuse
internal/engine: budget/ledger internal/engine/answer internal/engine/catalog internal/engine/cube internal/engine/explain internal/engine/model internal/engine/price internal/engine/private internal/engine/release internal/engine/server internal/engine/session internal/engine/stage internal/engine/synthetic internal/engine/watch internal/eval rewrite/pgsyntax rewrite/plan sensitivity sensitivity/divide
internal/pgmeta: internal/eval rewrite/plan rewrite/funcs rewrite/pgcat rewrite/pgsyntax
internal/eval: rewrite/plan rewrite/funcs internal/spool
internal/spool:
internal/sidetable:
internal/owner: internal/policy internal/backend internal/engine/server internal/engine/watch/watches internal/ops budget/ledger proxy rewrite/pgsyntax
internal/console: budget/ledger internal/owner proxy rewrite/pgsyntax rewrite/funcs rewrite/plan
internal/ops: internal/engine/server budget/ledger
mlext: mlext/data mlext/loss mlext/convex mlext/descent rewrite/pgsyntax rewrite/plan noise budget internal/base/secret internal/sidetable
mlext/data:
mlext/kernel:
mlext/synth: budget/account noise
mlext/loss:
mlext/convex: mlext/data mlext/kernel mlext/loss budget/account noise
mlext/descent: mlext/data mlext/kernel mlext/loss budget/account noise
rewrite/pgsyntax:
rewrite/dialect:
rewrite/dialect/postgres: rewrite/dialect
rewrite/dialect/duckdb: rewrite/dialect
rewrite/funcs: rewrite/dialect rewrite/dialect/postgres rewrite/dialect/duckdb
rewrite/pgcat:
rewrite/plan: rewrite/pgsyntax rewrite/funcs rewrite/pgcat
rewrite/sqlgen: rewrite/dialect rewrite/plan rewrite/funcs sensitivity sensitivity/divide sensitivity/interval
sensitivity/relation: rewrite/plan rewrite/funcs internal/eval
sensitivity/elastic:
sensitivity: sensitivity/elastic sensitivity/relation rewrite/plan
sensitivity/scope: sensitivity sensitivity/relation rewrite/plan
sensitivity/interval: sensitivity/scope sensitivity sensitivity/relation rewrite/plan rewrite/funcs internal/eval
sensitivity/unit: sensitivity/interval sensitivity/scope sensitivity sensitivity/relation rewrite/plan rewrite/funcs internal/eval
sensitivity/joins: sensitivity/unit sensitivity/interval sensitivity/scope sensitivity sensitivity/elastic sensitivity/relation rewrite/plan
sensitivity/groups: sensitivity/unit sensitivity/interval sensitivity/scope sensitivity sensitivity/relation rewrite/plan rewrite/funcs
sensitivity/claims: sensitivity/groups sensitivity/joins sensitivity/unit sensitivity/interval sensitivity/scope sensitivity sensitivity/relation rewrite/plan rewrite/funcs
sensitivity/reuse: sensitivity/groups sensitivity sensitivity/relation rewrite/plan
sensitivity/describe: sensitivity rewrite/plan rewrite/funcs
sensitivity/divide: sensitivity/reuse sensitivity/claims sensitivity/groups sensitivity/joins sensitivity/unit sensitivity/interval sensitivity/scope sensitivity sensitivity/relation rewrite/plan rewrite/funcs
noise:
budget: budget/account
budget/account:
budget/ledger: budget internal/spool
internal/backend: internal/base/secret rewrite/dialect
internal/backend/duckdb: internal/backend internal/base/secret rewrite/dialect rewrite/dialect/duckdb
internal/backend/postgres: internal/backend internal/base/secret rewrite/dialect rewrite/dialect/postgres
internal/policy: rewrite/plan rewrite/pgsyntax
internal/base/dp:
internal/base/secret:
internal/base/sqltype:
internal/base/sqlerr:
internal/base/num:
docs:
testdata/demo:
testdata/sakila:
internal/testkit/pgtest: testdata/demo testdata/sakila
internal/testkit/citustest: internal/testkit/pgtest
internal/testkit/backendtest: internal/backend internal/base/secret internal/testkit/pgtest testdata/demo
internal/testkit/neighbour: internal/backend internal/base/secret internal/testkit/pgtest testdata/demo rewrite/dialect rewrite/pgsyntax rewrite/plan rewrite/funcs rewrite/sqlgen sensitivity sensitivity/divide internal/policy
internal/testkit/audit: mlext/data noise
internal/testkit/enginetest: *
internal/attacker: budget
internal/testkit/corpus: internal/testkit/pgtest testdata/demo rewrite/pgsyntax rewrite/plan rewrite/funcs rewrite/sqlgen
internal/testkit/bench: *
`

var leaves = []string{"internal/base/dp", "internal/base/sqltype", "internal/base/sqlerr", "internal/base/num"}

// testOnly packages are helpers of tests and benches: no product file may import them.
var testOnly = []string{"internal/testkit/pgtest", "internal/testkit/citustest", "internal/testkit/backendtest", "internal/testkit/neighbour", "internal/testkit/corpus", "internal/testkit/bench", "internal/testkit/audit", "internal/testkit/enginetest", "internal/attacker"}

func TestImportRules(t *testing.T) {
	allowed := parsed()
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." {
				return fs.SkipDir // a nested module
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		room := roomOf(filepath.ToSlash(filepath.Dir(rel)), allowed)
		if room == "" {
			t.Errorf("%s is in no room of the rules", rel)
			return nil
		}
		seen[room] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range f.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			switch {
			case (room == "internal/testkit/bench" || room == "internal/testkit/enginetest") && strings.HasPrefix(p, "math/rand"): // invented data, the same each time
			case p == "math/rand" || p == "math/rand/v2":
				t.Errorf("%s imports %s: noise and choices come from crypto/rand", rel, p)
			case strings.HasPrefix(p, module) && !may(room, strings.TrimPrefix(p, module), allowed[room]):
				t.Errorf("%s (room %s) may not import %s", rel, room, p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"cmd/dpsql", "proxy", "internal/engine", "noise", "budget", "sensitivity", "rewrite/sqlgen"} {
		if !seen[room] {
			t.Errorf("room %s has no file: the walk saw too little", room)
		}
	}
}

func parsed() map[string][]string {
	allowed := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(rules), "\n") {
		room, list, _ := strings.Cut(line, ":")
		allowed[room] = strings.Fields(list)
	}
	return allowed
}

// TestRulesBite shows that the rules refuse what they should.
func TestRulesBite(t *testing.T) {
	allowed := parsed()
	for _, c := range []struct{ room, imp string }{
		{"noise", "rewrite/plan"}, {"noise", "budget"}, {"budget", "noise"}, {"budget", "budget/ledger"}, {"rewrite/sqlgen", "noise"},
		{"sensitivity", "noise"}, {"sensitivity", "internal/backend"}, {"rewrite/plan", "sensitivity"}, {"internal/policy", "internal/backend"},
		{"proxy", "internal/base/secret"}, {"proxy", "budget/ledger"}, {"proxy", "internal/engine/release"}, {"internal/engine/server", "internal/backend/duckdb"},
		{"internal/engine/server", "internal/engine/session"}, {"internal/engine/stage", "internal/engine/private"}, {"sensitivity/unit", "sensitivity/claims"}, {"internal/engine", "proxy"}, {"internal/backend/duckdb", "internal/backend/postgres"}, {"cmd/dpsql", "internal/testkit/pgtest"}, {"internal/owner", "internal/testkit/enginetest"},
	} {
		if list, ok := allowed[c.room]; !ok || may(c.room, c.imp, list) {
			t.Errorf("%s may import %s", c.room, c.imp)
		}
	}
	if !may("internal/engine", "budget/ledger", allowed["internal/engine"]) {
		t.Error("the engine may not import the ledger")
	}
}

func roomOf(dir string, allowed map[string][]string) string {
	for d := dir; d != "." && d != ""; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, ok := allowed[d]; ok {
			return d
		}
	}
	return ""
}

func may(room, imp string, list []string) bool {
	for _, x := range testOnly {
		if imp == x && !strings.HasPrefix(room, x) {
			return contains(testOnly, room)
		}
	}
	if contains(leaves, imp) || imp == room {
		return true
	}
	for _, a := range list {
		if a == "*" || imp == a {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
