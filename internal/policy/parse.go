package policy

import (
	"encoding/hex"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Parse reads a policy from its text; name is its file, for messages and relative paths (resolved against its folder). The
// error is an *Error with every mistake. env:NAME values come from the environment.
func Parse(name string, text []byte) (*Policy, error) { return parse(name, text, os.LookupEnv) }

func parse(name string, text []byte, lookup func(string) (string, bool)) (*Policy, error) {
	f := parsed(name, text, lookup)
	if err := f.err(name); err != nil {
		return nil, err
	}
	return f.p, nil
}

// ParseToEdit is Parse for who changes the file: variables of the environment that are not set are no mistakes. What it gives lacks them, and cannot be served.
func ParseToEdit(name string, text []byte) (*Policy, error) {
	f := parsed(name, text, os.LookupEnv)
	f.exceptUnset()
	if err := f.err(name); err != nil {
		return nil, err
	}
	return f.p, nil
}

func parsed(name string, text []byte, lookup func(string) (string, bool)) *file {
	f := &file{reader: reader{lookup: lookup}, p: &Policy{Name: name}}
	if body := f.parseYAML(text); body != nil {
		f.policy(body)
	}
	return f
}

func (f *file) policy(body ast.Node) {
	var population, budget, query, analysts, retired, unit, units, tables, ledger, roles, listen, console ast.Node
	keep := func(to *ast.Node) func(ast.Node) { return func(n ast.Node) { *to = n } }
	p := f.p
	p.Cache = Cache{TTL: defaultTTL, Scope: "data_set"}
	p.Listen, p.Limits, p.Preview, p.ScramIterations = defaultListen, DefaultLimits(), PreviewNone, DefaultIterations
	f.fields(body, "the policy", []field{
		{name: "dataset", required: true, read: f.dataset},
		{name: "people", read: f.people},
		{name: "data_version", read: f.dataVersion},
		{name: "population", read: keep(&population)},
		{name: "backend", required: true, read: f.backend},
		{name: "unit", read: keep(&unit)},
		{name: "units", read: keep(&units)},
		{name: "tables", required: true, read: keep(&tables)},
		{name: "budget", required: true, read: keep(&budget)},
		{name: "query", read: keep(&query)},
		{name: "analysts", required: true, read: keep(&analysts)},
		{name: "retired", read: keep(&retired)},
		{name: "ledger", read: keep(&ledger)},
		{name: "cache", read: f.cache},
		{name: "roles", read: keep(&roles)},
		{name: "listen", read: keep(&listen)},
		{name: "limits", read: f.limits},
		{name: "preview", read: func(n ast.Node) {
			p.Preview = f.choice(n, "preview", []string{PreviewNone, PreviewSchema, PreviewMock}, nil)
		}},
		{name: "metrics", read: f.metrics},
		{name: "console", read: keep(&console)},
		{name: "audit", read: func(n ast.Node) { p.Audit = f.fileOrNone(n, "audit") }},
		{name: "socket", read: func(n ast.Node) { p.Socket = f.fileOrNone(n, "socket") }},
		{name: "statement_timeout", read: func(n ast.Node) {
			if d, ok := f.duration(n, "statement_timeout", time.Millisecond, 24*time.Hour); ok {
				p.Limits.StatementTime = d
			}
		}},
		{name: "tls", read: f.tls},
		{name: "balancers", read: f.balancers},
		{name: "scram_iterations", read: f.iterations},
		{name: "timing"},
	})
	if p.People == "" {
		p.People = p.Dataset
	}
	p.Ledger.Shared = f.path(p.People + ".ledger")
	p.Ledger.Beside = p.Ledger.Shared
	if ledger != nil {
		f.ledger(ledger)
	}
	own := f.path(p.Dataset + ".ledger") // policies over the same people may be served at once
	if p.Ledger.Postgres == "" {
		if p.Ledger.SQLite == "" {
			p.Ledger.SQLite = p.Ledger.Beside
		}
		p.Ledger.Beside, own = p.Ledger.SQLite, p.Ledger.SQLite
	}
	for _, d := range []struct {
		to   *string
		name string
	}{{&p.Socket, own + ".sock"}, {&p.Audit, own + ".audit.jsonl"}} {
		if *d.to == "" {
			*d.to = d.name
		}
	}
	if listen != nil {
		f.listen(listen)
	}
	if console != nil {
		f.console(console)
	}
	if tables != nil {
		f.tables(tables)
	}
	before := len(f.list)
	f.unitKinds(body, unit, units)
	if population != nil {
		f.population(population, len(f.list) == before)
	}
	for _, resolve := range f.later {
		resolve()
	}
	f.unitPaths()
	f.budget(budget)
	f.query(query)
	var known []role
	if roles != nil {
		known = f.roles(roles)
	}
	if analysts != nil {
		f.analysts(analysts, known)
	}
	if retired != nil {
		f.retired(retired)
	}
}

// fileOrNone reads a path, or none.
func (f *file) fileOrNone(n ast.Node, what string) string {
	w, ok := f.text(n, what)
	if !ok || w.text == "none" {
		return "none"
	}
	return f.path(w.text)
}

func (f *file) dataset(n ast.Node) {
	w, ok := f.text(n, "dataset")
	if ok && !datasetName.MatchString(w.text) {
		f.add(w.position, "dataset must be a name of at most 63 letters, digits, _ and -, not %q", clip(w.text))
		return
	}
	f.p.Dataset = w.text
}

func (f *file) people(n ast.Node) {
	w, ok := f.text(n, "people")
	if ok && !datasetName.MatchString(w.text) {
		f.add(w.position, "people must be a name of at most 63 letters, digits, _ and -, not %q", clip(w.text))
		return
	}
	f.p.People = w.text
}

func (f *file) dataVersion(n ast.Node) {
	w, ok := f.text(n, "data_version")
	if ok && (w.text == "" || len(w.text) > 63) {
		f.add(w.position, "data_version must be a text of 1 to 63 bytes, such as \"2026-11\"")
		return
	}
	f.p.DataVersion = w.text
}

func (f *file) backend(n ast.Node) {
	b := &f.p.Backend
	var settings ast.Node
	given := 0
	f.fields(n, "backend", []field{
		{name: "postgres", read: func(n ast.Node) {
			given++
			if w, ok := f.secretText(n, "backend.postgres", "postgres://user:password@host/database"); ok {
				b.Postgres = w.text
				f.postgresURL(w, "backend.postgres")
			}
		}},
		{name: "duckdb", read: func(n ast.Node) {
			given++
			if w, ok := f.text(n, "backend.duckdb"); ok {
				b.DuckDB = f.path(w.text)
			}
		}},
		{name: "files", read: func(n ast.Node) {
			given++
			if w, ok := f.text(n, "backend.files"); ok {
				b.Files = f.path(w.text)
			}
		}},
		{name: "settings", read: func(n ast.Node) { settings = n }},
	})
	if given != 1 {
		f.add(at(n), "backend must be one of postgres, duckdb and files")
	}
	if settings == nil {
		return
	}
	if b.Postgres == "" {
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
		{name: "key", read: func(n ast.Node) { c.Key = f.releaseKey(n) }},
	})
}

