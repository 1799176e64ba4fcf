package pgmeta

import (
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqltype"
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

type columnKey struct {
	relation string
	place    int
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

// aclName is a role's name as privileges write it.
func aclName(role string) string {
	if strings.ContainsFunc(role, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	}
	return role
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
func (d *Database) schemaOf(t *plan.Table) string { return schemaOf(d.inner, t) }

func schemaOf(of plan.Catalog, t *plan.Table) string {
	if t.Schema == own {
		return own
	}
	if in, ok := of.Table("public", t.Name); ok && in == t {
		return "public"
	}
	return t.Schema
}

// own is the schema of dpsql's own tables.
const own = "dpsql"

// oidOfRole is the analyst's: the only role there is, and so the owner of everything.
const oidOfRole = 10

// The numbers of what the catalog makes follow from names, like the tables'.
func number32(kind, name string) int64 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, kind+"\x00"+name) // a hash never fails
	const low, high = 1 << 16, 1 << 31
	return low + int64(h.Sum32())%(high-low)
}

func listOf(elem sqltype.OID, list []sqltype.Value) *sqltype.Array {
	a := &sqltype.Array{Elem: elem, Values: list}
	if len(list) > 0 {
		a.Dims, a.Lower = []int32{int32(len(list))}, []int32{1} //nolint:gosec // G115: of one statement
	}
	return a
}

// VisibleTables implements plan.Catalog; they are for hints.
func (d *Database) VisibleTables() []*plan.Table { return d.inner.VisibleTables() }
