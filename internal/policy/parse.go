package policy

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/dpsql/dpsql/internal/dp"
)

// Limits of what a policy can say. Beyond them a promise means nothing or a number is a slip of the pen.
const (
	maxEpsilon       = 10000
	maxDelta         = 0.01
	maxGroupsLimit   = 1 << 20
	maxRowsLimit     = 1 << 32
	maxPublicGroups  = 10_000_000
	defaultPublic    = 100_000
	defaultGroups    = 4
	defaultListen    = "127.0.0.1:6543"
	defaultTimeout   = 60 * time.Second
	defaultTTL       = 24 * time.Hour
	defaultMechanism = "auto"
)

// Parse reads a policy from its text; name is its file, for messages and relative paths (resolved against its folder). The
// error is an *Error with every mistake. env:NAME values come from the environment.
func Parse(name string, text []byte) (*Policy, error) { return parse(name, text, os.LookupEnv) }

func parse(name string, text []byte, lookup func(string) (string, bool)) (*Policy, error) {
	f := &file{reader: reader{lookup: lookup}, p: &Policy{Name: name}}
	if body := f.parseYAML(text); body != nil {
		f.policy(body)
	}
	if err := f.err(name); err != nil {
		return nil, err
	}
	return f.p, nil
}

// file is one parse. Sections that refer to others are read after them, whatever their order in the file.
type file struct {
	reader
	p     *Policy
	later []func()
}

func (f *file) policy(body ast.Node) {
	var budget, query, analysts, unit, tables, people, ledger ast.Node
	keep := func(to *ast.Node) func(ast.Node) { return func(n ast.Node) { *to = n } }
	p := f.p
	p.Cache = Cache{TTL: defaultTTL, Scope: "data_set"}
	p.Listen, p.StatementTimeout = defaultListen, defaultTimeout
	f.fields(body, "the policy", []field{
		{name: "dataset", required: true, read: f.dataset},
		{name: "people", read: keep(&people)},
		{name: "backend", required: true, read: f.backend},
		{name: "unit", required: true, read: keep(&unit)},
		{name: "tables", required: true, read: keep(&tables)},
		{name: "budget", required: true, read: keep(&budget)},
		{name: "query", read: keep(&query)},
		{name: "analysts", required: true, read: keep(&analysts)},
		{name: "ledger", read: keep(&ledger)},
		{name: "cache", read: f.cache},
		{name: "listen", read: f.listen},
		{name: "statement_timeout", read: func(n ast.Node) {
			if d, ok := f.duration(n, "statement_timeout", time.Millisecond, 24*time.Hour); ok {
				p.StatementTimeout = d
			}
		}},
		{name: "tls", instead: "listen on 127.0.0.1 and bring analysts there through SSH"},
		{name: "timing"},
	})
	if tables != nil {
		f.tables(tables)
	}
	if unit != nil {
		f.unit(unit)
	}
	for _, resolve := range f.later {
		resolve()
	}
	f.unitPaths()
	f.budget(budget)
	f.query(query)
	if analysts != nil {
		f.analysts(analysts)
	}
	p.People = p.Dataset
	if people != nil {
		if w, ok := f.text(people, "people"); ok && w.text != p.Dataset {
			f.add(w.position, "people: policies that share one ledger are not built yet").hint("leave it out, or give the dataset's name")
		}
	}
	p.Ledger.SQLite = f.path(p.Dataset + ".ledger")
	if ledger != nil {
		f.ledger(ledger)
	}
}

var (
	datasetName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	analystName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.@-]{0,62}$`)
	settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]{0,62}$`)
)

func (f *file) dataset(n ast.Node) {
	w, ok := f.text(n, "dataset")
	if ok && !datasetName.MatchString(w.text) {
		f.add(w.position, "dataset must be a name of at most 63 letters, digits, _ and -, not %q", clip(w.text))
		return
	}
	f.p.Dataset = w.text
}

// path resolves a relative path against the policy's folder, so that starting elsewhere does not open an empty ledger.
func (f *file) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(f.p.Name), p)
}

