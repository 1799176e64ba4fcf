package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Catalogs is a policy bound to a schema: it publishes to each analyst what the policy lets them see. It is immutable.
type Catalogs struct {
	policy       *Policy
	order        []*tableDecl
	tables       map[*tableDecl]*plan.Table
	epoch        string
	copyWarnings []CopyWarning
}

func newCatalogs(b *binding) *Catalogs {
	c := &Catalogs{policy: b.p, order: b.p.tables, tables: map[*tableDecl]*plan.Table{}}
	for d, bt := range b.bound {
		c.tables[d] = bt.table
	}
	c.epoch, c.copyWarnings = c.hash(b), b.copyWarnings()
	return c
}

// OIDs of tables: PostgreSQL's own end below 1 << 14, dpsql's own tables are below ourOIDs.
const (
	ourOIDs = 1 << 16
	endOIDs = 1 << 31
)

// numberTables gives each table an OID that follows from its name, and from the others' only where two hashes meet.
func (b *binding) numberTables() {
	var all []*plan.Table
	for _, bt := range b.bound {
		all = append(all, bt.table)
	}
	slices.SortFunc(all, func(x, y *plan.Table) int {
		return strings.Compare(qualified(x.Schema, x.Name), qualified(y.Schema, y.Name))
	})
	taken := map[uint32]bool{}
	for _, t := range all {
		h := fnv.New32a()
		_, _ = io.WriteString(h, qualified(t.Schema, t.Name)) // a hash never fails
		oid := ourOIDs + h.Sum32()%(endOIDs-ourOIDs)
		for taken[oid] {
			if oid++; oid == endOIDs {
				oid = ourOIDs
			}
		}
		taken[oid] = true
		t.OID = oid
	}
}

// Epoch names everything that changes what a stored release means: tables, types, keys, units, ranges, domains and bounds, and
// what views and columns are made of (sqltype.Relation.Definition), and the owner's data_version. Budgets, rights and passwords are not in it.
func (c *Catalogs) Epoch() string { return c.epoch }

