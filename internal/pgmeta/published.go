package pgmeta

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// adder makes rows of one relation.
type adder struct {
	*relation
	database *Database
	rows     [][]sqltype.Value
}

// row adds one: pairs of a column's name and its value; the others are false, 0, NULL, as such rows have them.
func (a *adder) row(pairs ...any) {
	row := make([]sqltype.Value, len(a.columns))
	for i, c := range a.columns {
		if !c.notNull {
			continue
		}
		switch {
		case c.typ.OID == sqltype.OIDBool:
			row[i] = false
		case c.typ.IsObject() || c.typ.IsInteger():
			row[i] = int64(0)
		case c.typ.IsFloat():
			row[i] = float64(0)
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1]
		switch x := v.(type) {
		case int:
			v = int64(x)
		case int16:
			v = int64(x)
		}
		row[a.place(pairs[i].(string))] = v
	}
	a.rows = append(a.rows, row)
}

// published adds what the policy shows to what PostgreSQL itself has.
var published = map[string]func(*adder){
	"pg_namespace":  addNamespaces,
	"pg_class":      addClasses,
	"pg_attribute":  addAttributes,
	"pg_index":      addIndexes,
	"pg_constraint": addConstraints,
	"pg_type":       addTypes,
	"pg_enum":       addLabels,
	"pg_depend":     addDepends,
	"pg_proc":       addProcs,
	"pg_aggregate":  addAggregates,
	"pg_description": func(a *adder) {
		describeOwn(a)
		addComments(a)
	},
	"pg_authid": func(a *adder) {
		a.row("oid", oidOfRole, "rolname", a.database.Role, "rolinherit", true, "rolcanlogin", true, "rolconnlimit", -1)
	},
	"pg_database": func(a *adder) {
		a.row("oid", number32("database", a.database.Name), "datname", a.database.Name, "datdba", oidOfRole, "encoding", 6, "datlocprovider", "c", "datallowconn", true,
			"datconnlimit", -1, "datfrozenxid", 716, "datminmxid", 1 /* as initdb leaves them */, "dattablespace", 1663, "datcollate", "C", "datctype", "C")
	},
}

const oidOfPublic = 2200

func (d *Database) namespace(t *plan.Table) int64 {
	if s := d.schemaOf(t); s != "public" {
		return number32("namespace", s)
	}
	return oidOfPublic
}

func addNamespaces(a *adder) {
	var seen []string
	for _, t := range a.database.tables {
		if s := a.database.schemaOf(t); s != "public" && !slices.Contains(seen, s) {
			seen = append(seen, s)
			a.row("oid", number32("namespace", s), "nspname", s, "nspowner", oidOfRole)
		}
	}
}

// key is a unique constraint of a table with the index behind it.
type key struct {
	name    string
	columns []int
	primary bool
	index   int64
	oid     int64
}

// keysOf are the keys whose columns may all be seen. The database tells which sets of columns are unique; the first that cannot be NULL is shown as the primary key.
func keysOf(t *plan.Table) (out []key) {
	primary := false
	for _, cols := range t.Keys {
		var names []string
		seen, notNull := true, true
		for _, c := range cols {
			seen, notNull = seen && t.Columns[c].Visible, notNull && t.Columns[c].NotNull
			names = append(names, t.Columns[c].Name)
		}
		if !seen {
			continue
		}
		k := key{columns: cols, name: t.Name + "_" + strings.Join(names, "_") + "_key"}
		if notNull && !primary {
			primary, k.primary, k.name = true, true, t.Name+"_pkey"
		}
		k.index, k.oid = number32("index", t.Schema+"."+k.name), number32("constraint", t.Schema+"."+k.name)
		out = append(out, k)
	}
	return out
}

// references are the foreign keys between columns that may be seen.
func (d *Database) references(t *plan.Table) (out []plan.Reference) {
	shown := func(t *plan.Table, cols []int) bool {
		return !slices.ContainsFunc(cols, func(c int) bool { return !t.Columns[c].Visible })
	}
	for _, r := range t.References {
		if shown(t, r.Columns) && slices.Contains(d.tables, r.Table) && shown(r.Table, r.RefColumns) {
			out = append(out, r)
		}
	}
	return out
}

