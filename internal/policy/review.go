package policy

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Review is everything that can be said of a policy file at once: what Parse and Bind refuse, together, and what they take but
// an owner should look at.
type Review struct {
	Policy   *Policy   // nil if the file is not YAML
	Catalogs *Catalogs // nil if there are problems
	Problems []Problem
	Warnings []Problem
	Unread   []RelationName // that the backend's role may not read, as Problems say

	bound *binding // to the schema; nil where that could not be read
}

// Check reads a policy file and reviews it against the schema that look gives. look is asked even where the file has mistakes, if
// it says which backend; its error is returned as it is, beside what was found without the schema.
func Check(path string, look func(*Policy) ([]sqltype.Relation, error)) (*Review, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return check(path, text, os.LookupEnv, look)
}

func check(name string, text []byte, lookup func(string) (string, bool), look func(*Policy) ([]sqltype.Relation, error)) (*Review, error) {
	f := &file{reader: reader{lookup: lookup}, p: &Policy{Name: name}}
	body := f.parseYAML(text)
	if body != nil {
		f.policy(body)
	}
	r := &Review{Policy: f.p}
	b := f.p.Backend
	var rels []sqltype.Relation
	var err error
	if body != nil && (b.Postgres != "" || b.DuckDB != "" || b.Files != "") {
		rels, err = look(f.p)
	} else {
		err = errNoBackend
	}
	bound := &binding{p: f.p, bound: map[*tableDecl]*boundTable{}}
	if err == nil {
		r.Catalogs = bound.run(rels)
	}
	f.list = append(f.list, bound.list...)
	r.Unread = bound.unread
	r.Problems = f.sorted()
	if len(r.Problems) > 0 {
		r.Catalogs = nil
	}
	var w warnings
	f.bare = slices.DeleteFunc(f.bare, func(at word) bool { // the mistake says what to write
		return slices.ContainsFunc(r.Problems, func(p Problem) bool { return position{p.Line, p.Col} == at.position })
	})
	w.file(f)
	if err == nil {
		w.schema(bound)
		r.bound = bound
	}
	r.Warnings = w.sorted()
	if errors.Is(err, errNoBackend) {
		err = nil // said already
	}
	return r, err
}

var errNoBackend = errors.New("policy: no backend")

