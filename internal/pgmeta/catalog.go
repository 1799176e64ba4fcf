package pgmeta

import (
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Database is what one analyst may know: tables, the name of the data set and their own. It is made once and may be read by many.
type Database struct {
	Name, Role string
	inner      plan.Catalog
	tables     []*plan.Table // those that may be seen, dpsql's own last

	mu     sync.Mutex
	rows   map[string][][]sqltype.Value // by relation, made when they are first asked for
	plans  map[string]*plan.Table
	byOID  map[string]map[int64][]sqltype.Value // of a relation with a column oid
	byName map[string]map[string]int64

	indexes      map[columnKey]map[sqltype.Value][][]sqltype.Value
	attributes   map[int64][][]sqltype.Value // by relation
	descriptions map[[3]int64]sqltype.Value
}

// New is the catalog of some tables for one role of a database. inner resolves names of tables.
func New(name, role string, inner plan.Catalog, tables []*plan.Table) *Database {
	return &Database{Name: name, Role: role, inner: inner, tables: tables, rows: map[string][][]sqltype.Value{}, plans: map[string]*plan.Table{},
		byOID: map[string]map[int64][]sqltype.Value{}, byName: map[string]map[string]int64{}, indexes: map[columnKey]map[sqltype.Value][][]sqltype.Value{}}
}

// Table is a relation of pg_catalog or information_schema; without a schema, of the first.
func (d *Database) Table(schema, name string) (*plan.Table, bool) {
	if schema == "" {
		schema = pgCatalog
	}
	r := builtin()[schema+"."+name]
	if r == nil {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := schema + "." + name
	if t := d.plans[key]; t != nil {
		return t, true
	}
	t := &plan.Table{OID: r.oid, Schema: schema, Name: name, Public: true, UnitCol: -1}
	for _, c := range r.columns {
		t.Columns = append(t.Columns, plan.TableColumn{Name: c.name, Type: c.typ, NotNull: c.notNull, Visible: true})
		if c.name == "oid" {
			t.Keys = [][]int{{len(t.Columns) - 1}}
		}
	}
	if r.view == "" {
		t.Columns = append(t.Columns, plan.TableColumn{Name: "tableoid", Type: sqltype.Oid, NotNull: true, System: true})
	}
	d.plans[key] = t
	return t, true
}

// Is reports a relation of the catalogs.
func (d *Database) Is(t *plan.Table) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plans[t.Schema+"."+t.Name] == t
}

const (
	pgCatalog = "pg_catalog"
	infSchema = "information_schema"
)

// Rows are those of a table of the catalogs.
func (d *Database) Rows(t *plan.Table) [][]sqltype.Value {
	key := t.Schema + "." + t.Name
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.locked(key)
}

func (d *Database) locked(key string) [][]sqltype.Value {
	if rows, ok := d.rows[key]; ok {
		return rows
	}
	r := builtin()[key]
	rows := r.values()
	if more := published[r.name]; more != nil && r.schema == pgCatalog {
		add := &adder{relation: r, database: d}
		more(add)
		rows = slices.Concat(rows, add.rows)
	}
	out := make([][]sqltype.Value, len(rows))
	for i, row := range rows {
		out[i] = append(slices.Clone(row), int64(r.oid)) // tableoid
		for c, column := range r.columns {
			if list, ok := row[c].(*sqltype.Array); ok && column.typ.OID == oidOfACL {
				out[i][c] = d.granted(list)
			}
		}
	}
	d.rows[key] = out
	return out
}

const oidOfACL = 1034 // aclitem[]

// granted puts the analyst, who is the owner of everything, in the place of the owner whom the file's privileges name.
func (d *Database) granted(acl *sqltype.Array) *sqltype.Array {
	role := aclName(d.Role)
	out := *acl
	out.Values = slices.Clone(acl.Values)
	for i, v := range out.Values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		if rest, is := strings.CutPrefix(text, "postgres="); is {
			text = role + "=" + rest
		}
		if rest, is := strings.CutSuffix(text, "/postgres"); is {
			text = rest + "/" + role
		}
		out.Values[i] = text
	}
	return &out
}

// object finds the row of a table of pg_catalog by its oid.
func (d *Database) object(table string, oid int64) []sqltype.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	index := d.byOID[table]
	if index == nil {
		index = map[int64][]sqltype.Value{}
		at := builtin()[pgCatalog+"."+table].place("oid")
		for _, row := range d.locked(pgCatalog + "." + table) {
			index[row[at].(int64)] = row
		}
		d.byOID[table] = index
	}
	return index[oid]
}

// text is a column of such a row.
func text(table string, row []sqltype.Value, column string) string {
	s, _ := row[builtin()[pgCatalog+"."+table].place(column)].(string)
	return s
}

func num(table string, row []sqltype.Value, column string) int64 {
	n, _ := row[builtin()[pgCatalog+"."+table].place(column)].(int64)
	return n
}