func (f *file) backend(n ast.Node) {
	b := &f.p.Backend
	var settings ast.Node
	given := 0
	f.fields(n, "backend", []field{
		{name: "postgres", read: func(n ast.Node) {
			given++
			if w, ok := f.secretText(n, "backend.postgres"); ok {
				b.Postgres = w.text
				if u, err := url.Parse(w.text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" {
					f.add(w.position, "backend.postgres must be a URL postgres://user@host/database, or env:NAME of one")
				}
			}
		}},
		{name: "duckdb", read: func(n ast.Node) {
			given++
			if w, ok := f.text(n, "backend.duckdb"); ok {
				b.DuckDB = f.path(w.text)
			}
		}},
		{name: "files", instead: "load them into a DuckDB file"},
		{name: "settings", read: func(n ast.Node) { settings = n }},
	})
	if given != 1 {
		f.add(at(n), "backend must be one of postgres and duckdb")
	}
	if settings == nil {
		return
	}
	if b.DuckDB != "" {
		f.add(at(settings), "backend.settings are for postgres only")
		return
	}
	entries, _ := f.mapping(settings, "backend.settings")
	b.Settings = map[string]string{}
	for _, e := range entries {
		if !settingName.MatchString(e.key.text) {
			f.add(e.key.position, "%q is not the name of a setting", clip(e.key.text))
			continue
		}
		if w, ok := f.text(e.value, "backend.settings."+e.key.text); ok {
			b.Settings[e.key.text] = w.text
		}
	}
}

func (f *file) unit(n ast.Node) {
	w, ok := f.text(n, "unit")
	if !ok {
		return
	}
	parts, err := parseDotted(w.text, 3)
	if err != nil || len(parts) < 2 {
		f.add(w.position, "unit must be table.column, not %q", clip(w.text))
		return
	}
	table, column := parts[:len(parts)-1], parts[len(parts)-1]
	t := f.find(table)
	if t == nil {
		f.unknownTable(w.position, "unit", table)
		return
	}
	f.p.Unit, f.p.unitTable, f.p.unitColumn = dp.Unit(w.text), t, word{w.position, column}
	if t.public {
		f.add(w.position, "the unit's table %s is public", t)
	}
}

func (f *file) budget(n ast.Node) {
	b := &f.p.Budget
	b.Accountant = "rdp"
	if n == nil {
		return
	}
	f.fields(n, "budget", []field{
		{name: "epsilon", required: true, read: func(n ast.Node) {
			b.Epsilon, _ = f.float(n, "budget.epsilon", bounds{0, maxEpsilon, false})
		}},
		{name: "delta", required: true, read: func(n ast.Node) {
			b.Delta, _ = f.float(n, "budget.delta", bounds{0, maxDelta, true})
		}},
		{name: "accountant", read: func(n ast.Node) {
			b.Accountant = f.choice(n, "budget.accountant", []string{"rdp", "pure"}, []string{"zcdp", "gdp", "pld"})
		}},
		{name: "per", instead: "leave it out: the budget holds for ever"},
		{name: "lifetime", instead: "leave it out: the budget holds for ever"},
	})
}

func (f *file) query(n ast.Node) {
	b, q := f.p.Budget, &f.p.Query
	*q = Query{Epsilon: b.Epsilon / 100, Delta: b.Delta / 2000, Mechanism: defaultMechanism, Bounding: "linf",
		MaxGroups: defaultGroups, MaxPublicGroups: defaultPublic}
	if n == nil {
		return
	}
	f.fields(n, "query", []field{
		{name: "epsilon", read: func(n ast.Node) {
			x, ok := f.float(n, "query.epsilon", bounds{0, maxEpsilon, false})
			if ok && b.Epsilon > 0 && x > b.Epsilon {
				f.add(at(n), "query.epsilon %g is more than budget.epsilon %g", x, b.Epsilon)
			}
			q.Epsilon = x
		}},
		{name: "delta", read: func(n ast.Node) {
			x, ok := f.float(n, "query.delta", bounds{0, maxDelta, true})
			if ok && x > b.Delta {
				f.add(at(n), "query.delta %g is more than budget.delta %g", x, b.Delta)
			}
			q.Delta = x
		}},
		{name: "mechanism", read: func(n ast.Node) {
			q.Mechanism = f.choice(n, "query.mechanism", []string{defaultMechanism, "laplace", "gaussian"}, nil)
			if q.Mechanism == "gaussian" && (b.Accountant == "pure" || b.Delta == 0) {
				f.add(at(n), "query.mechanism gaussian needs budget.delta above 0 and the accountant rdp")
			}
		}},
		{name: "bounding", read: func(n ast.Node) {
			q.Bounding = f.choice(n, "query.bounding", []string{"linf"}, []string{"l2"})
		}},
		{name: "max_groups", read: func(n ast.Node) {
			if f.auto(n, "query.max_groups") {
				return
			}
			if x, _, ok := f.count(n, "query.max_groups", maxGroupsLimit); ok {
				q.MaxGroups = uint64(x)
			}
		}},
		{name: "max_public_groups", read: func(n ast.Node) {
			if x, _, ok := f.count(n, "query.max_public_groups", maxPublicGroups); ok {
				q.MaxPublicGroups = int(x)
			}
		}},
		{name: "min_people", read: func(n ast.Node) {
			if w, ok := f.text(n, "query.min_people"); ok && w.text != "none" {
				f.add(w.position, "query.min_people is not built yet").hint("leave it out, or write none")
			}
		}},
	})
}

