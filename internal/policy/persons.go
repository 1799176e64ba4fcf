package policy

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// unlistedPersons refuses second ways to a person whose own table is not listed: where a table's unit column, or the columns of its
// unit path, are a foreign key to such a table, that table holds the persons, and any other foreign key to it names another one.
// Chains of foreign keys through tables that are not listed are not seen.
func (b *binding) unlistedPersons() {
	persons := map[sqltype.QualifiedName]bool{}
	each := func(do func(bt *boundTable, fk sqltype.RelationForeignKey, leads bool)) {
		for _, t := range b.p.tables {
			bt := b.bound[t]
			if bt == nil || t.public {
				continue
			}
			own := slices.Clone(t.fallbackColumns)
			for _, as := range bt.ways() {
				if u := as.UnitCol; u >= 0 {
					own = append(own, as.Columns[u].Name)
				}
			}
			for _, way := range bt.path {
				if way != nil {
					own = append(own, way.columns...)
				}
			}
			for _, fk := range b.allForeignKeys(bt) {
				if !fk.Partial && len(b.targets(fk)) == 0 { // of a partition, the one to the whole is looked at
					do(bt, fk, slices.ContainsFunc(fk.Columns, func(c string) bool {
						return slices.ContainsFunc(own, func(o string) bool { return b.sameName(o, c) })
					}))
				}
			}
		}
	}
	each(func(_ *boundTable, fk sqltype.RelationForeignKey, leads bool) {
		if leads {
			persons[sqltype.QualifiedName{Schema: fk.RefSchema, Name: fk.RefTable}] = true
		}
	})
	each(func(bt *boundTable, fk sqltype.RelationForeignKey, leads bool) {
		d := bt.decl
		if leads || !persons[sqltype.QualifiedName{Schema: fk.RefSchema, Name: fk.RefTable}] || b.isWaived(d, fk) {
			return
		}
		bt.second = append(bt.second, fk.Columns...)
		b.add(d.at, "table %s: the foreign key %v to %s is a second way to a person: the unit's column leads to that table too", d, fk.Columns, qualified(fk.RefSchema, fk.RefTable)).
			hint("list %s and say also_unit, or say unprotected: true on the column if that person needs no protection here", qualified(fk.RefSchema, fk.RefTable))
	})
}
