package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

var update = flag.Bool("update", false, "write docs/errors.md and docs/sql.md anew")

// explained is one kind in testdata/errors/kinds.yaml.
type explained struct {
	ID     string   `yaml:"id"`
	Means  string   `yaml:"means"`
	Cure   string   `yaml:"cure"`
	Fails  []string `yaml:"fails"`  // the last one is refused with this id
	Passes []string `yaml:"passes"` // all are answered
	Place  `yaml:",inline"`
}

// unreached are the kinds without an example, and why.
var unreached = map[string]string{
	"invalid_binary":              "only a driver's binary parameters can have it",
	"invalid_encoding":            "a client's own encoding keeps such bytes out of this page",
	"protocol_violation":          "only a broken driver breaks the protocol",
	"duplicate_statement":         "drivers name prepared statements",
	"duplicate_portal":            "drivers name portals",
	"portal_state":                "only a driver runs a portal again",
	"cursor_state":                "only a driver names portals",
	"session_limit":               "it takes a thousand statements",
	"duplicate_object":            "it takes a model that was trained",
	"too_long":                    "this page has no room for a megabyte",
	"string_too_long":             "an explicit cast cuts a text, and nothing is stored",
	"query_canceled":              "it takes a second connection, at the right time",
	"admin_shutdown":              "it takes a server's stop",
	"idle_timeout":                "it takes a limit and time",
	"idle_in_transaction_timeout": "it takes a limit and time",
	"invalid_authorization":       "it takes many wrong passwords, or a client without TLS or its certificate",
	"internal":                    "nothing is known that leads to it",
	"resource_failure":            "it takes a database that fails",
	"schema_changed":              "it takes a database whose schema changes under the server",
	"read_only":                   "reserved: nothing is refused with it so far",
}

// TestErrorsDoc makes docs/errors.md: each registered kind is explained, its example fails with just its id, and what is shown as
// the cure is answered. With -update it writes the page, without it the page must be the one that is made.
func TestErrorsDoc(t *testing.T) {
	text, err := os.ReadFile("testdata/errors/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []explained
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	at := map[string]*explained{}
	for i := range all {
		if at[all[i].ID] != nil {
			t.Errorf("%s is explained twice", all[i].ID)
		}
		at[all[i].ID] = &all[i]
	}
	w := newSite(t)
	var page bytes.Buffer
	page.WriteString(errorsHead)
	ours, theirs := []sqlerr.Kind{}, []sqlerr.Kind{}
	for _, k := range sqlerr.Kinds() {
		if at[k.ID] == nil {
			t.Errorf("%s is not explained", k.ID)
			continue
		}
		if strings.HasPrefix(k.Code, "PV") {
			ours = append(ours, k)
		} else {
			theirs = append(theirs, k)
		}
	}
	slices.SortStableFunc(ours, func(a, b sqlerr.Kind) int { return strings.Compare(a.Code, b.Code) })
	slices.SortStableFunc(theirs, func(a, b sqlerr.Kind) int { return strings.Compare(a.Code, b.Code) })
	page.WriteString("\n| id | SQLSTATE | id | SQLSTATE | id | SQLSTATE |\n|---|---|---|---|---|---|\n")
	list := slices.Concat(ours, theirs)
	for row := range slices.Chunk(list, 3) {
		for _, k := range row {
			fmt.Fprintf(&page, "| [%s](#%s) | %s ", k.ID, k.ID, k.Code)
		}
		page.WriteString(strings.Repeat("| | ", 3-len(row)) + "|\n")
	}
	page.WriteString("\n## dpsql's own\n")
	for i, k := range list {
		if i == len(ours) {
			page.WriteString("\n## PostgreSQL's\n\nTheir SQLSTATEs and, wherever PostgreSQL refuses the statement too, their messages are PostgreSQL's own.\n")
		}
		e := at[k.ID]
		delete(at, k.ID)
		t.Run(k.ID, func(t *testing.T) { e.write(t, w, &page, k) })
	}
	for id := range at {
		t.Errorf("%s is no kind", id)
	}
	fmt.Fprintf(&page, "\n## The clinic\n\nA small data set of dpsql's own tests, for what the demo's policy leaves no room for. Of its policy:\n\n```yaml\n%s```\n", clinicTables())
	compare(t, "../../docs/errors.md", page.Bytes())
}

// compare holds a page against its file, or writes it.
func compare(t *testing.T, file string, page []byte) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(old, page) {
		return
	}
	was, is := strings.Split(string(old), "\n"), strings.Split(string(page), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("%s is stale: make it anew with -update. Line %d was\n%s\nand is\n%s", file, i+1, was[i], is[i])
		}
	}
	t.Fatalf("%s is stale: make it anew with -update. It has %d lines and would have %d", file, len(was), len(is))
}