// auto refuses the word auto, which is not built yet.
func (f *file) auto(n ast.Node, what string) bool {
	s, ok := n.(*ast.StringNode)
	if !ok || s.Token.Value != "auto" {
		return false
	}
	f.add(at(n), "%s: auto is not built yet", what).hint("give a number")
	return true
}

func (f *file) analysts(n ast.Node) {
	entries, ok := f.mapping(n, "analysts")
	if !ok {
		return
	}
	for _, e := range entries {
		what := "analysts." + clip(e.key.text)
		if !analystName.MatchString(e.key.text) {
			f.add(e.key.position, "an analyst's name has at most 63 letters, digits, _ . @ and -, not %q", clip(e.key.text))
		}
		a := &Analyst{Name: e.key.text, Epsilon: f.p.Budget.Epsilon, Share: 1,
			MaxQueryEpsilon: 10 * f.p.Query.Epsilon}
		f.fields(e.value, what, []field{
			{name: "password", required: true, read: func(n ast.Node) {
				w, ok := f.secretText(n, what+".password")
				if !ok {
					return
				}
				if err := checkVerifier(w.text); err != nil {
					f.add(w.position, "%s.password: %v", what, err)
				}
				a.Verifier = w.text
			}},
			{name: "may", read: func(n ast.Node) { f.may(n, a, what+".may") }},
			{name: "budget", read: func(n ast.Node) { f.quota(n, a, what+".budget") }},
			{name: "max_query_epsilon", read: func(n ast.Node) {
				a.MaxQueryEpsilon, _ = f.float(n, what+".max_query_epsilon", bounds{0, maxEpsilon, false})
			}},
		})
		f.p.Analysts = append(f.p.Analysts, a)
	}
}

func (f *file) quota(n ast.Node, a *Analyst, what string) {
	whole := f.p.Budget.Epsilon
	f.fields(n, what, []field{
		{name: "epsilon", required: true, read: func(n ast.Node) {
			x, ok := f.float(n, what+".epsilon", bounds{0, maxEpsilon, false})
			switch {
			case !ok || whole == 0:
			case x > whole:
				f.add(at(n), "%s.epsilon %g is more than the data set's %g", what, x, whole)
			default:
				a.Epsilon, a.Share = x, share(x, whole)
			}
		}},
		{name: "delta", instead: "an analyst's quota is a share of both, set by epsilon"},
		{name: "per"},
		{name: "lifetime"},
	})
}

// share is part/whole rounded down, and never 0.
func share(part, whole float64) float64 {
	if part == whole {
		return 1
	}
	return max(math.Nextafter(part/whole, 0), math.SmallestNonzeroFloat64)
}

func (f *file) cache(n ast.Node) {
	c := &f.p.Cache
	f.fields(n, "cache", []field{
		{name: "ttl", read: func(n ast.Node) {
			if d, ok := f.duration(n, "cache.ttl", 0, 10*365*24*time.Hour); ok {
				c.TTL = d
			}
		}},
		{name: "scope", read: func(n ast.Node) {
			c.Scope = f.choice(n, "cache.scope", []string{"data_set", "analyst"}, nil)
		}},
	})
}

func (f *file) ledger(n ast.Node) {
	f.fields(n, "ledger", []field{
		{name: "sqlite", read: func(n ast.Node) {
			w, ok := f.text(n, "ledger.sqlite")
			switch {
			case !ok:
			case strings.HasPrefix(w.text, "file:") || strings.HasPrefix(w.text, ":"):
				f.add(w.position, "ledger.sqlite must be a path, not a URI")
			default:
				f.p.Ledger.SQLite = f.path(w.text)
			}
		}},
		{name: "postgres", instead: "keep the ledger in SQLite"},
	})
}

func (f *file) listen(n ast.Node) {
	w, ok := f.text(n, "listen")
	if !ok {
		return
	}
	if err := f.p.SetListen(w.text); err != nil {
		f.add(w.position, "%v", err).hint("such as %s", defaultListen)
	}
}

// SetListen replaces the address to listen on, host:port, under the policy's own rule: other addresses than the machine's own
// need TLS.
func (p *Policy) SetListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("listen must be host:port, not %q", clip(addr))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("listen: other addresses than the machine's own need TLS, which is not built yet")
	}
	p.Listen = addr
	return nil
}
