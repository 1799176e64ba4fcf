package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// clauses is one part of testdata/sql/clauses.yaml.
type clauses struct {
	Title string     `yaml:"title"`
	Of    []string   `yaml:"of"`
	Rows  [][]string `yaml:"rows"` // feature, statement over private rows, statement over public ones
}

const features = "../../rewrite/pgsyntax/testdata/golden/features"

// TestSQLDoc makes docs/sql.md from the registries and from what happens to its examples when they are run. With -update it writes the
// page, without it the page must be the one that is made.
func TestSQLDoc(t *testing.T) {
	w := newSite(t)
	var page bytes.Buffer
	writeParts(t, &page, "head.md")
	_, example, _ := strings.Cut(page.String(), "```sql\n")
	example, _, _ = strings.Cut(example, ";\n```")
	if state := w.state(t, example); state != "yes" {
		t.Errorf("the example of head.md: %s", state)
	}
	writeClauses(t, w, &page)
	writeGrammar(t, &page)
	writeParts(t, &page, "statistics.md", "ranges.md", "order.md", "tpch_head.md", "tpch.md") // the last is internal/testkit/bench/tpc's
	writeTypes(&page)
	writeFunctions(t, &page)
	writeSettings(t, w, &page)
	writeMissing(t, &page)
	compare(t, "../../docs/sql.md", page.Bytes())
}

