package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// isUsable says whether a relation of the database can be what the policy makes of it, and reports why not.
//
// Proof: a private relation's rows must each be a function of one stored row, which belongs to one unit (Bind): a table's are,
// those of declared partitions too, and a simple view's (sqltype.ViewFacts) where nothing in it is volatile. Any other view may
// make rows of many people's. (a) A materialized view or a foreign table enforces nothing. (b) Row security may hide rows by what
// other people's rows say. (c) A public relation must not read what private relations are made of (publicReads); one with functions
// that may read anything is refused.
func (b *binding) isUsable(t *tableDecl, r *sqltype.Relation) bool {
	refuse := func(hint, format string, args ...any) bool {
		b.add(t.at, "%s %s", t, fmt.Sprintf(format, args...)).hint("%s", hint)
		return false
	}
	if r.RowSecurity != "" { // (b)
		return refuse(fmt.Sprintf("ALTER ROLE %s BYPASSRLS; or list a table without row-level security", r.RowSecurity),
			"has row-level security that applies to the role %s: what it hides may depend on other people's rows", r.RowSecurity)
	}
	v := r.View
	switch {
	case r.Kind == sqltype.KindTable:
		return true
	case r.Kind == sqltype.KindOther:
		return refuse("make them declared partitions, or list the children", "is not a plain table: rows of inheriting children come with it, which its constraints do not bind")
	case r.Kind == sqltype.KindForeign && t.public:
		return true
	case r.Kind == sqltype.KindForeign:
		return refuse("load it into a table of this database", "is a foreign table: this database enforces nothing that it says of its rows")
	case v == nil:
		return refuse("list the tables below it", "is a %s whose definition cannot be read", r.Kind)
	case len(v.Volatile) > 0 && r.Kind == sqltype.KindView:
		return refuse("take them out of the view, or list the tables below it", "is a view that calls %s, whose outcome may change from row to row or call to call", strings.Join(v.Volatile, ", "))
	case t.public:
		return b.publicView(t, r)
	case r.Kind == sqltype.KindMatView:
		return refuse("list the tables below it", "is a materialized view: whose rows it holds is not known")
	case !v.Simple:
		return refuse("list the tables below it; a view may choose rows and columns of one table and compute from them", "is a view whose rows may depend on several people's: %s", v.Why)
	}
	return true
}

// publicView: a function that may read anything may read private rows (c).
func (b *binding) publicView(t *tableDecl, r *sqltype.Relation) bool {
	if len(r.View.Opaque) > 0 {
		b.add(t.at, "%s is public but calls %s, which may read anything", t, strings.Join(r.View.Opaque, ", ")).hint("take them out of the view")
		return false
	}
	return true
}

// publicReads refuses public relations that give, or are made of, rows that any private relation is made of (c): the table below a
// private view is private, whether it is listed or not.
func (b *binding) publicReads() {
	private := map[sqltype.QualifiedName]*tableDecl{}
	for _, t := range b.p.tables {
		if bt := b.bound[t]; bt != nil && !t.public {
			for _, name := range sources(bt.rel) {
				private[name] = t
			}
		}
	}
	for _, t := range b.p.tables {
		bt := b.bound[t]
		if bt == nil || !t.public {
			continue
		}
		for _, name := range sources(bt.rel) {
			if of := private[name]; of != nil {
				b.add(t.at, "%s is public but reads %s, whose rows are private", t, qualified(name.Schema, name.Name)).
					hint("what is made of private rows is private (%s is made of them too): ask %s itself", of, of)
				break
			}
		}
	}
}

// sources are the stored relations, by name, whose rows a relation may give: itself, what it reads, what it is part of.
func sources(r *sqltype.Relation) []sqltype.QualifiedName {
	out := append([]sqltype.QualifiedName{{Schema: r.Schema, Name: r.Name}}, r.PartOf...)
	if r.View != nil {
		out = append(out, r.View.Reads...)
		if r.View.Simple {
			out = append(out, r.View.Base)
		}
	}
	return out
}

// oneWayARow refuses that one stored row is listed twice (as a table and as a view or partition of it) with different owners: by
// the promise a unit's rows are all its rows, in every table.
func (b *binding) oneWayARow() {
	type listed struct {
		bt    *boundTable
		owner string
	}
	rows := map[sqltype.QualifiedName][]listed{}
	for _, t := range b.p.tables {
		bt := b.bound[t]
		if bt == nil || t.public { // publicReads looks at these
			continue
		}
		r := bt.rel
		of := sources(r)
		owner := ""
		switch own := b.p.rootOf(t); {
		case own != nil:
			owner = "unit " + r.BaseColumn(own.column.text)
		case t.path != nil:
			owner = fmt.Sprint(bt.baseColumns(t.path.columns), t.path.parent, t.path.parentColumns)
		}
		if len(b.p.kinds) > 1 {
			var others []string
			for _, path := range t.also {
				others = append(others, fmt.Sprint(bt.baseColumns(path.columns), path.parent, path.parentColumns))
			}
			slices.Sort(others)
			owner = fmt.Sprint(owner, others)
		}
		for _, name := range of {
			for _, other := range rows[name] {
				if other.owner != owner {
					b.add(t.at, "table %s gives rows of %s too, but says otherwise whose they are", t, other.bt.decl).
						hint("give both the same unit, or leave one out")
				}
			}
			rows[name] = append(rows[name], listed{bt, owner})
		}
	}
}