// file warns of what the file alone shows.
func (w *warnings) file(f *file) {
	for _, at := range f.bare {
		w.add(at.position, "%s is written without quotes: other YAML readers take it for true or false", at.text).hint(`write "%s"`, at.text)
	}
	n, of := f.p.most()
	if total := f.p.Budget.allDelta(); n > 0 && total > f.p.Budget.Delta && total > 0.1/float64(n) { // that of one window is refused
		w.add(f.deltaAt, "budget.delta %g is %g in all windows of the lifetime, more than a tenth of 1/population (%d %s)", f.p.Budget.Delta, total, n, of).
			hint("with 1/n in all, publishing one whole person would keep the promise: a smaller delta, or a smaller lifetime")
	} else if n == 0 && f.p.Budget.Delta > 1e-5 {
		w.add(f.deltaAt, "budget.delta %g is large, and no population is declared to compare it with", f.p.Budget.Delta).hint("say population: how many people there are, about")
	}
	if i := slices.IndexFunc(f.p.tables, (*tableDecl).isAutomatic); n == 0 && i >= 0 {
		where := f.p.unitColumn.position
		if i >= 0 {
			where = f.p.tables[i].at
		}
		w.add(where, "bounds are automatic and no population is declared: they are chosen as for %d people", AssumedPopulation).
			hint("%s: how many people there are, about. Bounds then take the part of the price that so many people need", f.p.populationSays())
	}
	if len(f.p.kinds) > 1 && n > 0 && f.p.Population.each == nil {
		w.add(f.populationAt, "population is one number for %d kinds of units: it is taken for each kind's, and a delta is held against it alone", len(f.p.kinds)).
			hint("%s; one number must be that of the kind with fewest people, else what is told of rows of two people is mostly cut off", f.p.populationSays())
	}
	for _, t := range f.p.tables {
		w.maxRows(t)
		w.maxFrequencies(t, f.p.Query.Joins)
		for _, c := range t.columns {
			if c.lo == nil {
				continue
			}
			for _, end := range []decimal.Decimal{*c.lo, *c.hi} {
				if isOdd(end) {
					w.add(c.rangeAt, "column %s.%s: range: %s looks copied from the data", t, quoteName(c.name.text), end).
						hint("the ends of a range are public: choose them from what the values mean, never from min() and max(); range: auto leaves them to each statement, if the type is exact")
				}
			}
		}
	}
	e := f.p.Budget.Epsilon
	if e > muchEpsilon && e <= maxEpsilon {
		w.add(f.epsilonAt, "budget.epsilon %g promises people next to nothing: what is said of one of them may be told from the answers almost surely", e).
			hint("at most %d; docs/budget.md says what to choose", muchEpsilon)
	}
	for _, r := range f.p.Roles {
		if !(e > 0 && e <= maxEpsilon) { // quotas are shares of it
			break
		}
		if !slices.ContainsFunc(f.p.Analysts, func(a *Analyst) bool { return slices.Contains(a.Roles, r) }) {
			w.add(r.at, "roles.%s has a budget and no analyst", r.Name).hint("analysts.NAME.roles: [%s]", r.Name)
		}
	}
	w.balancers(f.p)
	w.verifiers(f.p)
	if n := f.analystsAt; len(f.p.Analysts) == 0 && n.line > 0 {
		w.add(n, "there is no analyst, so nobody can connect").hint("dpsql user add NAME --may TABLE --config policy.yaml")
	}
	for _, a := range f.p.Analysts {
		if len(a.may) == 0 {
			w.add(a.at, "analysts.%s may see nothing", a.Name).hint("may: [table, table.column]")
		}
	}
}

func (w *warnings) balancers(p *Policy) {
	b := p.Balancers
	for _, p := range b.Addresses {
		if p.Addr().BitLen()-p.Bits() > wideNetwork && b.Header {
			w.add(b.at, "balancers.addresses: %s is a large network: whoever has an address in it may claim to come from any other", p).hint("the balancers' own addresses, such as 10.0.0.5")
		}
	}
	if len(b.Addresses) == 0 {
		return
	}
	switch {
	case p.TLS != nil || p.IsTLSRequired(): // which is a mistake without tls
	case b.Header:
		w.add(b.at, "balancers: clients of other machines are refused unless the balancer ends their TLS and says so, as there is no tls").
			hint("tls: {cert: ..., key: ...}; or in HAProxy: bind ... ssl, server ... send-proxy-v2-ssl")
	default:
		w.add(b.at, "balancers: clients of other machines may be served in clear text: without the PROXY protocol they are not told apart, and there is no tls").
			hint("tls: {cert: ..., key: ...}, which is required of all that come through the balancer then")
	}
	if !b.Header {
		w.add(b.at, "balancers: without the PROXY protocol clients' addresses are not known: little holds back who guesses passwords").
			hint("proxy_protocol: v2, in the balancer too")
	}
}

// isAutomatic: how many rows of a person count is left to each statement.
func (t *tableDecl) isAutomatic() bool { return t.path != nil && !t.public && t.maxRows == 0 }

// usualRows: a larger max_rows_per_unit is no bound that somebody knows, but one that was to be out of the way.
const usualRows = 10_000

func (w *warnings) maxRows(t *tableDecl) {
	switch n := t.maxRows; {
	case n > usualRows:
		w.add(t.maxRowsAt, "table %s: max_rows_per_unit %d makes the noise of every count that much larger", t, n).
			hint("max_rows_per_unit: auto finds a smaller bound with a part of each statement's price")
	case isOdd(decimal.NewFromUint64(n)):
		w.add(t.maxRowsAt, "table %s: max_rows_per_unit %d looks copied from the data", t, n).
			hint("it is public: choose it from what the rows mean, never from max(); if you do not know it, max_rows_per_unit: auto")
	}
}

