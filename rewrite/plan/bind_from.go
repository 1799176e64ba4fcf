package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func (b *binder) from(list []pgsyntax.TableExpr, outer *scope) (Rel, *scope, error) {
	if len(list) == 0 {
		return &OneRow{}, &scope{outer: outer}, nil
	}
	var rel Rel
	sc := &scope{outer: outer}
	for _, t := range list {
		r, s, err := b.tableExpr(t, sc)
		if err != nil {
			return nil, nil, err
		}
		if rel == nil {
			rel, sc = r, &scope{cols: s.cols, tables: s.tables, schemas: s.schemas, names: s.names, outer: outer}
			continue
		}
		if sc, err = sc.with(s, t.Position()); err != nil {
			return nil, nil, err
		}
		rel = &Join{Kind: InnerJoin, Left: rel, Right: r, Lateral: lateral(t) && !isSeries(r), Pos: int(t.Position())}
	}
	return rel, sc, nil
}

// tableExpr binds an entry of FROM; before is what a LATERAL one may name.
func (b *binder) tableExpr(t pgsyntax.TableExpr, before *scope) (Rel, *scope, error) {
	switch t := t.(type) {
	case *pgsyntax.TableName:
		return b.tableName(t)
	case *pgsyntax.Derived:
		return b.derived(t, before)
	case *pgsyntax.Join:
		return b.join(t, before)
	case *pgsyntax.TableFunc:
		return b.tableFunc(t, before)
	}
	return nil, nil, unsupported(t.Position(), "this entry of FROM is")
}

// nearestTable spells the most similar table that the analyst may see, in any schema, as it can be pasted; "" if none is near.
func (b *binder) nearestTable(typed string) string {
	spelled := map[string]string{}
	for _, t := range b.cat.VisibleTables() {
		text := sqlQuoted(t.Name)
		if found, _ := b.cat.Table("", t.Name); found != t {
			schema := t.Schema
			if found, _ := b.cat.Table("public", t.Name); found == t { // DuckDB's main, and where search_path has not its schema
				schema = "public"
			}
			text = sqlQuoted(schema) + "." + text
		}
		for _, name := range []string{t.Name, t.Schema + "." + t.Name} {
			if old, ok := spelled[name]; !ok || len(text) < len(old) {
				spelled[name] = text
			}
		}
	}
	names := slices.Sorted(maps.Keys(spelled))
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, typed) }); i >= 0 && spelled[typed] == "" {
		return spelled[names[i]]
	}
	return spelled[sqlerr.Nearest(typed, names)]
}

// sqlQuoted is a name in double quotes.
func sqlQuoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (b *binder) tableName(t *pgsyntax.TableName) (Rel, *scope, error) {
	if t.Catalog != "" && t.Catalog != b.database() {
		return nil, nil, crossDatabase(strconv.Quote(t.Catalog+"."+t.Schema+"."+t.Name), t.Pos)
	}
	for i := len(b.around.ctes) - 1; i >= 0 && t.Schema == ""; i-- {
		if b.around.ctes[i].name == t.Name {
			return b.cteScan(b.around.ctes[i], t)
		}
	}
	table, ok := b.cat.Table(t.Schema, t.Name)
	if !ok {
		name := t.Name
		if t.Schema != "" {
			name = t.Schema + "." + name
		}
		if b.find.meta == nil && (t.Schema == "pg_catalog" || t.Schema == "information_schema" || t.Schema == "" && strings.HasPrefix(t.Name, "pg_")) {
			return nil, nil, sqlerr.New(sqlerr.Unsupported, "catalog relation %q cannot be read together with tables of the data", name).At(int(t.Pos)).
				WithHint("Ask about names and about data in two statements.")
		}
		err := sqlerr.New(sqlerr.UndefinedTable, "relation %q does not exist", name).At(int(t.Pos))
		if n := b.nearestTable(t.Name); n != "" {
			err = err.WithHint("Perhaps you meant %s.", n)
		}
		return nil, nil, err
	}
	if err := b.room(len(table.Columns), t.Pos); err != nil {
		return nil, nil, err
	}
	alias, schema := t.Alias, ""
	if alias == "" {
		alias, schema = t.Name, table.Schema
		if t.Schema != "" { // by which a column is named too
			schema = t.Schema
		} else if in, ok := b.cat.Table("public", t.Name); ok && in == table { // analysts' name of DuckDB's main
			schema = "public"
		}
	}
	if b.find.meta != nil {
		if rel, sc, err := b.view(table, t, schema, alias); rel != nil || err != nil {
			if err == nil {
				err = sc.rename(t.Columns, alias, t.Pos)
			}
			return rel, sc, err
		}
	}
	scan := &Scan{Table: table, Alias: alias, Pos: int(t.Pos)}
	sc := &scope{tables: []string{alias}, schemas: []string{schema}, names: []string{t.Name}}
	for i, c := range table.Columns {
		b.add(c.Type)
		id := b.newCol(ColumnInfo{Name: c.Name, Type: c.Type, Table: table, Attr: i})
		scan.Columns = append(scan.Columns, id)
		if c.Visible || c.System && b.find.meta != nil {
			sc.cols = append(sc.cols, scopeCol{schema: schema, table: alias, name: c.Name, id: id, system: c.System})
		}
	}
	return scan, sc, sc.rename(t.Columns, alias, t.Pos)
}