func (c *Catalogs) hash(b *binding) string {
	h := sha256.New()
	q := c.policy.Query
	_, _ = fmt.Fprintf(h, "dpsql epoch 2 %q %q %s %d %d %s\n", c.policy.Dataset, c.policy.Unit, c.policy.Population, q.MaxGroups, q.MaxPublicGroups, q.Bounding)
	if v := c.policy.DataVersion; v != "" {
		_, _ = fmt.Fprintf(h, "data %q\n", v)
	}
	tables := slices.SortedFunc(func(yield func(*plan.Table) bool) {
		for _, d := range c.order {
			if !yield(c.tables[d]) {
				return
			}
		}
	}, func(a, b *plan.Table) int {
		return strings.Compare(qualified(a.Schema, a.Name), qualified(b.Schema, b.Name))
	})
	rels := map[*plan.Table]*sqltype.Relation{}
	for _, bt := range b.bound {
		rels[bt.table] = bt.rel
	}
	for _, t := range tables {
		_, _ = fmt.Fprintf(h, "table %q %q public %t units %q unit %d max %d keys %v\n", t.Schema, t.Name, t.Public, t.Units, t.UnitCol, t.MaxRows, t.Keys)
		hashPath(h, t)
		if t.UnitElse != nil {
			_, _ = fmt.Fprintf(h, "else %v\n", t.UnitElse)
		}
		if t.OwnKey != nil {
			_, _ = fmt.Fprintf(h, "own rows %v\n", t.OwnKey)
		}
		if text := rels[t].Definition; text != "" {
			_, _ = fmt.Fprintf(h, "defined %q\n", text)
		}
		for _, of := range t.Of {
			_, _ = fmt.Fprintf(h, "of %q unit %d max %d\n", of.Units, of.UnitCol, of.MaxRows)
			hashPath(h, of)
		}
		for _, m := range t.MaxFrequency {
			_, _ = fmt.Fprintf(h, "frequency %v %d\n", m.Columns, m.Most)
		}
		for _, col := range t.Columns {
			_, _ = fmt.Fprintf(h, "column %q %d %d notnull %t\n", col.Name, col.Type.OID, col.Type.Typmod, col.NotNull)
			if rc, ok := rels[t].Column(col.Name); ok && rc.Definition != "" {
				_, _ = fmt.Fprintf(h, "defined %q\n", rc.Definition)
			}
			if e, ok := col.Type.Enum(); ok {
				_, _ = fmt.Fprintf(h, "labels %q\n", e.Labels)
			}
			if col.Range != nil {
				_, _ = fmt.Fprintf(h, "range %s %s\n", col.Range.Lo, col.Range.Hi)
			}
			if e := col.Elements; e != nil {
				_, _ = fmt.Fprintf(h, "elements %v %s %s\n", e.Shape, e.Range.Lo, e.Range.Hi)
			}
			if col.Step != nil {
				_, _ = fmt.Fprintf(h, "step %s\n", col.Step)
			}
			if d := col.Domain; d != nil {
				hashDomain(h, d, col.Type)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashPath(h io.Writer, t *plan.Table) {
	if p := t.Path; p != nil {
		_, _ = fmt.Fprintf(h, "path %v %q %q %v\n", p.Columns, p.Parent.Schema, p.Parent.Name, p.ParentColumns)
	}
}

func hashDomain(h io.Writer, d *plan.Domain, t sqltype.Type) {
	if d.From != nil {
		_, _ = fmt.Fprintf(h, "from %q %q %d\n", d.From.Schema, d.From.Name, d.FromColumn)
		if d.OrNull {
			_, _ = fmt.Fprintln(h, "value null")
		}
		return
	}
	if d.Enforced {
		_, _ = fmt.Fprintln(h, "values enforced")
	}
	for _, v := range d.Values {
		if v == nil {
			_, _ = fmt.Fprintln(h, "value null")
		} else {
			_, _ = fmt.Fprintf(h, "value %q\n", sqltype.FormatText(v, t))
		}
	}
}

// For is the world of one analyst: the tables and columns that `may` lists. Public tables belong to nobody: an analyst who
// may see anything sees them all. Columns and tables that only a unit path needs are in it, but not to be seen.
func (c *Catalogs) For(analyst string) (plan.Catalog, error) {
	v, err := c.view(analyst)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Visible lists the tables that For shows, in the policy's order.
func (c *Catalogs) Visible(analyst string) ([]*plan.Table, error) {
	v, err := c.view(analyst)
	if err != nil {
		return nil, err
	}
	return v.tables, nil
}

// VisibleOf lists the tables of a catalog that For made.
func (c *Catalogs) VisibleOf(cat plan.Catalog) []*plan.Table {
	v, _ := cat.(*view)
	if v == nil {
		return nil
	}
	return slices.Clone(v.tables)
}

func (c *Catalogs) view(analyst string) (*view, error) {
	a, ok := c.policy.Analyst(analyst)
	if !ok {
		return nil, sqlerr.New(sqlerr.InvalidAuth, "role %q does not exist", analyst)
	}
	whole := map[*tableDecl]bool{}
	some := map[*tableDecl]map[string]bool{}
	for _, g := range a.may {
		if g.column == "" {
			whole[g.table] = true
			continue
		}
		if some[g.table] == nil {
			some[g.table] = map[string]bool{}
		}
		some[g.table][g.column] = true
	}
	copies := map[*plan.Table]*plan.Table{}
	for _, d := range c.order {
		t := *c.tables[d]
		t.Columns = slices.Clone(t.Columns)
		for i := range t.Columns {
			col := &t.Columns[i]
			may := whole[d] || some[d][col.Name] || d.public && len(a.may) > 0
			col.Visible, col.Unread = col.Visible && may, col.Unread && may
		}
		copies[c.tables[d]] = &t
		for _, of := range c.tables[d].Of {
			own := *of
			own.Columns, own.Whole = t.Columns, &t
			copies[of] = &own
		}
	}
	v := &view{defaultSchema: c.policy.defaultSchema()}
	for _, d := range c.order {
		t := copies[c.tables[d]]
		t.Of = slices.Clone(t.Of)
		for i, of := range t.Of {
			t.Of[i] = copies[of]
			copyPath(t.Of[i], copies)
		}
		copyPath(t, copies)
		t.References = slices.Clone(t.References)
		for i := range t.References {
			t.References[i].Table = copies[t.References[i].Table]
		}
		for i := range t.Columns {
			if dom := t.Columns[i].Domain; dom != nil && dom.From != nil {
				t.Columns[i].Domain = &plan.Domain{From: copies[dom.From], FromColumn: dom.FromColumn, OrNull: dom.OrNull}
			}
		}
		if slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Visible }) {
			v.tables = append(v.tables, t)
		}
	}
	return v, nil
}

// copyPath leads a copy to a copy.
func copyPath(t *plan.Table, copies map[*plan.Table]*plan.Table) {
	if t.Path != nil {
		p := *t.Path
		p.Parent = copies[p.Parent]
		t.Path = &p
	}
}

// view is one analyst's catalog.
type view struct {
	defaultSchema string
	tables        []*plan.Table // those to be seen
}

// Table resolves a name; without a schema it means the backend's default one.
func (v *view) Table(schema, name string) (*plan.Table, bool) {
	if schema == "" {
		schema = v.defaultSchema
	}
	if t, ok := v.find(schema, name); ok {
		return t, true
	}
	if schema == "public" { // what PostgreSQL's clients call the default schema, whatever the database's name of it
		return v.find(v.defaultSchema, name)
	}
	return nil, false
}

func (v *view) find(schema, name string) (*plan.Table, bool) {
	for _, t := range v.tables {
		if t.Schema == schema && t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// VisibleTables lists the tables in the policy's order.
func (v *view) VisibleTables() []*plan.Table { return v.tables }
