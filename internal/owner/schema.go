package owner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// schema is what a database says of its tables, with the foreign keys as edges between them.
type schema struct {
	backend       string
	defaultSchema string
	tables        []*table
	root          *table // the unit's
	unit          string // its column
	lookups       map[*table]bool
}

// table is one relation. A private table has a way to the unit or is its table; unitColumn is its own column that is the unit, or "".
type table struct {
	rel        *sqltype.Relation
	edges      []edge
	path       *edge
	hops       int // to the unit's table; -1: none
	unitColumn string
	oneRow     bool   // a person has at most one row
	rowKey     string // of a file whose rows without a person are units: the column that tells them apart
	closed     bool   // an older policy says what it is: no way is sought
	known      map[string]policy.Fact
	base       *table // of a view of one table that is here too
	standsIn   bool   // a view of one table that is not here: it is that table, for this role
}

// edge is a foreign key, its names as the two tables spell them.
type edge struct {
	columns   []string
	to        *table
	toColumns []string
	weak      bool // not enforced, or leads to one part of what rows may refer to: no way of its own, but a second one
}

func newSchema(rels []sqltype.Relation, backend string) (*schema, error) {
	s := &schema{backend: backend, defaultSchema: "main"}
	switch backend {
	case backendPostgres:
		s.defaultSchema = "public"
	case backendDuckDB, backendFiles:
	default:
		return nil, fmt.Errorf("the backend is one of postgres, duckdb and files, not %q", backend)
	}
	for i := range rels {
		s.tables = append(s.tables, &table{rel: &rels[i], hops: -1})
	}
	slices.SortFunc(s.tables, func(a, b *table) int {
		return cmp.Or(cmp.Compare(a.rel.Schema, b.rel.Schema), cmp.Compare(a.rel.Name, b.rel.Name))
	})
	for _, t := range s.tables {
		if v := t.rel.View; t.rel.Kind == sqltype.KindView && v != nil && v.Simple && len(v.Volatile) == 0 && t.rel.RowSecurity == "" {
			t.base = s.find(v.Base.Schema, v.Base.Name)
			t.standsIn = t.base == nil
		}
	}
	for _, t := range s.tables {
		for _, fk := range t.rel.ForeignKeys {
			if e, ok := s.edge(t, fk); ok {
				t.edges = append(t.edges, e)
			}
		}
		for _, u := range t.rel.Unenforced {
			if u.Kind != sqltype.UnenforcedForeignKey {
				continue
			}
			if e, ok := s.edge(t, sqltype.RelationForeignKey{Columns: u.Columns, RefSchema: u.RefSchema, RefTable: u.RefTable, RefColumns: u.RefColumns}); ok {
				e.weak = true
				t.edges = append(t.edges, e)
			}
		}
	}
	return s, nil
}

// proposable reports a plain table, or a view in its place, that a policy can name and whose rows no other table gives too.
func (t *table) proposable() bool {
	return (t.rel.Kind == sqltype.KindTable || t.standsIn) && len(t.rel.PartOf) == 0 && writable(t)
}

func (s *schema) same(a, b string) bool {
	return a == b || s.backend != backendPostgres && strings.EqualFold(a, b) // DuckDB gives names as a foreign key spelt them
}

func (s *schema) edge(t *table, fk sqltype.RelationForeignKey) (edge, bool) {
	if len(fk.Columns) != len(fk.RefColumns) || len(fk.Columns) == 0 {
		return edge{}, false
	}
	i := slices.IndexFunc(s.tables, func(o *table) bool {
		return s.same(o.rel.Schema, fk.RefSchema) && s.same(o.rel.Name, fk.RefTable) || o.standsIn && o.rel.View.Base == sqltype.QualifiedName{Schema: fk.RefSchema, Name: fk.RefTable}
	})
	if i < 0 {
		return edge{}, false
	}
	e := edge{to: s.tables[i], weak: fk.Partial}
	for i := range fk.Columns {
		own, ok := s.column(t, fk.Columns[i])
		theirs, ok2 := s.column(e.to, e.to.shown(fk.RefColumns[i]))
		if !ok || !ok2 {
			return edge{}, false
		}
		e.columns, e.toColumns = append(e.columns, own), append(e.toColumns, theirs)
	}
	return e, true
}

// shown is a view's column that is the base's of that name; "" where it shows none.
func (t *table) shown(base string) string {
	if !t.standsIn && t.base == nil {
		return base
	}
	for _, c := range t.rel.Columns {
		if t.rel.BaseColumn(c.Name) == base {
			return c.Name
		}
	}
	return ""
}

func (s *schema) column(t *table, name string) (string, bool) {
	if _, ok := t.rel.Column(name); ok {
		return name, true
	}
	for _, c := range t.rel.Columns {
		if s.same(c.Name, name) {
			return c.Name, true
		}
	}
	return "", false
}

func (s *schema) find(schemaName, name string) *table {
	for _, t := range s.tables {
		if t.rel.Schema == schemaName && t.rel.Name == name {
			return t
		}
	}
	return nil
}

// named finds what a policy calls [schema,] table.
func (s *schema) named(parts []string) *table {
	if len(parts) == 2 {
		return s.find(parts[0], parts[1])
	}
	return s.find(s.defaultSchema, parts[0])
}

// policySchema is empty where a policy leaves the schema out.
func (s *schema) policySchema(t *table) string {
	if t.rel.Schema == s.defaultSchema {
		return ""
	}
	return t.rel.Schema
}

// spell is a table's name in a policy.
func (s *schema) spell(t *table) string { return policy.Qualified(s.policySchema(t), t.rel.Name) }

func (s *schema) unitName() string {
	return policy.Qualified(s.policySchema(s.root), s.root.rel.Name, s.unit)
}