// The limits of one statement: a WITH query that joins another one twice has twice its columns.
const (
	maxTables  = 300
	maxInViews = 1000 // where PostgreSQL's catalogs are read, whose views have many
	maxColumns = 1 << 16
	maxTargets = 1664 // MaxTupleAttributeNumber
)

// room counts a table with its columns.
func (b *binder) room(columns int, pos pgsyntax.Pos) error {
	most := maxTables
	if b.find.meta != nil {
		most = maxInViews
	}
	if b.tables++; b.tables > most || len(b.columns)+columns > maxColumns {
		return sqlerr.New(sqlerr.TooComplex, "a statement reads at most %d tables with %d columns, those of WITH queries as often as these are named", most, maxColumns).At(int(pos)).
			WithHint("Ask for less at a time. A WITH query is read again wherever it is named: name it once, with CASE or FILTER in place of joining it with itself.")
	}
	return nil
}

// cteScan reads a WITH query, which is a derived table under another name.
func (b *binder) cteScan(c *cte, t *pgsyntax.TableName) (Rel, *scope, error) {
	if err := b.room(len(c.outputs), t.Pos); err != nil {
		return nil, nil, err
	}
	alias := t.Alias
	if alias == "" {
		alias = t.Name
	}
	sc := &scope{tables: []string{alias}, schemas: []string{""}, names: []string{""}}
	rel, outputs, err := c.read(b)
	if err != nil {
		return nil, nil, err
	}
	none := &Unplanned{Name: "WITH " + c.name}
	for _, o := range outputs {
		id := o.col
		if rel == nil {
			info := b.columns[o.col]
			info.Name = o.name
			id = b.newCol(info)
			none.Columns = append(none.Columns, id)
		}
		sc.cols = append(sc.cols, scopeCol{table: alias, name: o.name, id: id})
	}
	if rel == nil {
		rel = none
	}
	return rel, sc, sc.rename(t.Columns, alias, t.Pos)
}

func (b *binder) derived(t *pgsyntax.Derived, before *scope) (Rel, *scope, error) {
	outer := before.outer
	if t.Lateral {
		outer = before
	}
	if t.Alias == "" {
		return nil, nil, sqlerr.New(sqlerr.Syntax, "subquery in FROM must have an alias").At(int(t.Pos)).
			WithHint("For example, FROM (SELECT ...) [AS] foo.")
	}
	r, err := b.query(t.Query, outer, false)
	if err != nil {
		return nil, nil, err
	}
	sc := &scope{tables: []string{t.Alias}, schemas: []string{""}, names: []string{""}}
	for _, o := range r.outputs {
		sc.cols = append(sc.cols, scopeCol{table: t.Alias, name: o.name, id: o.col})
	}
	return r.rel, sc, sc.rename(t.Columns, t.Alias, t.Pos)
}

// lateral says whether an entry of FROM may read what stands before it.
func lateral(t pgsyntax.TableExpr) bool {
	switch t := t.(type) {
	case *pgsyntax.Derived:
		return t.Lateral
	case *pgsyntax.TableFunc:
		return true
	case *pgsyntax.Join:
		return lateral(t.Left) || lateral(t.Right)
	}
	return false
}

