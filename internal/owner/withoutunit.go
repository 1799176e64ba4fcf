package owner

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// mayLack are a private table's columns by which its rows may lead to no person. A folder of files does not say which are never empty.
func (s *schema) mayLack(t *table) []string {
	switch {
	case t.unitColumn != "":
		return t.nullable([]string{t.unitColumn})
	case t.path != nil:
		return t.nullable(t.path.columns)
	}
	return nil
}

func (t *table) nullable(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool {
		c, ok := t.rel.Column(name)
		return !ok || c.NotNull
	})
}

// withoutUnit says what becomes of rows without a person, where some of these columns lead to none: each is a unit of its own, if the policy can say so.
func (s *schema) withoutUnit(t *table, lacks []string) (lines []string) {
	if len(lacks) == 0 {
		return nil
	}
	key := s.rowKey(t, lacks)
	lacks = slices.Clone(lacks)
	for i, name := range lacks {
		lacks[i] = inComment(name)
	}
	names := strings.Join(lacks, " or ")
	unit, _ := s.root.rel.Column(s.unit)
	switch {
	case (key == "" && !policy.CanOwnRows(t.rel)) || !policy.IsUnitText(unit.Type):
		needs := "a table with a primary key"
		if s.backend == backendFiles {
			needs = "key: and not_null: of a column that tells rows apart"
		}
		return []string{"rows_without_unit: drop  # " + proseDropped + names + " are in no answer. own would count them, but needs " + needs}
	case s.blocksOwn(t):
		return []string{"rows_without_unit: drop  # " + proseDropped + names + " are in no answer. own would count them, but rows that lead here have a person's column of their own that can be NULL"}
	}
	if t.rowKey = key; key != "" {
		lines = append(lines, "key: "+scalar(key)+"  # "+proseFilesKey)
	}
	return append(lines, "rows_without_unit: own  # "+proseOwn+names+" counts as one person, with all rows that belong to it. A person behind several such rows is not protected as one. drop leaves them out")
}

// rowKey is the column of a file that is named like its rows' key, beside those that lead to a person; "" for none, and in a database, which says what its keys are.
func (s *schema) rowKey(t *table, lacks []string) string {
	if s.backend != backendFiles || t == s.root && t.oneRow { // there the unit is the key
		return ""
	}
	i := slices.IndexFunc(t.rel.Columns, func(c sqltype.RelationColumn) bool {
		return t.looksLikeKey(c.Name) && !slices.Contains(lacks, c.Name) && policy.IsUnitText(c.Type) && writableName(c.Name)
	})
	if i < 0 {
		return ""
	}
	return t.rel.Columns[i].Name
}

// blocksOwn: a child, or a child's child, carries the unit's column itself, where it may be NULL, beside its parent's key (policy's carriesOn).
func (s *schema) blocksOwn(t *table) bool {
	return slices.ContainsFunc(s.tables, func(c *table) bool {
		if c.path == nil || c.hops < 1 || c.unitColumn == "" || len(c.path.columns) < 2 || len(s.mayLack(c)) == 0 {
			return false
		}
		if c == t {
			return true
		}
		for up := c.path; up != nil; up = up.to.path {
			if up.to == t {
				return true
			}
		}
		return false
	})
}