// schema warns of what the database shows.
func (w *warnings) schema(b *binding) {
	p := b.p
	w.copies(b.copyWarnings())
	for _, t := range p.tables {
		bt := b.bound[t]
		if bt == nil || bt.table == nil {
			continue
		}
		for _, u := range bt.rel.Unenforced {
			if u.Kind == sqltype.UnenforcedKey {
				w.add(t.at, "table %s: the key %s %v is not used: %s", t, quoteName(u.Name), u.Columns, u.Reason)
			}
		}
		for _, c := range bt.rel.Columns {
			if d := t.column(c.Name); (d != nil || t.allColumns) && !c.Type.IsReadable() {
				at := t.at
				if d != nil {
					at = d.name.position
				}
				says := w.add(at, "column %s.%s has a type that dpsql does not compute with: it does not exist for analysts", t, quoteName(c.Name))
				if cure := asText(p.Backend, bt.rel, c, d != nil); cure != "" {
					says.hint("%s", cure)
				}
			}
		}
		w.tightFrequencies(b, bt)
		if t.public {
			continue
		}
		w.unsummed(bt)
		w.private(b, bt)
		w.unread(b, bt)
	}
}

// asText is how a column of a type that dpsql does not read can be asked for as text; "" where no way is known.
func asText(b Backend, r *sqltype.Relation, c sqltype.RelationColumn, listed bool) string {
	table, column, then := sqlIdentifier(r.Schema)+"."+sqlIdentifier(r.Name), c.Name, ""
	if r.View != nil {
		table, column, then = sqlIdentifier(r.View.Base.Schema)+"."+sqlIdentifier(r.View.Base.Name), r.BaseColumn(c.Name), " give it in the view,"
	}
	name := column + "_text"
	for _, has := r.Column(name); has; _, has = r.Column(name) {
		name += "_"
	}
	from, to := sqlIdentifier(column), sqlIdentifier(name)
	if listed {
		then += " then list " + quoteName(name)
	} else {
		then += " then analysts see " + quoteName(name)
	}
	switch {
	case len(r.PartOf) > 0:
		return ""
	case c.TextBy == sqltype.TextByGenerated:
		return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s text GENERATED ALWAYS AS (%s::text) STORED;%s", table, to, from, then)
	case c.TextBy == sqltype.TextByTrigger:
		return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s text; fill it by a trigger BEFORE INSERT OR UPDATE that sets NEW.%s := NEW.%s::text;%s", table, to, to, from, then)
	case b.DuckDB != "" && r.Kind == sqltype.KindTable:
		return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s VARCHAR; UPDATE %s SET %s = %s::VARCHAR;%s", table, to, table, to, from, then)
	case b.Files != "":
		return "write it as text into the file"
	}
	return ""
}

// unsummed warns of numbers over which SUM and AVG are refused: no range, and no grid that follows from the type or a step. Those
// that look like groups or keys are not meant to be summed.
func (w *warnings) unsummed(bt *boundTable) {
	for i, c := range bt.table.Columns {
		d := bt.decl.column(c.Name)
		if d == nil || !NeedsRange(c.Type) || c.Range != nil || c.Step != nil || d.hasValues || bt.used[c.Name] || bt.isInKey(i) {
			continue
		}
		w.add(d.name.position, "column %s.%s is %s without range or step: sums and averages over it are refused", bt.decl, quoteName(c.Name), c.Type).
			hint("range: [lowest, highest] from what the values mean, or step: the grid to which each value is rounded")
	}
}

