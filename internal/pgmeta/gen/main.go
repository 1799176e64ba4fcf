// Command gen writes the file of package pgmeta from a fresh PostgreSQL 15 server's own catalogs.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

func main() {
	url := flag.String("url", "postgres://postgres@127.0.0.1:5432/postgres", "a PostgreSQL 15 server, freshly made with encoding UTF8 and locale C")
	out := flag.String("out", "catalog.gz", "the file that is written")
	flag.Parse()
	if err := write(context.Background(), *url, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, url, path string) error {
	text, err := read(ctx, url)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // a file of the source tree
}

// relations are the catalogs' tables and views; of a view the text that PostgreSQL keeps.
const relations = `
select n.nspname, c.relname, c.oid::text, c.relkind::text, case c.relkind when 'v' then pg_get_viewdef(c.oid) else '' end
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v')
order by 1, 2`

// columns have a domain's base type, as answers have.
const columns = `
select concat_ws(e'\t', a.attname, coalesce(nullif(t.typbasetype, 0), t.oid)::oid, case when t.typtype = 'd' then t.typtypmod else a.atttypmod end, a.attnotnull::int)
from pg_attribute a join pg_type t on t.oid = a.atttypid
where a.attrelid = $1::oid and a.attnum > 0
order by a.attnum`

// without names what has no rows: what tells of one server's files, roles and statistics, and of what is only the inside of views and constraints.
var without = map[string]bool{
	"pg_rewrite": true, "pg_statistic": true, "pg_database": true, "pg_init_privs": true, "pg_shdescription": true,
	"pg_shdepend": true, "pg_largeobject": true, "pg_subscription": true,
}

// where leaves out what depends on what, but for the members of extensions, the collations of the server's operating system, and what belongs to its TOAST tables, whose numbers are not the same everywhere.
var where = map[string]string{
	"pg_collation":   "where collprovider = 'd' or collname in ('C', 'POSIX', 'ucs_basic')",
	"pg_depend":      "where deptype = 'e'",
	"pg_authid":      "where oid <> 10",
	"pg_description": "where classoid <> 'pg_collation'::regclass",
}

// kept is what PostgreSQL's functions say of its own objects, by the name of the function; columns have their types.
var kept = []struct {
	name    string
	columns []string
	query   string
}{
	{"pg_get_keywords", []string{"word\t25", "catcode\t18", "barelabel\t16", "catdesc\t25", "baredesc\t25"}, "SELECT * FROM pg_get_keywords()"},
	{"pg_get_expr", []string{"tree\t25", "text\t25"}, "SELECT DISTINCT proargdefaults::text, pg_get_expr(proargdefaults, 0) FROM pg_proc WHERE proargdefaults IS NOT NULL"},
	{"pg_get_function_sqlbody", []string{"oid\t26", "text\t25"}, "SELECT oid, pg_get_function_sqlbody(oid) FROM pg_proc WHERE prosqlbody IS NOT NULL"},
	{"pg_get_viewdef", []string{"oid\t26", "text\t25", "pretty\t25"}, "SELECT oid, pg_get_viewdef(oid), pg_get_viewdef(oid, true) FROM pg_class WHERE relkind = 'v'"},
	{"pg_get_constraintdef", []string{"oid\t26", "text\t25", "pretty\t25"}, "SELECT oid, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE contype = 'c'"},
	{"ts_token_type", []string{"parser\t26", "tokid\t23", "alias\t25", "description\t25"}, "SELECT p.oid, t.* FROM pg_ts_parser p, ts_token_type(p.oid) t"},
}

// selected are the columns, objects by their OIDs.
func selected(lines []string) string {
	var out []string
	for _, l := range lines {
		f := strings.Split(l, "\t")
		name := pgx.Identifier{f[0]}.Sanitize()
		if f[1] == "24" || f[1] == "2206" { // regproc, regtype
			name += "::oid"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func read(ctx context.Context, url string) ([]byte, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, relations)
	if err != nil {
		return nil, err
	}
	type relation struct{ Schema, Name, OID, Kind, View string }
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range list {
		fmt.Fprintf(&b, "=\t%s\t%s\t%s\t%s\n", r.Schema, r.Name, r.OID, r.Kind)
		rows, err := conn.Query(ctx, columns, r.OID)
		if err != nil {
			return nil, err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			fmt.Fprintf(&b, "-\t%s\n", l)
		}
		if r.Kind == "v" {
			fmt.Fprintf(&b, ":\t%s\n", strings.ReplaceAll(r.View, "\n", " "))
			continue
		}
		if r.Schema != "pg_catalog" && !strings.HasPrefix(r.Name, "sql_") || without[r.Name] {
			continue
		}
		var data bytes.Buffer
		query := fmt.Sprintf("COPY (SELECT %s FROM %s.%s t %s ORDER BY 1, t::text) TO STDOUT", selected(lines), r.Schema, r.Name, where[r.Name])
		if r.Name == "pg_type" || r.Name == "pg_proc" { // their own order is by oid, too
			query = strings.Replace(query, "ORDER BY 1, t::text", "ORDER BY 1", 1)
		}
		if _, err := conn.PgConn().CopyTo(ctx, &data, query); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		for line := range strings.Lines(data.String()) {
			b.WriteString(">\t" + line)
		}
	}
	for _, k := range kept {
		fmt.Fprintf(&b, "=\tkept\t%s\t0\tr\n", k.name)
		for _, c := range k.columns {
			fmt.Fprintf(&b, "-\t%s\t-1\t0\n", c)
		}
		var rows bytes.Buffer
		if _, err := conn.PgConn().CopyTo(ctx, &rows, "COPY ("+k.query+" ORDER BY 1, 2) TO STDOUT"); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		for line := range strings.Lines(rows.String()) {
			b.WriteString(">\t" + line)
		}
	}
	return b.Bytes(), nil
}