// releaseKey reads env:NAME or file:PATH of a key in hex. Its text is never part of a message.
func (f *file) releaseKey(n ast.Node) Secret {
	w, ok := f.text(n, "cache.key")
	if !ok {
		return ""
	}
	cure := "make one with openssl rand -hex 32"
	text := ""
	if name, fromEnv := strings.CutPrefix(w.text, "env:"); fromEnv {
		if text, ok = f.lookup(name); !ok || text == "" {
			p := f.add(w.position, "cache.key: the environment variable %s is not set", clip(name))
			p.hint("%s", cure)
			p.unset = true
			return ""
		}
	} else if path, fromFile := strings.CutPrefix(w.text, "file:"); fromFile {
		read, err := os.ReadFile(f.path(path))
		if err != nil {
			f.add(w.position, "cache.key: %v", err).hint("%s", cure)
			return ""
		}
		text = string(read)
	} else {
		f.add(w.position, "cache.key must be env:NAME or file:PATH of a key, which does not stand in the policy itself").hint("%s", cure)
		return ""
	}
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != 32 || strings.Trim(string(key), "\x00") == "" {
		f.add(w.position, "cache.key must be 32 random bytes in hex").hint("%s", cure)
		return ""
	}
	return Secret(key)
}

func (f *file) ledger(n ast.Node) {
	given := 0
	f.fields(n, "ledger", []field{
		{name: "sqlite", read: func(n ast.Node) {
			given++
			w, ok := f.text(n, "ledger.sqlite")
			switch {
			case !ok:
			case strings.HasPrefix(w.text, "file:") || strings.HasPrefix(w.text, ":"):
				f.add(w.position, "ledger.sqlite must be a path, not a URI")
			default:
				f.p.Ledger.SQLite = f.path(w.text)
			}
		}},
		{name: "postgres", read: func(n ast.Node) {
			given++
			if w, ok := f.secretText(n, "ledger.postgres", "postgres://user:password@host/database"); ok {
				f.p.Ledger.Postgres = w.text
				f.postgresURL(w, "ledger.postgres")
			}
		}},
	})
	if given != 1 {
		f.add(at(n), "ledger must be one of sqlite and postgres")
	}
}

// postgresURL refuses what is no URL of a database.
func (f *file) postgresURL(w word, what string) {
	if u, err := url.Parse(w.text); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" {
		f.add(w.position, "%s must be a URL postgres://user@host/database, or env:NAME of one", what)
	}
}

// Load reads and checks a policy file; see Parse.
func Load(path string) (*Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Places reads where a policy's server and ledger are, and whom it knows, whatever else is wrong with the file or missing from the
// environment: the emergency stop must not depend on passwords. Nothing else of what it gives may be used.
func Places(path string) (*Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := parsed(path, text, secretOrDash)
	if f.p.Dataset == "" {
		return nil, f.err(path)
	}
	return f.p, nil
}

// secretOrDash: an owner's command needs no secrets but where the ledger is in a database.
func secretOrDash(name string) (string, bool) {
	if value, ok := os.LookupEnv(name); ok {
		return value, true
	}
	return "-", true
}