// unread warns of tables that no statement may read: their rows belong to two people of one kind, or lead to such rows.
func (w *warnings) unread(b *binding, bt *boundTable) {
	t := bt.decl
	if len(b.p.kinds) == 0 || !b.hasTwoWays(t) {
		return
	}
	says := w.add(t.at, "table %s: no statement can read it: its rows belong to two people of one kind", t)
	if len(t.also) == 0 {
		says.hint("as those of the table that its unit leads to do, where the cure is")
		return
	}
	columns := make([]string, len(t.also))
	for i, path := range t.also {
		columns[i] = quoteName(path.columns[len(path.columns)-1])
	}
	says.hint("if one of them needs no protection here: unprotected: true on the column (%s) in place of also_unit; else leave the table out", strings.Join(columns, ", "))
}

// isInKey reports a column that a key or a foreign key of the database has.
func (t *boundTable) isInKey(column int) bool {
	name := t.table.Columns[column].Name
	return slices.ContainsFunc(t.table.Keys, func(k []int) bool { return slices.Contains(k, column) }) ||
		slices.ContainsFunc(t.rel.ForeignKeys, func(fk sqltype.RelationForeignKey) bool { return slices.Contains(fk.Columns, name) })
}

// keyless warns of a unit that is no key of its table: what one person has may be several units, which are protected one by one. Of files the policy says what is a key.
func (w *warnings) keyless(bt *boundTable, unit word, files bool) {
	single := ""
	for _, k := range bt.table.Keys {
		if len(k) != 1 {
			continue
		}
		name := bt.table.Columns[k[0]].Name
		if name == unit.text {
			return
		}
		single = name
	}
	for _, k := range bt.rel.Keys {
		if len(k) == 1 && k[0] == unit.text {
			return
		} else if len(k) == 1 && single == "" {
			single = k[0]
		}
	}
	name := quoteName(unit.text)
	says := w.add(unit.position, "unit %s.%s is not a key of the table: who has several of its values counts as several people, and people with one value as one", bt.decl, name)
	unique := "make " + name + " unique in the database"
	if files {
		unique = "write key: " + name + " for the table"
	}
	if single != "" {
		says.hint("unit: %s.%s is a key; or %s, if each person has one row", bt.decl, quoteName(single), unique)
	} else {
		says.hint("%s, if each person has one row", unique)
	}
}

func (w *warnings) private(b *binding, bt *boundTable) {
	for kind, as := range bt.as {
		if as != nil {
			w.privateOf(b, bt, kind, as)
		}
	}
}

// withoutUnit warns of rows that lead to no person: of those that are dropped where the policy does not say so, and of what own does not promise.
func (w *warnings) withoutUnit(b *binding, bt *boundTable, at position, columns []string) {
	t := bt.decl
	if len(columns) > 0 && t.fallbackColumns != nil {
		of := strings.Join(columns, " or ")
		w.add(t.fallbackAt, "table %s: unit: coalesce: where %s is NULL the unit is the value of %s: one human with rows of both kinds is two units, each protected by itself", t, of, strings.Join(t.fallbackColumns, " or ")).
			hint("if erasing a person sets %s to NULL, that person's rows become another unit's: delete them instead; or lead to the person alone, without coalesce", of)
		w.fallbackUnits(b, bt)
	}
	if t.path == nil && t.fallbackColumns != nil {
		at = t.fallbackAt
	}
	for _, name := range bt.lostWithout(columns) {
		switch t.withoutUnit.text {
		case withoutOwn:
			w.add(t.withoutUnit.position, "%s.%s can be NULL: each row without it counts as one person, with the rows of other tables that lead to it. Who has several such rows is not protected as one person", t, name).
				hint("rows_without_unit: drop leaves them out. If erasing a person sets the column to NULL, delete that person's rows instead")
		case "":
			says := w.add(at, "%s.%s can be NULL: rows without %s belong to nobody and are in no answer", t, name, map[bool]string{true: "any of them", false: "it"}[t.fallbackColumns != nil])
			if b.mayOwn(bt) {
				says.hint("rows_without_unit: own counts them, each as a unit of its own; rows_without_unit: drop says that they are meant to be left out")
			} else {
				says.hint("rows_without_unit: drop says that they are meant to be left out")
			}
		}
	}
}

