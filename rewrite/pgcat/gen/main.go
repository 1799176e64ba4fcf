// Command gen writes the tables of package pgcat from a PostgreSQL 15 server's own catalogs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

func main() {
	url := flag.String("url", "postgres://postgres@127.0.0.1:5432/postgres", "a PostgreSQL 15 server")
	dir := flag.String("dir", ".", "where the tables are written")
	flag.Parse()
	if err := write(context.Background(), *url, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, url, dir string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, t := range tables {
		text, err := read(ctx, conn, t.query)
		if err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, t.file), []byte(text), 0o644); err != nil { //nolint:gosec // a file of the source tree
			return err
		}
	}
	return nil
}

// read gives a query's rows, which are texts, as lines.
func read(ctx context.Context, conn *pgx.Conn, query string) (string, error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n") + "\n", err
}

// tables are the queries; columns are in the order in which package pgcat reads them. Row types of tables are left out: their
// OIDs are not the same on every server.
var tables = []struct{ file, query string }{
	{"types.tsv", `
select concat_ws(e'\t', t.oid::text, t.typname, t.typlen, t.typtype, t.typcategory, t.typispreferred::int, t.typelem, t.typarray,
  (t.typsubscript = 'array_subscript_handler'::regproc)::int, t.typbasetype, (t.typcollation <> 0)::int,
  coalesce(r.rngsubtype, 0), coalesce(m.rngtypid, 0), coalesce(r.rngmultitypid, 0))
from pg_type t left join pg_range r on r.rngtypid = t.oid left join pg_range m on m.rngmultitypid = t.oid
where t.typnamespace = 'pg_catalog'::regnamespace and t.oid < 10000 and t.typtype <> 'c'
order by t.oid`},
	{"operators.tsv", `
select concat_ws(e'\t', o.oid::text, o.oprname, o.oprleft::oid, o.oprright::oid, o.oprresult::oid, o.oprcode::oid)
from pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace
order by o.oid`},
	{"procs.tsv", `
select concat_ws(e'\t', p.oid::text, p.proname, p.prokind, p.provolatile, p.proisstrict::int, p.proretset::int, p.prorettype::oid, p.provariadic::oid,
  p.proargtypes::text, coalesce(a.aggkind::text, '-'), coalesce(a.aggnumdirectargs, 0),
  coalesce(array_to_string(p.proargmodes, ''), '-'),
  coalesce(array_to_string(p.proargnames, ',', ''), '-'),
  coalesce((select string_agg(pg_get_function_arg_default(p.oid, i), '|' order by i)
    from generate_series(p.pronargs - p.pronargdefaults + 1, p.pronargs) i where p.pronargdefaults > 0), '-'),
  coalesce(array_to_string(p.proallargtypes, ' '), '-'))
from pg_proc p left join pg_aggregate a on a.aggfnoid = p.oid
where p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384
order by p.oid`},
	{"casts.tsv", `
select concat_ws(e'\t', c.castsource::oid::text, c.casttarget::oid, c.castfunc::oid, c.castcontext, c.castmethod)
from pg_cast c order by c.castsource, c.casttarget`},
}