func visible(t *plan.Table) (n int) {
	for _, c := range t.Columns {
		if c.Visible {
			n++
		}
	}
	return n
}

func addClasses(a *adder) {
	d := a.database
	referred := map[*plan.Table]bool{}
	for _, t := range d.tables {
		for _, r := range d.references(t) {
			referred[r.Table] = true
		}
	}
	for _, t := range d.tables {
		keys := keysOf(t)
		a.row("oid", int64(t.OID), "relname", t.Name, "relnamespace", d.namespace(t), "reltype", rowType(t), "relowner", oidOfRole, "relam", 2, "reltuples", float64(-1),
			"relhasindex", len(keys) > 0, "relpersistence", "p", "relkind", "r", "relnatts", visible(t), "relhastriggers", len(d.references(t)) > 0 || referred[t],
			"relispopulated", true, "relreplident", "d")
		for _, k := range keys {
			a.row("oid", k.index, "relname", k.name, "relnamespace", d.namespace(t), "relowner", oidOfRole, "relam", 403, "relpages", 1, "relpersistence", "p", "relkind", "i",
				"relnatts", len(k.columns), "relispopulated", true, "relreplident", "n")
		}
	}
}

// rowType is the type of a table's rows.
func rowType(t *plan.Table) int64 { return number32("type", t.Schema+"."+t.Name) }

// systemColumns are those that every table has.
var systemColumns = []struct {
	name string
	num  int
	typ  sqltype.OID
	len  int
}{{"ctid", -1, sqltype.OIDTid, 6}, {"xmin", -2, sqltype.OIDXid, 4}, {"cmin", -3, sqltype.OIDCid, 4}, {"xmax", -4, sqltype.OIDXid, 4}, {"cmax", -5, sqltype.OIDCid, 4}, {"tableoid", -6, sqltype.OIDOid, 4}}

func addAttributes(a *adder) {
	add := func(rel int64, c plan.TableColumn, num int) {
		storage, align := "p", alignment(c.Type)
		if c.Type.Len() < 0 {
			storage = "x"
			if c.Type.OID == sqltype.OIDNumeric {
				storage = "m"
			}
		}
		collation := int64(0)
		if c.Type.IsString() || c.Type.IsArray() && collatable(c.Type) {
			collation = 100
			if c.Type.OID == sqltype.OIDName {
				collation = 950
			}
		}
		target := -1
		if num < 0 {
			target = 0
		}
		dims := 0
		if c.Type.IsArray() {
			dims = 1
		}
		a.row("attrelid", rel, "attname", c.Name, "atttypid", int64(c.Type.OID), "attstattarget", target, "attlen", c.Type.Len(), "attnum", num, "attndims", dims,
			"attcacheoff", -1, "atttypmod", int64(c.Type.Typmod), "attbyval", c.Type.Len() > 0 && c.Type.Len() <= 8 && c.Type.OID != sqltype.OIDTid, "attalign", align, "attstorage", storage, "attcompression", "",
			"attnotnull", c.NotNull, "attidentity", "", "attgenerated", "", "attislocal", true, "attcollation", collation)
	}
	for _, t := range a.database.tables {
		for _, c := range slices.Backward(systemColumns) {
			add(int64(t.OID), plan.TableColumn{Name: c.name, Type: sqltype.Type{OID: c.typ, Typmod: -1}, NotNull: true}, c.num)
		}
		for i, c := range t.Columns {
			if c.Visible {
				add(int64(t.OID), c, int(t.AttNum(i)))
			}
		}
		for _, k := range keysOf(t) {
			for i, col := range k.columns {
				c := t.Columns[col]
				c.NotNull = false
				add(k.index, c, i+1)
			}
		}
	}
}

func collatable(t sqltype.Type) bool { e, _ := t.Elem(); return e.IsString() }