// otherWay warns of a unit by columns that may be NULL where a foreign key that never is leads each row to a person, who is then not protected.
func (w *warnings) otherWay(b *binding, bt *boundTable, kind int) {
	lacks := bt.mayLack(bt.as[kind], bt.path[kind])
	if len(lacks) == 0 {
		return
	}
	for _, fk := range bt.rel.ForeignKeys {
		if slices.ContainsFunc(fk.Columns, func(name string) bool { c, ok := bt.rel.Column(name); return !ok || !c.NotNull }) {
			continue
		}
		for _, target := range b.targets(fk) {
			if target == bt || target.as == nil || target.as[kind] == nil || b.sameWayOf(kind, bt, target, fk) || !b.alwaysLeads(target, kind) {
				continue
			}
			of := strings.Join(lacks, " or ")
			w.add(bt.path[kind].at, "table %s: %s can be NULL, but by %s each row leads to a person, whom this unit does not protect", bt.decl, of, strings.Join(fk.Columns, ", ")).
				hint("unit: %q, and unprotected: true at the column %s", arrow(fk.Columns, target.decl, fk.RefColumns), of)
		}
	}
}

// alwaysLeads reports that each row of a table leads to a person of a kind.
func (b *binding) alwaysLeads(bt *boundTable, kind int) bool {
	for at := bt; at != nil && at.as != nil && at.as[kind] != nil; at = b.bound[at.path[kind].parent] {
		switch {
		case len(at.mayLack(at.as[kind], at.path[kind])) > 0:
			return false
		case at.path[kind] == nil || at.as[kind].UnitCol >= 0:
			return true
		}
	}
	return false
}

// fallbackUnits warns of values that name units beside persons: of blanks, which are values too, and of columns of other names, whose values are other units.
func (w *warnings) fallbackUnits(b *binding, bt *boundTable) {
	t := bt.decl
	for _, name := range t.fallbackColumns {
		c, ok := bt.rel.Column(name)
		notBlank := slices.ContainsFunc(bt.rel.Checks, func(k sqltype.RelationCheck) bool {
			return strings.Contains(k.Expr, name) && (strings.Contains(k.Expr, "<> ''") || strings.Contains(k.Expr, "> 0"))
		})
		if ok && c.Type.IsString() && !notBlank {
			w.add(t.fallbackAt, "table %s: unit: coalesce: all rows without a person whose %s is blank ('' or spaces) are one unit, of which most are cut", t, quoteName(name)).
				hint("store NULL in place of blanks, and keep it so: CHECK (btrim(%s) <> '')", quoteName(name))
		}
	}
	for _, o := range b.p.tables {
		if o == t {
			break
		}
		if o.fallbackColumns == nil || slices.ContainsFunc(o.fallbackColumns, func(name string) bool { return slices.Contains(t.fallbackColumns, name) }) {
			continue
		}
		w.add(t.fallbackAt, "table %s: unit: coalesce: a value of %s and the same value of %s in table %s are two units, as the columns have different names", t, strings.Join(t.fallbackColumns, " or "), strings.Join(o.fallbackColumns, " or "), o).
			hint("if they name the same people, give the columns one name in the database")
	}
}