// writeParts copies the parts that are written by hand.
func writeParts(t *testing.T, page *bytes.Buffer, names ...string) {
	for _, name := range names {
		text, err := os.ReadFile("testdata/sql/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page.Write(text)
	}
}

// writeClauses runs each feature's statements and says what came of them.
func writeClauses(t *testing.T, w *site, page *bytes.Buffer) {
	text, err := os.ReadFile("testdata/sql/clauses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []clauses
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	page.WriteString("\n## Clause by clause\n\nEach statement was run when this page was made, on the [clinic](errors.md#the-clinic). \"yes\" means that it\nis answered. An id says how it is refused.\n")
	for _, part := range all {
		fmt.Fprintf(page, "\n### %s\n\n| feature | private rows | public tables, released values | example |\n|---|---|---|---|\n", part.Title)
		for _, of := range part.Of {
			described[of] = true
		}
		for _, row := range part.Rows {
			if len(row) != 3 {
				t.Fatalf("%q has %d cells", row, len(row))
			}
			private, public := w.state(t, row[1]), w.state(t, row[2])
			if public == private && public != "yes" {
				public = "the same"
			}
			example := row[1]
			if example == "" || private != "yes" && public == "yes" {
				example = row[2]
			}
			fmt.Fprintf(page, "| %s | %s | %s | `%s` |\n", escaped(row[0]), private, public, escaped(example))
		}
	}
	for _, heading := range headings(t) {
		if !described[heading] {
			t.Errorf("no part of clauses.yaml is of %q of the parser's checklist", heading)
		}
		delete(described, heading)
	}
	for heading := range described {
		t.Errorf("the parser's checklist has no %q", heading)
	}
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// state is what becomes of a statement: yes, or the refusal's id with its message.
func (w *site) state(t *testing.T, sql string) string {
	t.Helper()
	if sql == "" {
		return ""
	}
	p := Place{On: "clinic"}
	s := w.serve(t, p)
	c, err := s.dial(p.user(), "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	err = s.ask(c, sql)
	if err == nil {
		return "yes"
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		t.Fatalf("%s: %v", sql, err)
	}
	id := s.id(sql, err)
	if own := refusals[id]; !own {
		t.Errorf("%s\nis a mistake: %s %s", sql, id, pe.Message)
	}
	return fmt.Sprintf("[%s](errors.md#%s): %s", id, id, escaped(pe.Message))
}

// refusals are the ids by which a statement that PostgreSQL takes is refused. Another one in the table would be a mistake of the table.
var refusals = map[string]bool{"unsupported": true, "unsupported_function": true, "unsupported_operator": true, "unsupported_cast": true, "unsupported_type": true,
	"raw_rows": true, "private_shape": true, "join_off_unit": true, "no_range": true, "private_function": true}

var (
	heading     = regexp.MustCompile(`^# (.*)$`)
	refusedPart = regexp.MustCompile(`^0A000 (.*?) at "`)
)

// headings are those of the parser's checklist, without its head and its last part.
func headings(t *testing.T) (out []string) {
	lines := featureLines(t)
	for i, l := range lines {
		if m := heading.FindStringSubmatch(l); m != nil && i > 2 && !strings.HasPrefix(m[1], "What PostgreSQL's parser of version 17") {
			out = append(out, m[1])
		}
	}
	if len(out) < 10 {
		t.Fatalf("the parser's checklist has %d headings", len(out))
	}
	return out
}

func featureLines(t *testing.T) []string {
	text, err := os.ReadFile(features)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// writeGrammar lists what the parser refuses by name, from its checklist, with an example each.
func writeGrammar(t *testing.T, page *bytes.Buffer) {
	page.WriteString("\n### Grammar that the parser knows and refuses\n\nThis list comes from the parser's checklist of PostgreSQL's grammar (`rewrite/pgsyntax/testdata/golden/features`). PostgreSQL's own parser was\nasked about it line by line.\n\n" +
		"| refused | example |\n|---|---|\n")
	seen := map[string]bool{}
	var in, out []string
	part := 0 // 1: statements that are to be refused, 2: how they were
	flush := func() {
		for i := range min(len(in), len(out)) {
			m := refusedPart.FindStringSubmatch(out[i])
			if m == nil || seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			fmt.Fprintf(page, "| %s | `%s` |\n", escaped(strings.TrimSuffix(strings.TrimSuffix(m[1], " yet"), " is not supported")), escaped(in[i]))
		}
		in, out, part = nil, nil, 0
	}
	for _, l := range featureLines(t) {
		switch {
		case strings.HasPrefix(l, "# What PostgreSQL's parser of version 17"):
			flush()
			if len(seen) < 20 {
				t.Errorf("only %d refusals", len(seen))
			}
			return
		case l == "refuse":
			flush()
			part = 1
		case l == "" || l == "read":
			flush()
		case l == "----" && part == 1:
			part = 2
		case part == 1:
			in = append(in, l)
		case part == 2:
			out = append(out, l)
		}
	}
	flush()
}

// writeSettings lists the settings as SHOW ALL has them, and tries what they take.
func writeSettings(t *testing.T, w *site, page *bytes.Buffer) {
	p := Place{On: "clinic"}
	s := w.serve(t, p)
	c, err := s.dial(p.user(), "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	res, err := c.Exec(context.Background(), "SHOW ALL").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	page.WriteString("\n## Settings\n\nSettings are changed with `SET`, `SET LOCAL`, `RESET` or the connection's options, and shown with `SHOW`. Those of dpsql are in\n[configuration.md](configuration.md). " +
		"\"Only this\" means that another value is refused by name, so that nothing is promised that is not kept.\n\n| setting | here | about | other values |\n|---|---|---|---|\n")
	tried, without := map[string]bool{}, 0
	for _, row := range res[0].Rows {
		name, value, about := string(row[0]), string(row[1]), string(row[2])
		other := otherValues[strings.ToLower(name)]
		tried[strings.ToLower(name)] = true
		state := ""
		var pe *pgconn.PgError
		switch err := s.ask(c, fmt.Sprintf("SET %s = %s", name, cmp(other, "'other'"))); {
		case err == nil && other != "":
			state = "such as " + other
		case err == nil:
			state = "any"
		case errors.As(err, &pe) && strings.HasSuffix(pe.Message, "cannot be changed"):
			state = "fixed"
		case other != "":
			t.Errorf("SET %s = %s: %v", name, other, err)
		case pe != nil && pe.Code == sqlerr.Unsupported.Code:
			state = "only this"
		case slices.ContainsFunc([]string{"on", "off"}, func(v string) bool {
			return errors.As(s.ask(c, fmt.Sprintf("SET %s = %s", name, v)), &pe) && pe.Code == sqlerr.Unsupported.Code
		}):
			state = "only this"
		default:
			without++
		}
		_ = s.ask(c, "RESET ALL")
		if state == "" {
			continue
		}
		if name == "application_name" || strings.HasPrefix(name, "dpsql.") && name == "dpsql.notices" {
			value = ""
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", name, escaped(value), escaped(about), escaped(state))
	}
	fmt.Fprintf(page, "\nThe other %d settings of PostgreSQL 15 are shown as a fresh server has them. What any user may set there (work_mem, enable_seqscan, jit, ...) says\nhow a server works, not what it answers. "+
		"Such a setting is taken, checked and shown, and it has no effect here. The rest is refused as PostgreSQL\nrefuses it.\n", without)
	for name := range otherValues {
		if !tried[name] {
			t.Errorf("there is no setting %s", name)
		}
	}
}

func cmp(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// otherValues are values beside the default that are taken.
var otherValues = map[string]string{"client_encoding": "latin1", "dpsql.price": "0.1", "dpsql.mechanism": "laplace", "dpsql.max_groups": "8", "dpsql.clip": "5", "dpsql.bounding": "l2", "dpsql.notices": "full", "dpsql.target_error": "'5%'", "dpsql.expected_size": "1000", "dpsql.fresh": "on", "dpsql.on_low_count": "'null'", "dpsql.rounding": "off", "dpsql.simultaneous": "on", "dpsql.consistent": "off",
	"client_min_messages": "warning", "default_transaction_read_only": "on", "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on", "bytea_output": "escape", "datestyle": "'SQL, DMY'", "extra_float_digits": "0",
	"intervalstyle": "iso_8601", "timezone": "'Europe/Berlin'", "escape_string_warning": "off", "transaction_isolation": "serializable", "transaction_deferrable": "on", "transaction_read_only": "on",
	"search_path": "pg_catalog", "statement_timeout": "'30s'", "idle_in_transaction_session_timeout": "'5min'", "idle_session_timeout": "'1h'", "lock_timeout": "'10s'"}

// TestPublicKeys: what the page calls public groups needs no selection: under a policy without delta, where unknown groups are refused, they are answered.
func TestPublicKeys(t *testing.T) {
	w := newSite(t)
	without := Place{On: "clinic", Policy: [][]string{{"delta: 1e-6", "delta: 0"}}}
	for _, key := range []string{"readmitted", "kind_id", "days", "days > 3", "CASE WHEN diag = 'a' THEN 1 ELSE 2 END", "floor(days / 10) * 10", "width_bucket(days, 0, 20, 4)", "days % 7", "days::text",
		"CASE WHEN days < 3 THEN 'short' WHEN days < 10 THEN 'long' END"} {
		w.accepted(t, without, []string{"SELECT " + key + ", count(*) FROM encounters GROUP BY 1"})
	}
	w.accepted(t, without, []string{"SELECT diag, count(*) FROM encounters WHERE diag IN ('a', 'b') GROUP BY 1", "SELECT free, count(*) FROM encounters WHERE free BETWEEN 1 AND 9 GROUP BY 1"})
	if pe, id := w.refusal(t, without, []string{"SELECT diag, count(*) FROM encounters GROUP BY 1"}); id != "unknown_groups" {
		t.Errorf("%s: %s", id, pe.Message)
	}
}