// alignment is pg_type's typalign.
func alignment(t sqltype.Type) string {
	if e, is := t.Elem(); is {
		t = sqltype.Int4
		if e.Len() == 8 {
			t = sqltype.Int8
		}
	}
	switch n := t.Len(); {
	case n == 8, t.OID == sqltype.OIDInterval, t.OID == sqltype.OIDTimetz:
		return "d"
	case n == 1, n == 16, n == 64:
		return "c"
	case n == 2, t.OID == sqltype.OIDTid:
		return "s"
	}
	return "i"
}

func vector(elem sqltype.OID, list []int64) *sqltype.Array {
	v := &sqltype.Array{Elem: elem, Dims: []int32{int32(len(list))}, Lower: []int32{0}} //nolint:gosec // G115: columns of a key
	for _, n := range list {
		v.Values = append(v.Values, n)
	}
	return v
}

func counted(elem sqltype.OID, list []int64) *sqltype.Array {
	v := vector(elem, list)
	v.Lower[0] = 1
	return v
}

func numbers(t *plan.Table, cols []int) (out []int64) {
	for _, c := range cols {
		out = append(out, int64(t.AttNum(c)))
	}
	return out
}

func addIndexes(a *adder) {
	for _, t := range a.database.tables {
		for _, k := range keysOf(t) {
			zeros, classes, collations := make([]int64, len(k.columns)), make([]int64, len(k.columns)), make([]int64, len(k.columns))
			for i, c := range k.columns {
				classes[i] = opclass(t.Columns[c].Type)
				if t.Columns[c].Type.IsString() {
					collations[i] = 100
				}
			}
			a.row("indexrelid", k.index, "indrelid", int64(t.OID), "indnatts", len(k.columns), "indnkeyatts", len(k.columns), "indisunique", true, "indisprimary", k.primary,
				"indimmediate", true, "indisvalid", true, "indisready", true, "indislive", true, "indkey", vector(sqltype.OIDInt2, numbers(t, k.columns)),
				"indcollation", vector(sqltype.OIDOid, collations), "indclass", vector(sqltype.OIDOid, classes), "indoption", vector(sqltype.OIDInt2, zeros))
		}
	}
}

// opclass is the default B-tree operator class of a type.
func opclass(t sqltype.Type) int64 {
	r := builtin()[pgCatalog+".pg_opclass"]
	typ := int64(t.OID)
	switch t.OID {
	case sqltype.OIDVarchar:
		typ = int64(sqltype.OIDText)
	}
	for _, row := range r.values() {
		if row[r.place("opcmethod")] == int64(403) && row[r.place("opcdefault")] == true && row[r.place("opcintype")] == typ {
			return row[0].(int64)
		}
	}
	return 0
}

func addConstraints(a *adder) {
	d := a.database
	for _, t := range d.tables {
		for _, k := range keysOf(t) {
			kind := "u"
			if k.primary {
				kind = "p"
			}
			a.row("oid", k.oid, "conname", k.name, "connamespace", d.namespace(t), "contype", kind, "convalidated", true, "conrelid", int64(t.OID), "conindid", k.index,
				"confupdtype", " ", "confdeltype", " ", "confmatchtype", " ", "conislocal", true, "connoinherit", true, "conkey", counted(sqltype.OIDInt2, numbers(t, k.columns)))
		}
		for _, r := range d.references(t) {
			name := referenceName(t, r)
			var equal []int64
			for _, c := range r.Columns {
				equal = append(equal, equality(t.Columns[c].Type))
			}
			ops := counted(sqltype.OIDOid, equal)
			a.row("oid", number32("constraint", t.Schema+"."+name), "conname", name, "connamespace", d.namespace(t), "contype", "f", "convalidated", true, "conrelid", int64(t.OID),
				"conindid", indexOf(r), "confrelid", int64(r.Table.OID), "confupdtype", "a", "confdeltype", "a", "confmatchtype", "s", "conislocal", true, "connoinherit", true,
				"conkey", counted(sqltype.OIDInt2, numbers(t, r.Columns)), "confkey", counted(sqltype.OIDInt2, numbers(r.Table, r.RefColumns)),
				"conpfeqop", ops, "conppeqop", ops, "conffeqop", ops)
		}
	}
}

