package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/testdata/demo"
)

// world is a schema: in PostgreSQL, and as the binder's catalog, read back from there.
type world struct {
	ctx     context.Context
	conn    *pgx.Conn
	tables  catalog
	session map[string]plan.SessionValue
	parser  *Parser
}

// open makes a database with a schema.
func open(server *pgtest.Server, db, root, schema string) (*world, error) {
	if err := load(server, db, root, schema); err != nil {
		return nil, err
	}
	w := &world{ctx: context.Background()}
	var err error
	if w.conn, err = pgx.Connect(w.ctx, server.URL(db)); err != nil {
		return nil, err
	}
	if w.tables, err = readCatalog(w.ctx, w.conn); err != nil {
		return nil, errors.Join(err, w.conn.Close(w.ctx))
	}
	if err := w.constants(); err != nil {
		return nil, errors.Join(err, w.conn.Close(w.ctx))
	}
	if err := w.fill(); err != nil {
		return nil, errors.Join(err, w.conn.Close(w.ctx))
	}
	return w, nil
}

// constants are the functions about the session that the binder takes as constants, as the server has them.
func (w *world) constants() error {
	w.session = map[string]plan.SessionValue{}
	for _, name := range []string{"version()", "current_database()", "current_catalog", "current_schema", "current_user", "session_user", "user", "current_role"} {
		var value string
		if err := w.conn.QueryRow(w.ctx, "SELECT "+name+"::text").Scan(&value); err != nil {
			return err
		}
		t := sqltype.Name
		if name == "version()" {
			t = sqltype.Text
		}
		w.session[strings.TrimSuffix(name, "()")] = plan.SessionValue{Value: value, Type: t}
	}
	var now float64
	if err := w.conn.QueryRow(w.ctx, "SELECT extract(epoch FROM now() - timestamptz '2000-01-01 00:00+00')::float8").Scan(&now); err != nil {
		return err
	}
	w.session[plan.Now] = plan.SessionValue{Value: sqltype.Micros(now * 1e6), Type: sqltype.Timestamptz}
	return nil
}

func (w *world) close() { _ = w.conn.Close(w.ctx) }

// load makes the tables that a schema's name stands for.
func load(server *pgtest.Server, db, root, schema string) error {
	if schema == "sakila" {
		return server.LoadSakila(db)
	}
	var ddl string
	if schema == "demo" {
		for _, t := range demo.Tables {
			ddl += t.DDL() + ";\n"
		}
	} else {
		if named := filepath.Join(root, "testdata/corpus", schema, "schema.sql"); !strings.HasSuffix(schema, ".sql") && exists(named) {
			schema = named
		}
		b, err := os.ReadFile(schema)
		if err != nil {
			return err
		}
		ddl = string(b)
	}
	if err := server.CreateDB(db); err != nil {
		return err
	}
	if err := server.Exec(db, ddl); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	return nil
}

// catalog is every table of a database, all of it public: what is compared is how statements are read, and not whom rows belong to.
type catalog []*plan.Table

// Table finds a name; without a schema it is one of public.
func (c catalog) Table(schema, name string) (*plan.Table, bool) {
	if schema == "" {
		schema = "public"
	}
	for _, t := range c {
		if t.Schema == schema && t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// VisibleTables lists all.
func (c catalog) VisibleTables() []*plan.Table { return c }

// A column of a domain is one of its base type, as PostgreSQL describes it.
const columnsQuery = `
	WITH RECURSIVE base(col, num, typ, mod) AS (
		SELECT a.attrelid, a.attnum, a.atttypid, a.atttypmod FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped
		UNION ALL
		SELECT b.col, b.num, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE b.mod END
		FROM base b JOIN pg_type t ON t.oid = b.typ WHERE t.typtype = 'd')
	SELECT c.oid, n.nspname::text, c.relname::text, a.attname::text, b.typ, b.mod, a.attnotnull,
		coalesce((SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = b.typ), '{}'),
		t.typname::text, t.typarray, (SELECT nspname::text FROM pg_namespace WHERE oid = t.typnamespace)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
	JOIN base b ON b.col = a.attrelid AND b.num = a.attnum JOIN pg_type t ON t.oid = b.typ AND t.typtype <> 'd'
	WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
	ORDER BY c.oid, a.attnum`

const keysQuery = `
	SELECT i.indrelid, (SELECT array_agg(k::int - 1) FROM unnest(i.indkey::int2[]) k)
	FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
	ORDER BY i.indisprimary DESC, i.indexrelid`

// readCatalog reads all tables of a database.
func readCatalog(ctx context.Context, conn *pgx.Conn) (catalog, error) {
	rows, err := conn.Query(ctx, columnsQuery)
	if err != nil {
		return nil, err
	}
	var out catalog
	byOID := map[uint32]*plan.Table{}
	for rows.Next() {
		var table, typ, array uint32
		var schema, name, column, typeName, typeSchema string
		var mod int32
		var notNull bool
		var labels []string
		if err := rows.Scan(&table, &schema, &name, &column, &typ, &mod, &notNull, &labels, &typeName, &array, &typeSchema); err != nil {
			return nil, err
		}
		t := byOID[table]
		if t == nil {
			t = &plan.Table{OID: table, Schema: schema, Name: name, Public: true, UnitCol: -1}
			byOID[table] = t
			out = append(out, t)
		}
		ty := sqltype.Type{OID: sqltype.OID(typ), Typmod: mod}
		if len(labels) > 0 {
			ty = sqltype.EnumType(sqltype.Enum{OID: sqltype.OID(typ), Array: sqltype.OID(array), Schema: typeSchema, Name: typeName, Labels: labels})
		}
		t.Columns = append(t.Columns, plan.TableColumn{Name: column, Type: ty, NotNull: notNull, Visible: true})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, readKeys(ctx, conn, byOID)
}

func readKeys(ctx context.Context, conn *pgx.Conn, tables map[uint32]*plan.Table) error {
	rows, err := conn.Query(ctx, keysQuery)
	if err != nil {
		return err
	}
	for rows.Next() {
		var table uint32
		var columns []int
		if err := rows.Scan(&table, &columns); err != nil {
			return err
		}
		if t := tables[table]; t != nil {
			t.Keys = append(t.Keys, columns)
		}
	}
	return rows.Err()
}
