package postgres_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

var viewTables = []string{
	`CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL, born date, boss integer REFERENCES person, score numeric, at timestamp, code char(3), n bigint)`,
	`CREATE TABLE visit (id bigint PRIMARY KEY, sender integer NOT NULL REFERENCES person, receiver integer REFERENCES person (id), word text,
		UNIQUE (sender, word))`,
	`CREATE TABLE parted (id integer PRIMARY KEY, x text) PARTITION BY LIST (id)`,
	`CREATE TABLE part1 PARTITION OF parted FOR VALUES IN (1)`,
	`CREATE TABLE ancestor (id integer PRIMARY KEY)`, `CREATE TABLE heir () INHERITS (ancestor)`,
	`CREATE MATERIALIZED VIEW copied AS SELECT id, name FROM person`,
	`CREATE FUNCTION own(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1'`,
	`CREATE FUNCTION moody(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1'`,
	`CREATE FUNCTION same(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT $1 = $2'`,
	`CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = same)`,
	`CREATE DOMAIN small AS integer CHECK (VALUE < 100)`,
	`CREATE TABLE mixed (name text COLLATE "C", word text COLLATE "POSIX")`,
	`CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
}

// Each view with what makes it not simple; "" is simple. The simple ones stand beside what they must not be taken for.
var viewCases = []struct{ query, why string }{
	{"SELECT * FROM person", ""},
	{"SELECT id AS who, lower(name) AS name FROM person WHERE born > '1990-01-01' AND name LIKE 'A%' AND n IN (1, 2, 3)", ""},
	{"SELECT id, CASE code WHEN 'abc' THEN 1 ELSE 2 END, coalesce(name, ''), greatest(n, 2), nullif(id, 1) AS o, extract(year FROM born) FROM person", ""},
	{"SELECT id, n IS DISTINCT FROM 3 AS c1, (n > 2) IS NOT TRUE AS c2, name || '!' AS c3, left(name, 2), id::text AS it, id::bigint AS ib, code::text FROM person ORDER BY name", ""},
	{"SELECT id, name COLLATE \"C\" AS c FROM person WHERE name ~~ 'x' OR name IS NULL", ""},
	{"SELECT ONLY_.id FROM ONLY person ONLY_", ""},
	{"SELECT * FROM parted", ""},
	{"SELECT x AS \"):a {b\" FROM parted", ""},
	{"SELECT p.id FROM person p JOIN visit v ON v.sender = p.id", "it joins"},
	{"SELECT p.id FROM person p, visit v", "it joins"},
	{"SELECT p.id FROM person p LEFT JOIN LATERAL (SELECT 1) l ON true", "it joins"},
	{"SELECT count(*) FROM person", "it has aggregates"},
	{"SELECT name FROM person GROUP BY name", "it has GROUP BY"},
	{"SELECT 1 FROM person GROUP BY ()", "it has GROUP BY"},
	{"SELECT 1 FROM person HAVING true", "it has HAVING"},
	{"SELECT DISTINCT name FROM person", "it has DISTINCT"},
	{"SELECT DISTINCT ON (name) id FROM person", "it has DISTINCT"},
	{"SELECT id, rank() OVER (ORDER BY id) FROM person", "it has window functions"},
	{"SELECT id FROM person LIMIT 5", "it has LIMIT"},
	{"SELECT id FROM person OFFSET 5", "it has OFFSET"},
	{"SELECT id FROM person ORDER BY id FETCH FIRST 2 ROWS WITH TIES", "it has LIMIT"},
	{"SELECT id FROM person UNION ALL SELECT id FROM person", "it has a set operation"},
	{"WITH w AS (SELECT 1) SELECT id FROM person", "it has a WITH clause"},
	{"SELECT id FROM person p WHERE EXISTS (SELECT FROM visit WHERE sender = p.id)", "it has subqueries"},
	{"SELECT id, (SELECT max(id) FROM visit) FROM person", "it has subqueries"},
	{"SELECT id FROM (SELECT * FROM person) p", "it does not read a relation"},
	{"SELECT id, generate_series(1, 2) FROM person", "it has set-returning functions"},
	{"SELECT * FROM generate_series(1, 2) g", "it does not read a relation"},
	{"SELECT * FROM (VALUES (1)) v", "it does not read a relation"},
	{"SELECT 1 AS one", "it reads no relation"},
	{"SELECT id FROM person TABLESAMPLE system (10)", "it samples rows"},
	{"SELECT id FROM person FOR UPDATE", "it locks rows"},
	{"SELECT id, random() FROM person", "random() is not immutable"},
	{"SELECT id FROM person WHERE born < current_date", "it uses current_date or the like"},
	{"SELECT id FROM person WHERE at < now()", "is not immutable"},
	{"SELECT id, born::text FROM person", "it casts through text"},
	{"SELECT id, name::integer FROM person", "it casts through text"},
	{"SELECT id, own(id) FROM person", "is a function of users"},
	{"SELECT id, moody(id) FROM person", "is not immutable"},
	{"SELECT id FROM person WHERE id OPERATOR(public.===) 3", "is not immutable"},
	{"SELECT id::small FROM person", "it uses coercetodomain"},
	{"SELECT id, 100 / id FROM person", "int4div(integer,integer) can fail"},
	{"SELECT id + 1 FROM person", "int4pl(integer,integer) can fail"},
	{"SELECT id FROM person WHERE name LIKE 'a\\'", "textlike(text,text) can fail"},
	{"SELECT id FROM person WHERE 'x' LIKE name", "textlike(text,text) can fail"},
	{"SELECT date_part('year', born) FROM person", "can fail"},
	{"SELECT greatest(name, name COLLATE \"C\") AS g, (n > 1)::text AS b FROM person", ""},
	{"SELECT name FROM mixed WHERE greatest(name, word) IS NULL", "of a type that dpsql does not know"},
	{"SELECT name FROM mixed WHERE name < word", "text_lt(text,text) can fail"},
	{"SELECT extract(epoch FROM born) FROM person", "can fail"},
	{"SELECT id FROM person WHERE name COLLATE loose = 'x'", "it uses a collation of its own"},
	{"SELECT id, ctid FROM person", "it uses a whole row or a system column"},
	{"SELECT tableoid, id FROM parted", "it uses a whole row or a system column"},
	{"SELECT p FROM person p", "it uses a whole row or a system column"},
	{"SELECT (id, n) = (1, 2) AS r, (id, n) < (1, 2) AS s FROM person", "it uses rowcompareexpr"},
	{"SELECT (ROW(id, n)) IS NULL AS r FROM person", "it uses"},
	{"SELECT * FROM ancestor", "is no plain table"},
	{"SELECT * FROM copied", "is no plain table"},
	{"SELECT oid, relname FROM pg_catalog.pg_class", "it reads a system catalog"},
}

// changing are the reasons that are in Volatile too.
var changing = regexp.MustCompile("immutable|current_date|through text|samples")

func describeViews(t *testing.T, name string, statements ...string) map[string]sqltype.Relation {
	t.Helper()
	database(t, name, statements...)
	d := open(t, name, postgres.Options{})
	all, err := d.Survey(t.Context())
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	out := map[string]sqltype.Relation{}
	for _, r := range all {
		out[r.Name] = r
	}
	return out
}

func TestSimpleViews(t *testing.T) {
	statements := slices.Clone(viewTables)
	for i, c := range viewCases {
		statements = append(statements, fmt.Sprintf("CREATE VIEW v%d AS %s", i, c.query), fmt.Sprintf("CREATE VIEW over%d AS SELECT * FROM v%d", i, i))
	}
	got := describeViews(t, "views", statements...)
	for i, c := range viewCases {
		for _, name := range []string{fmt.Sprint("v", i), fmt.Sprint("over", i)} {
			v := got[name].View
			if v == nil || got[name].Kind != sqltype.KindView {
				t.Fatalf("%s: no view: %+v", c.query, got[name])
			}
			if v.Simple != (c.why == "") || !strings.Contains(v.Why, c.why) {
				t.Errorf("%s: %s: simple %t because %q, want %q", name, c.query, v.Simple, v.Why, c.why)
			}
			if !v.Simple && (v.Base.Name != "" || v.BaseColumns != nil || got[name].Keys != nil || got[name].ForeignKeys != nil) {
				t.Errorf("%s: %s: a view that is not simple has facts: %+v", name, c.query, got[name])
			}
			if changing.MatchString(c.why) != (len(v.Volatile) > 0) {
				t.Errorf("%s: %s: volatile %v", name, c.query, v.Volatile)
			}
		}
	}
}

// What a simple view passes on: keys that it shows, foreign keys even where it hides them, under names that nothing else has.
func TestViewsPassOn(t *testing.T) {
	got := describeViews(t, "views_pass",
		append(slices.Clone(viewTables),
			`CREATE VIEW low AS SELECT id AS visit, sender AS receiver, word FROM visit WHERE word <> ''`,
			`CREATE VIEW high AS SELECT receiver AS x, visit, visit AS again, lower(word) AS word FROM low`,
			`CREATE VIEW mingled AS SELECT p.id, now() AS t, own(v.receiver) FROM person p JOIN low ON true JOIN visit v ON true JOIN part1 ON true`,
			`CREATE VIEW loop1 AS SELECT 1 AS x`, `CREATE VIEW loop2 AS SELECT * FROM loop1`, `CREATE OR REPLACE VIEW loop1 AS SELECT * FROM loop2`)...)
	low := got["low"]
	if want := [][]string{{"visit"}, {"receiver", "word"}}; !reflect.DeepEqual(low.Keys, want) {
		t.Errorf("keys %v, want %v", low.Keys, want)
	}
	fk := func(column string) sqltype.RelationForeignKey {
		return sqltype.RelationForeignKey{Columns: []string{column}, RefSchema: "public", RefTable: "person", RefColumns: []string{"id"}}
	}
	if want := []sqltype.RelationForeignKey{fk("receiver"), fk("visit.receiver")}; !reflect.DeepEqual(low.ForeignKeys, want) {
		t.Errorf("foreign keys %+v, want %+v", low.ForeignKeys, want)
	}
	high := got["high"]
	if want := [][]string{{"visit"}}; !reflect.DeepEqual(high.Keys, want) {
		t.Errorf("keys %v, want %v", high.Keys, want)
	}
	if want := []sqltype.RelationForeignKey{fk("x"), fk("receiver")}; !reflect.DeepEqual(high.ForeignKeys, want) {
		t.Errorf("foreign keys %+v, want %+v", high.ForeignKeys, want)
	}
	if want := map[string]string{"x": "sender", "visit": "id", "again": "id"}; !maps.Equal(high.View.BaseColumns, want) {
		t.Errorf("base columns %v, want %v", high.View.BaseColumns, want)
	}
	for i, notNull := range []bool{true, true, true, false} {
		if high.Columns[i].NotNull != notNull {
			t.Errorf("column %s: NOT NULL %t", high.Columns[i].Name, high.Columns[i].NotNull)
		}
	}
	m := got["mingled"].View
	var reads []string
	for _, r := range m.Reads {
		reads = append(reads, r.Name)
	}
	if want := []string{"low", "part1", "parted", "person", "visit"}; !slices.Equal(reads, want) {
		t.Errorf("reads %v, want %v", reads, want)
	}
	if !slices.Equal(m.Volatile, []string{"now()"}) || !slices.Equal(m.Opaque, []string{"public.own(integer)"}) {
		t.Errorf("volatile %v, opaque %v", m.Volatile, m.Opaque)
	}
	if v := got["loop1"].View; v.Simple {
		t.Errorf("a view that reads itself is simple: %+v", v)
	}
}

// Row-level security counts where it binds the connected role, or a view's owner.
func TestRowSecurity(t *testing.T) {
	database(t, "rowsec",
		`DROP ROLE IF EXISTS plain_reader`, `DROP ROLE IF EXISTS other_owner`, `CREATE ROLE plain_reader LOGIN`, `CREATE ROLE other_owner`,
		`CREATE TABLE open_ (id integer)`, `CREATE TABLE closed (id integer)`, `ALTER TABLE closed ENABLE ROW LEVEL SECURITY`,
		`CREATE VIEW by_owner AS SELECT * FROM closed`, `CREATE VIEW by_reader WITH (security_invoker) AS SELECT * FROM closed`,
		`CREATE VIEW deep AS SELECT * FROM by_reader`, `CREATE VIEW by_other AS SELECT * FROM closed`,
		`GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain_reader, other_owner`, `ALTER VIEW by_other OWNER TO other_owner`)
	d, err := postgres.Open(t.Context(), strings.Replace(server.URL("rowsec"), "postgres@", "plain_reader@", 1), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for name, want := range map[string]bool{"open_": false, "closed": true, "by_owner": false, "by_reader": true, "deep": true, "by_other": true} {
		for who, db := range map[string]*postgres.DB{"plain_reader": d, "superuser": open(t, "rowsec", postgres.Options{})} {
			got, err := db.Describe(t.Context(), []backend.RelationName{{Name: name}})
			if err != nil || len(got) != 1 {
				t.Fatal(backendtest.Cause(err), got)
			}
			from := ""
			if name == "by_other" {
				from = "other_owner"
			} else if want && who == "plain_reader" {
				from = who
			}
			if got[0].RowSecurity != from {
				t.Errorf("%s for the %s: row security hides rows from %q, want %q", name, who, got[0].RowSecurity, from)
			}
		}
	}
}