// indexOf is the index of the key that a foreign key refers to; 0 if it is not shown.
func indexOf(r plan.Reference) (index int64) {
	for _, k := range keysOf(r.Table) {
		if slices.Equal(k.columns, r.RefColumns) {
			index = k.index
		}
	}
	return index
}

// referenceName is the name that PostgreSQL gives.
func referenceName(t *plan.Table, r plan.Reference) string {
	var names []string
	for _, c := range r.Columns {
		names = append(names, t.Columns[c].Name)
	}
	return t.Name + "_" + strings.Join(names, "_") + "_fkey"
}

// equality is the operator = of a type with itself.
func equality(t sqltype.Type) int64 {
	r := builtin()[pgCatalog+".pg_operator"]
	typ := int64(t.OID)
	if t.OID == sqltype.OIDVarchar {
		typ = int64(sqltype.OIDText)
	}
	for _, row := range r.values() {
		if row[r.place("oprname")] == "=" && row[r.place("oprleft")] == typ && row[r.place("oprright")] == typ {
			return row[0].(int64)
		}
	}
	return 0
}

// enums are the enums of columns that may be seen.
func (d *Database) enums() (out []sqltype.Enum) {
	for _, t := range d.tables {
		for _, c := range t.Columns {
			e, ok := c.Type.Enum()
			if !ok {
				if elem, isArray := c.Type.Elem(); isArray {
					e, ok = elem.Enum()
				}
			}
			if ok && c.Visible && !slices.ContainsFunc(out, func(o sqltype.Enum) bool { return o.OID == e.OID }) {
				out = append(out, e)
			}
		}
	}
	return out
}

func addTypes(a *adder) {
	d := a.database
	add := func(oid int64, name string, namespace int64, more ...any) {
		a.row(append([]any{"oid", oid, "typname", name, "typnamespace", namespace, "typowner", oidOfRole, "typlen", -1, "typisdefined", true, "typdelim", ",",
			"typalign", "d", "typstorage", "x", "typtypmod", -1}, more...)...)
	}
	proc := func(name string) int64 {
		n, _ := procNamed(name)
		return n
	}
	array := func(oid int64, name string, namespace, elem int64, align string) {
		add(oid, "_"+name, namespace, "typtype", "b", "typcategory", "A", "typelem", elem, "typsubscript", proc("array_subscript_handler"), "typalign", align,
			"typinput", proc("array_in"), "typoutput", proc("array_out"), "typreceive", proc("array_recv"), "typsend", proc("array_send"), "typanalyze", proc("array_typanalyze"))
	}
	for _, t := range d.tables {
		row, rows := rowType(t), number32("array", t.Schema+"."+t.Name)
		add(row, t.Name, d.namespace(t), "typtype", "c", "typcategory", "C", "typrelid", int64(t.OID), "typarray", rows,
			"typinput", proc("record_in"), "typoutput", proc("record_out"), "typreceive", proc("record_recv"), "typsend", proc("record_send"))
		array(rows, t.Name, d.namespace(t), row, "d")
	}
	for _, e := range d.enums() {
		namespace := int64(oidOfPublic)
		add(int64(e.OID), e.Name, namespace, "typtype", "e", "typcategory", "E", "typlen", 4, "typbyval", true, "typalign", "i", "typstorage", "p", "typarray", int64(e.Array),
			"typinput", proc("enum_in"), "typoutput", proc("enum_out"), "typreceive", proc("enum_recv"), "typsend", proc("enum_send"))
		if e.Array != 0 {
			array(int64(e.Array), e.Name, namespace, int64(e.OID), "i")
		}
	}
}

func addLabels(a *adder) {
	for _, e := range a.database.enums() {
		for i, l := range e.Labels {
			a.row("oid", number32("label", e.String()+"."+l), "enumtypid", int64(e.OID), "enumsortorder", float64(i+1), "enumlabel", l)
		}
	}
}

func procNamed(name string) (int64, bool) {
	r := builtin()[pgCatalog+".pg_proc"]
	for _, row := range r.values() {
		if row[1] == name {
			return row[0].(int64), true
		}
	}
	return 0, false
}
