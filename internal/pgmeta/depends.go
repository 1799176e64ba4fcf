package pgmeta

import "github.com/dpsql/dpsql/rewrite/plan"

// The catalogs that objects are in, by their numbers in pg_class.
const (
	oidOfType       int64 = 1247
	oidOfClass      int64 = 1259
	oidOfNamespace  int64 = 2615
	oidOfConstraint int64 = 2606
)

// addDepends says of the published tables what PostgreSQL writes down when they are created; triggers behind foreign keys and places for long values are not published.
func addDepends(a *adder) {
	add := func(class, object int64, sub int16, refClass, ref int64, refSub int16, kind string) {
		a.row("classid", class, "objid", object, "objsubid", sub, "refclassid", refClass, "refobjid", ref, "refobjsubid", refSub, "deptype", kind)
	}
	d := a.database
	for _, t := range d.tables {
		oid, row := int64(t.OID), rowType(t)
		add(oidOfType, row, 0, oidOfClass, oid, 0, "i")
		add(oidOfType, number32("array", t.Schema+"."+t.Name), 0, oidOfType, row, 0, "i")
		add(oidOfClass, oid, 0, oidOfNamespace, d.namespace(t), 0, "n")
		for i, c := range t.Columns {
			if c.Visible && c.Type.IsEnum() {
				add(oidOfClass, oid, t.AttNum(i), oidOfType, int64(c.Type.OID), 0, "n")
			}
		}
		on := func(constraint int64, of *plan.Table, columns []int, kind string) {
			for _, c := range columns {
				add(oidOfConstraint, constraint, 0, oidOfClass, int64(of.OID), of.AttNum(c), kind)
			}
		}
		for _, k := range keysOf(t) {
			add(oidOfClass, k.index, 0, oidOfConstraint, k.oid, 0, "i")
			on(k.oid, t, k.columns, "a")
		}
		for _, r := range d.references(t) {
			constraint := number32("constraint", t.Schema+"."+referenceName(t, r))
			on(constraint, t, r.Columns, "a")
			on(constraint, r.Table, r.RefColumns, "n")
			if index := indexOf(r); index != 0 {
				add(oidOfConstraint, constraint, 0, oidOfClass, index, 0, "n")
			}
		}
	}
	for _, e := range d.enums() {
		add(oidOfType, int64(e.OID), 0, oidOfNamespace, oidOfPublic, 0, "n")
		if e.Array != 0 {
			add(oidOfType, int64(e.Array), 0, oidOfType, int64(e.OID), 0, "i")
		}
	}
}