// leadsNowhere says what becomes of rows whose way names a row that is not there (sensitivity's (U1)).
func leadsNowhere(t *tableDecl, path *pathDecl, as *plan.Table) string {
	switch {
	case as.UnitCol >= 0: // the statement does not look whether the person is there
		return fmt.Sprintf("rows whose %s is not in %s count as rows of one more person for each value", quoteName(as.Columns[as.UnitCol].Name), path.parent)
	case t.fallbackColumns != nil && t.withoutUnit.text == withoutOwn:
		return fmt.Sprintf("the unit of a row that leads nowhere is the value of %s, and without one the row itself", strings.Join(t.fallbackColumns, " or "))
	case t.fallbackColumns != nil:
		return fmt.Sprintf("the unit of a row that leads nowhere is the value of %s; without one it is in no answer", strings.Join(t.fallbackColumns, " or "))
	case t.withoutUnit.text == withoutOwn:
		return "each row that leads nowhere is protected as one unit, and not the person behind several of them"
	}
	return "rows that lead nowhere are in no answer"
}

// privateOf warns of a table as rows of one kind of units.
func (w *warnings) privateOf(b *binding, bt *boundTable, kind int, as *plan.Table) {
	t, of := bt.decl, b.p.kinds[kind]
	if t == of.table {
		w.withoutUnit(b, bt, of.column.position, bt.mayLack(as, nil))
		w.keyless(bt, of.column, b.p.Backend.Files != "")
		return
	}
	path := bt.path[kind]
	if path == nil || b.isAstray(t) {
		return
	}
	w.otherWay(b, bt, kind)
	w.withoutUnit(b, bt, path.at, bt.mayLack(as, path))
	enforced := false
	for _, fk := range bt.rel.ForeignKeys {
		for _, target := range b.targets(fk) {
			enforced = enforced || target.decl == path.parent && (b.isSameWay(bt, target, fk) || b.isDecided(bt, target, fk))
		}
	}
	if !enforced {
		w.add(path.at, "table %s: no foreign key enforces %s: %s", t, arrow(path.columns, path.parent, path.parentColumns), leadsNowhere(t, path, as))
	}
	if as.UnitCol < 0 {
		w.add(t.at, "table %s does not carry the unit's column: each statement joins the tables up to %s", t, of.table).
			hint("with the column in the table, and in its unit path, answers are faster and a distributed PostgreSQL can run them where the rows are")
	}
	for _, c := range bt.rel.Columns {
		if b.looksLikeSecondWay(bt, of, c) {
			w.add(t.at, "table %s: column %s looks like a second way to a person", t, quoteName(c.Name)).
				hint("write unprotected: true at the column if it names no person, or one who needs no protection here; that ends this warning. If both people need protection, leave the table out")
		}
	}
}

// looksLikeSecondWay: a column is called as the unit's column is, could hold its values, and nothing says what it is. A table's own key and a foreign key to a
// public table name no person.
func (b *binding) looksLikeSecondWay(bt *boundTable, of unitDecl, c sqltype.RelationColumn) bool {
	t, unit, name := bt.decl, strings.ToLower(of.column.text), strings.ToLower(c.Name)
	if name != unit && !strings.HasSuffix(name, "_"+unit) || bt.used[c.Name] || t.unprotected || len(t.also) > 0 || slices.Contains(bt.second, c.Name) {
		return false
	}
	if d := t.column(c.Name); d != nil && d.unprotected {
		return false
	}
	if slices.ContainsFunc(bt.rel.Keys, func(key []string) bool { return len(key) == 1 && b.sameName(key[0], c.Name) }) {
		return false
	}
	for _, fk := range b.allForeignKeys(bt) {
		public := func(target *boundTable) bool { return target.decl.public }
		if len(fk.Columns) == 1 && b.sameName(fk.Columns[0], c.Name) && slices.ContainsFunc(b.targets(fk), public) {
			return false
		}
	}
	holder := b.bound[of.table]
	if holder == nil {
		return true
	}
	person, ok := holder.rel.Column(of.column.text)
	return !ok || mayHoldTheSame(person.Type, c.Type)
}

// mayHoldTheSame: values of one type could be values of the other, as far as the kinds of types tell.
func mayHoldTheSame(x, y sqltype.Type) bool {
	return x.OID == y.OID || !x.IsKnown() || !y.IsKnown() || x.IsNumber() && y.IsNumber() || x.IsString() && y.IsString()
}