func (b *binder) join(t *pgsyntax.Join, before *scope) (Rel, *scope, error) {
	l, ls, err := b.tableExpr(t.Left, before)
	if err != nil {
		return nil, nil, err
	}
	ls.outer = before.outer
	r, rs, err := b.tableExpr(t.Right, &scope{cols: slices.Concat(before.cols, ls.cols), tables: slices.Concat(before.tables, ls.tables), schemas: slices.Concat(before.schemas, ls.schemas),
		names: slices.Concat(before.names, ls.names), outer: before.outer})
	if err != nil {
		return nil, nil, err
	}
	j := &Join{Kind: InnerJoin, Left: l, Right: r, Lateral: lateral(t.Right) && !isSeries(r), Pos: int(t.Pos)}
	switch t.Kind {
	case pgsyntax.InnerJoin, pgsyntax.CrossJoin:
	case pgsyntax.LeftJoin:
		j.Kind = LeftJoin
	case pgsyntax.RightJoin:
		j.Kind, j.Left, j.Right = LeftJoin, r, l
	default:
		j.Kind = FullJoin
	}
	if kept := j.Left != l || j.Kind == FullJoin; j.Lateral && kept && !readsOf(r, l) { // LATERAL further in
		j.Lateral = false
	} else if j.Lateral && kept {
		b.later(unsupported(t.Right.Position(), "LATERAL at the side of a join that is kept is"))
	}
	sc, err := ls.with(rs, t.Pos)
	if err != nil {
		return nil, nil, err
	}
	using := t.Using
	if t.Natural {
		for _, c := range ls.cols {
			if slices.ContainsFunc(rs.cols, func(d scopeCol) bool { return d.name == c.name && !d.merged }) && !c.merged && !c.system {
				using = append(using, c.name)
			}
		}
	}
	if len(using) > 0 {
		j.On, sc, err = b.using(using, t.Kind, ls, rs, sc, t.Pos)
		return j, sc, err
	}
	if t.On != nil {
		e := &exprs{binder: b, scope: sc, clause: "JOIN conditions"}
		if j.On, err = e.condition(t.On, "JOIN/ON"); err != nil {
			return nil, nil, err
		}
	}
	return j, sc, nil
}

// readsOf: a relation reads columns of another one beside it.
func readsOf(r, other Rel) bool {
	cols := other.Cols()
	return slices.ContainsFunc(Free(r), func(c *Col) bool { return slices.Contains(cols, c.ID) })
}

// using binds USING: the merged columns come first in *. They have the two sides' common type and are the left side's, but
// the right's in a right join, and in an inner join where only that one has the type already (parse_clause.c, buildMergedJoinVar).
func (b *binder) using(names []string, kind pgsyntax.JoinKind, left, right, both *scope, pos pgsyntax.Pos) (Scalar, *scope, error) {
	var conds []Scalar
	out := &scope{tables: both.tables, schemas: both.schemas, names: both.names, outer: both.outer}
	hidden := map[int]bool{}
	for _, n := range names {
		i, err := left.unqualified(n, pos, "left")
		if err != nil {
			return nil, nil, err
		}
		k, err := right.unqualified(n, pos, "right")
		if err != nil {
			return nil, nil, err
		}
		x, y := b.named(left.cols[i], pos), b.named(right.cols[k], pos)
		eq, err := b.operator("=", []Scalar{x, y}, pos)
		if err != nil {
			return nil, nil, err
		}
		conds = append(conds, eq)
		hidden[i], hidden[len(left.cols)+k] = true, true
		t, err := b.common([]Scalar{x, y}, "JOIN/USING", pos)
		if err != nil {
			return nil, nil, err
		}
		from, col := x, left.cols[i]
		if kind == pgsyntax.RightJoin || kind != pgsyntax.LeftJoin && x.Type() != t && y.Type() == t {
			from, col = y, right.cols[k]
		}
		merged := scopeCol{name: n, id: col.id, expr: col.expr}
		switch {
		case kind == pgsyntax.FullJoin:
			sides, _, err := b.allCommon([]Scalar{x, y}, "JOIN/USING", pos)
			if err != nil {
				return nil, nil, err
			}
			merged.id, merged.expr = 0, &Coalesce{Args: sides, T: t}
		case from.Type() != t:
			merged.id = 0
			if merged.expr, err = b.explicit(from, t, pos); err != nil {
				return nil, nil, err
			}
		}
		out.cols = append(out.cols, merged)
	}
	for i, c := range both.cols {
		c.merged = c.merged || hidden[i]
		out.cols = append(out.cols, c)
	}
	if len(conds) == 1 {
		return conds[0], out, nil
	}
	return &Logic{Op: And, Args: conds}, out, nil
}