// named finds the oid of a row by its name, or by schema and name; the first of several.
func (d *Database) named(table, nameColumn, schemaColumn, name string) (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	index := d.byName[table]
	if index == nil {
		index = map[string]int64{}
		r := builtin()[pgCatalog+"."+table]
		oid, at, in := r.place("oid"), r.place(nameColumn), -1
		if schemaColumn != "" {
			in = r.place(schemaColumn)
		}
		for _, row := range d.locked(pgCatalog + "." + table) {
			key, _ := row[at].(string)
			if in >= 0 {
				key = d.schemaName(row[in].(int64)) + "." + key
			}
			if _, ok := index[key]; !ok {
				index[key] = row[oid].(int64)
			}
		}
		d.byName[table] = index
	}
	n, ok := index[name]
	return n, ok
}

// schemaName is the name of a namespace; the lock is held.
func (d *Database) schemaName(oid int64) string {
	for _, row := range d.locked(pgCatalog + ".pg_namespace") {
		if row[0] == oid {
			return row[1].(string)
		}
	}
	return ""
}

// schemaNamed is the name of a namespace.
func (d *Database) schemaNamed(oid int64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.schemaName(oid)
}

// schemaOf is the schema in which clients find a table: the default one is called public.
func (d *Database) schemaOf(t *plan.Table) string {
	if t.Schema == own {
		return own
	}
	if in, ok := d.inner.Table("public", t.Name); ok && in == t {
		return "public"
	}
	return t.Schema
}

// own is the schema of dpsql's own tables.
const own = "dpsql"

// The numbers of what the catalog makes follow from names, like the tables'.
func number32(kind, name string) int64 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, kind+"\x00"+name) // a hash never fails
	const low, high = 1 << 16, 1 << 31
	return low + int64(h.Sum32())%(high-low)
}

// view has the parsed definitions of views.
var views sync.Map

// empty are views of what only a server has, and has nothing of here; their definitions read what is not published.
func empty(r *relation) bool {
	if r.schema != pgCatalog {
		return r.name == "triggers" || r.name == "triggered_update_columns"
	}
	for _, prefix := range []string{"pg_stat_progress", "pg_stat_replication", "pg_stat_subscription", "pg_stat_wal", "pg_stat_archiver", "pg_stat_bgwriter", "pg_stat_slru", "pg_stat_recovery",
		"pg_stat_xact", "pg_stats", "pg_replication", "pg_available_extension", "pg_locks", "pg_prepared_xacts", "pg_file_settings", "pg_hba", "pg_ident", "pg_backend_memory",
		"pg_shmem", "pg_config", "pg_publication_tables", "pg_timezone", "pg_stat_database_conflicts", "pg_stat_user_functions"} {
		if strings.HasPrefix(r.name, prefix) {
			return true
		}
	}
	return false
}

// View implements plan.Meta.
func (s *Session) View(t *plan.Table) (*pgsyntax.Select, error) {
	key := t.Schema + "." + t.Name
	r := builtin()[key]
	if r == nil || r.view == "" || empty(r) {
		return nil, nil
	}
	if q, ok := views.Load(key); ok {
		return q.(*pgsyntax.Select), nil
	}
	st, err := pgsyntax.Parse(readable.Replace(r.view))
	if err != nil {
		return nil, err
	}
	q := st[0].Node.(*pgsyntax.Select)
	views.Store(key, q)
	return q, nil
}

// readable has what views call with whole rows as these functions compute it.
var readable = strings.NewReplacer(
	"information_schema._pg_truetypid(a.*, t.*)", "(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END)",
	"information_schema._pg_truetypmod(a.*, t.*)", "(CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)",
	"information_schema._pg_truetypid(a.*, at.*)", "(CASE WHEN at.typtype = 'd' THEN at.typbasetype ELSE a.atttypid END)",
	"information_schema._pg_truetypmod(a.*, at.*)", "(CASE WHEN at.typtype = 'd' THEN at.typtypmod ELSE a.atttypmod END)",
)

// Procs implements plan.Meta: the functions of information_schema.
func (s *Session) Procs(schema, name string) []*pgcat.Proc {
	if schema != infSchema {
		return nil
	}
	return infProcs[name]
}

// Type implements plan.Meta: domains of information_schema are what they are made of; row types and enums are the tables'.
func (s *Session) Type(schema, name string) (sqltype.Type, bool) {
	if schema == infSchema {
		switch name {
		case "sql_identifier":
			return sqltype.Name, true
		case "character_data":
			return sqltype.Varchar, true
		case "yes_or_no":
			return sqltype.Type{OID: sqltype.OIDVarchar, Typmod: 3 + 4}, true
		case "cardinal_number":
			return sqltype.Int4, true
		case "time_stamp":
			return sqltype.Type{OID: sqltype.OIDTimestamptz, Typmod: 2}, true
		}
	}
	return sqltype.Type{}, false
}

// TableNames implements plan.Catalog; they are for hints.
func (d *Database) TableNames() []string { return d.inner.TableNames() }