// write runs a kind's examples and writes its section.
func (e *explained) write(t *testing.T, w *site, page *bytes.Buffer, k sqlerr.Kind) {
	why, without := unreached[k.ID]
	if without != (len(e.Fails) == 0 && e.Connect == nil) {
		t.Fatalf("%s: an example, or a reason why there is none", k.ID)
	}
	fmt.Fprintf(page, "\n### %s\n\nSQLSTATE %s. %s\n\n**Cure**: %s\n", k.ID, k.Code, onOneLine(e.Means), onOneLine(e.Cure))
	if without {
		fmt.Fprintf(page, "\nNo example: %s.\n", why)
	} else {
		pe, id := w.refusal(t, e.Place, e.Fails)
		if id != k.ID || pe.Code != k.Code {
			t.Errorf("%q is refused with %s %s: %s", e.Fails, pe.Code, id, pe.Message)
		}
		page.WriteString("\nRefused" + e.where() + ":\n\n```\n")
		if e.Connect != nil {
			user, password, database := e.connection("demo")
			fmt.Fprintf(page, "$ PGPASSWORD=%s psql -h 127.0.0.1 -p 6543 -U %s %s\n%s", password, user, database, shown("", pe))
		} else {
			for _, sql := range e.Fails {
				page.WriteString(strings.TrimPrefix(sql, mayFail) + ";\n")
			}
			page.WriteString(shown(e.Fails[len(e.Fails)-1], pe))
		}
		page.WriteString("```\n")
	}
	if len(e.Passes) > 0 {
		calm := e.Place
		if calm.Connect = nil; calm.Given != "" { // what happened is over; a user's own server stays
			calm.Given, calm.As = "", calm.user()
		}
		w.accepted(t, calm, e.Passes)
		page.WriteString("\nAnswered:\n\n```sql\n")
		for _, sql := range e.Passes {
			page.WriteString(sql + ";\n")
		}
		page.WriteString("```\n")
	}
}

// where says what is special about an example.
func (e *explained) where() string {
	var parts []string
	if e.On == "clinic" {
		parts = append(parts, "on the [clinic](#the-clinic)")
	}
	if e.As != "" {
		parts = append(parts, "as `"+e.As+"`")
	}
	for _, edit := range e.Policy {
		parts = append(parts, "where the policy has `"+strings.Join(strings.Fields(edit[1]), " ")+"`")
	}
	if e.Given != "" {
		parts = append(parts, "when "+givens[e.Given].words)
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// onOneLine is prose on one line.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const errorsHead = `<!-- Made by go test ./internal/engine -run TestErrorsDoc -update, from internal/engine/testdata/errors/kinds.yaml. -->
# Errors

This page is for analysts and for whoever writes a client. It lists each error, what it means, a statement that fails,
and one that passes.

Every refusal has a stable id, a SQLSTATE, a message, most often a hint with the cure, and the position in the
statement that was sent. None of it follows from private rows: the same statement gives the same error whatever the
data holds. A refusal before the charge costs nothing. The few errors that can come after it say that the cost stays
spent.

Each example was run over the wire when this page was made, on the demo (` + "`dpsql demo`" + `): type them yourself. The error
is shown as psql shows it. Tests and logs use the id, and this page is in its order. In psql ` + "`\\set VERBOSITY verbose`" + `
shows the SQLSTATE. A test checks the hints: it rewrites refused statements as the hint says, and the rewriting must
be accepted (internal/engine/testdata/hints). [sql.md](sql.md) tells what can be asked.
`
