package owner

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/policy"
)

// mayLack are a private table's columns by which its rows may lead to no person. Of files nothing is known.
func (s *schema) mayLack(t *table) []string {
	var names []string
	switch {
	case s.backend == backendFiles:
	case t.unitColumn != "":
		names = []string{t.unitColumn}
	case t.path != nil:
		names = t.path.columns
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		c, ok := t.rel.Column(name)
		return !ok || c.NotNull
	})
}

// withoutUnit says what becomes of rows without a person, where there may be some: each is a unit of its own, if the policy can say so.
func (s *schema) withoutUnit(t *table) string {
	lacks := s.mayLack(t)
	if len(lacks) == 0 {
		return ""
	}
	for i, name := range lacks {
		lacks[i] = inComment(name)
	}
	names := strings.Join(lacks, " or ")
	unit, _ := s.root.rel.Column(s.unit)
	switch {
	case !policy.CanOwnRows(t.rel) || !policy.IsUnitText(unit.Type):
		return "rows_without_unit: drop  # " + proseDropped + names + " are in no answer; own would count them, but needs a table with a primary key"
	case s.blocksOwn(t):
		return "rows_without_unit: drop  # " + proseDropped + names + " are in no answer; own would count them, but rows that lead here have a person's column of their own that can be NULL"
	}
	return "rows_without_unit: own  # " + proseOwn + names + " is protected as a person of its own, with all rows that hang on it: the person behind several such rows is not; drop leaves them out"
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