func (s *schema) arrow(e edge) string {
	return policy.Arrow(e.columns, s.policySchema(e.to), e.to.rel.Name, e.toColumns)
}

// findPaths gives each table its shortest way to the unit, along foreign keys that check would take, and finds the look-up tables
// among the rest. A way that no row lacks comes first: by a column that may be NULL, most rows may be nobody's. In a merge, a
// listed table comes with the way that its owner wrote.
func (s *schema) findPaths() {
	if s.root != nil {
		s.root.hops, s.root.path = 0, nil
		s.settle(s.root)
		for _, always := range []bool{true, false} {
			for hops := 1; hops <= len(s.tables); hops++ {
				for _, t := range s.tables {
					if t.hops < 0 {
						s.findPath(t, hops, always)
					} else if t.hops == hops && t.path != nil && t.closed {
						s.settle(t)
					}
				}
			}
		}
	}
	s.findLookups()
}

// alwaysLeads reports that each row that an edge's table has leads to a person by it.
func (s *schema) alwaysLeads(t *table, e edge) bool {
	lacks := t.nullable(e.columns)
	for at := e.to; len(lacks) == 0 && at != s.root; at = at.path.to {
		lacks = s.mayLack(at)
	}
	return len(lacks) == 0
}

// findPath takes the first foreign key that leads to a table one step nearer, and where always is said only one by which each row has a person.
func (s *schema) findPath(t *table, hops int, always bool) {
	if t.closed || !t.proposable() {
		return
	}
	for _, e := range t.edges {
		if e.to.hops == hops-1 && !e.weak && t.usable(e) && (!always || s.alwaysLeads(t, e)) {
			t.path, t.hops = &e, hops
			s.settle(t)
			return
		}
	}
}

// settle says what a table's own way means for it. Its parent is settled.
func (s *schema) settle(t *table) {
	var on []string
	if t == s.root {
		t.unitColumn, on = s.unit, []string{s.unit}
		t.oneRow = true
	} else {
		on = t.path.columns
		for i, c := range t.path.toColumns {
			if c == t.path.to.unitColumn {
				t.unitColumn = t.path.columns[i]
			}
		}
		t.oneRow = t.path.to.oneRow
	}
	t.oneRow = t.oneRow && t.unique(on) || s.backend == backendFiles && t == s.root && t.looksLikeKey(s.unit)
}

// unique reports that a constraint allows each value of the columns once.
func (t *table) unique(columns []string) bool {
	return slices.ContainsFunc(t.rel.Keys, func(k []string) bool {
		return !slices.ContainsFunc(k, func(c string) bool { return !slices.Contains(columns, c) })
	})
}

func (t *table) usable(e edge) bool {
	if e.to == t {
		return false
	}
	for i, name := range e.columns {
		own, _ := t.rel.Column(name)
		theirs, _ := e.to.rel.Column(e.toColumns[i])
		if !policy.LeadsToUnit(own.Type) || !policy.LeadsToUnit(theirs.Type) || !sqltype.SameKey(own.Type, theirs.Type) || !writableName(name) || !writableName(e.toColumns[i]) {
			return false
		}
	}
	return true
}

// seconds are the foreign keys by which a private table leads to private tables besides its own way: check refuses each until the
// owner has decided. The rule is policy's sameWay.
func (t *table) seconds() []edge {
	var out []edge
	for _, e := range t.edges {
		if e.to.hops < 0 || t.sameWay(e) {
			continue
		}
		out = append(out, e)
	}
	return out
}

func (t *table) sameWay(e edge) bool {
	for i, c := range e.columns {
		if t.unitColumn != "" && c == t.unitColumn && e.toColumns[i] == e.to.unitColumn {
			return true
		}
	}
	return t.path != nil && t.path.to == e.to && (within(e, *t.path) || within(*t.path, e))
}

func within(e, of edge) bool {
	for i, c := range e.columns {
		j := slices.Index(of.columns, c)
		if j < 0 || of.toColumns[j] != e.toColumns[i] {
			return false
		}
	}
	return true
}

// sort puts the unit's table first, then what is near it, then the rest by name.
func (s *schema) sort() {
	far := func(t *table) int {
		if t.hops < 0 {
			return len(s.tables) + 1
		}
		return t.hops
	}
	slices.SortStableFunc(s.tables, func(a, b *table) int { return cmp.Compare(far(a), far(b)) })
}

// guess is a way that the database does not promise: a foreign key that it does not enforce, or a column that has the unit's name.
// It is a hint, never written as fact.
func (s *schema) guess(t *table) (e edge, why string, ok bool) {
	for _, e := range t.edges {
		if e.weak && e.to.hops >= 0 && t.usable(e) {
			return e, "a guess: the database does not enforce this foreign key", true
		}
	}
	if s.root == nil {
		return edge{}, "", false
	}
	key, _ := s.root.rel.Column(s.unit)
	for _, name := range []string{s.unit, singular(s.root.rel.Name) + "_" + s.unit, singular(s.root.rel.Name) + "_id"} {
		if plainID(name) {
			continue
		}
		for _, c := range t.rel.Columns {
			if strings.EqualFold(c.Name, name) && (c.Type.OID == key.Type.OID || c.Type.IsInteger() && key.Type.IsInteger()) && policy.CanBeUnit(c.Type) {
				return edge{columns: []string{c.Name}, to: s.root, toColumns: []string{s.unit}}, "a guess from the column's name", true
			}
		}
	}
	return edge{}, "", false
}

// plainID is a name that every table could have.
func plainID(name string) bool {
	return slices.Contains([]string{"id", "key", "uid"}, strings.ToLower(name))
}

func typeText(t sqltype.Type) string {
	if t.IsReadable() {
		return t.String()
	}
	return "a type that dpsql does not compute with"
}