// star expands * (table "") or t.*.
func (q *selecting) star(x *pgsyntax.Star) ([]scopeCol, error) {
	s := q.scope
	path, err := q.local(append(slices.Clone(x.Table), "*"), x.Pos)
	if err != nil {
		return nil, err
	}
	if len(path) == 1 {
		var out []scopeCol
		for _, c := range s.cols {
			if !c.merged && !c.system {
				out = append(out, c)
			}
		}
		if len(s.tables) == 0 {
			return nil, sqlerr.New(sqlerr.Syntax, "SELECT * with no tables specified is not valid").At(int(x.Pos))
		}
		return out, nil
	}
	table, schema := path[len(path)-2], ""
	if len(path) > 2 {
		schema = path[len(path)-3]
	}
	i := slices.Index(s.tables, table)
	for i >= 0 && i < len(s.tables) && schema != "" && (s.tables[i] != table || s.schemas[i] != schema) {
		i++
	}
	if i < 0 || i == len(s.tables) {
		return nil, s.missing(table, x.Pos)
	}
	var out []scopeCol
	for _, c := range s.cols {
		if c.table == table && (schema == "" || c.schema == schema) && !c.system {
			out = append(out, c)
		}
	}
	return out, nil
}

// tableFunc is a function in FROM.
func (b *binder) tableFunc(t *pgsyntax.TableFunc, siblings *scope) (Rel, *scope, error) {
	if err := b.room(0, t.Pos); err != nil {
		return nil, nil, err
	}
	e := &exprs{binder: b, scope: &scope{outer: siblings}, clause: "functions in FROM", from: true}
	if b.find.meta == nil && !b.find.free() && t.Call.Name == "generate_series" && builtinSchema(t.Call.Schema) {
		return e.series(t)
	}
	if b.find.meta == nil {
		b.later(unsupported(t.Pos, "functions in FROM are"))
	}
	v, err := e.expr(t.Call)
	if err != nil {
		return nil, nil, err
	}
	alias := t.Alias
	if alias == "" {
		alias = t.Call.Name
	}
	out, scan := &Unplanned{Name: "function"}, &FuncScan{Call: v, Ordinality: t.Ordinality, Pos: int(t.Pos)}
	sc := &scope{tables: []string{alias}, schemas: []string{""}, names: []string{""}}
	add := func(name string, typ sqltype.Type) {
		id := b.newCol(ColumnInfo{Name: name, Type: typ})
		out.Columns = append(out.Columns, id)
		sc.cols = append(sc.cols, scopeCol{table: alias, name: name, id: id})
	}
	outs := outArgs(t.Call.Name, v.Type().OID)
	call, set := v.(*Call)
	switch {
	case set && b.find.meta != nil && call.Fn.Rows != nil:
		list := b.rowOf(call)
		if len(list) == 1 && len(b.outArgs(call)) == 0 {
			if list[0].name = outputName(t.Call); t.Alias != "" {
				list[0].name = t.Alias
			}
		}
		for _, o := range list {
			add(o.name, o.typ)
		}
	case len(outs) == 1:
		add(outs[0].Name, v.Type())
	case len(outs) > 1:
		for _, o := range outs {
			add(o.Name, b.of(o.OID))
		}
	case v.Type().OID == oidRecord:
		return nil, nil, sqlerr.New(sqlerr.Syntax, "a column definition list is required for functions returning \"record\"").At(int(t.Pos))
	case t.Alias != "":
		add(t.Alias, v.Type())
	default:
		add(outputName(t.Call), v.Type())
	}
	if t.Ordinality {
		add("ordinality", sqltype.Int8)
	}
	if scan.Columns = out.Columns; b.find.meta != nil {
		return scan, sc, sc.rename(t.Columns, alias, t.Pos)
	}
	return out, sc, sc.rename(t.Columns, alias, t.Pos)
}
