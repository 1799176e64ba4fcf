package policy

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// maxKinds limits the kinds of units of one policy.
const maxKinds = 8

// unitKinds reads unit, or units: kinds of units, of which a row may belong to one each.
func (f *file) unitKinds(body, unit, units ast.Node) {
	switch body.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default: // said already
		return
	}
	switch {
	case unit == nil && units == nil:
		f.add(at(body), "the policy: unit is missing").hint("unit: table.column stands for one person; units: [table.column, ...] for people of several kinds")
	case unit != nil && units != nil:
		f.add(at(units), "the policy has unit and units: one of them says whose rows they are")
	case unit != nil:
		f.unit(unit, "unit")
	default:
		f.units(units)
	}
}

func (f *file) units(n ast.Node) {
	list, ok := f.items(n, "units")
	switch {
	case !ok:
		return
	case len(list) == 0:
		f.add(at(n), "units is empty")
	case len(list) > maxKinds:
		f.add(at(n), "units: there are at most %d kinds of units", maxKinds)
		return
	}
	for _, x := range list {
		f.unit(x, "units")
	}
	var all []string
	for _, k := range f.p.kinds {
		all = append(all, string(k.unit))
	}
	f.p.Unit = dp.Unit(strings.Join(all, ", "))
}

// unit reads one kind's table.column.
func (f *file) unit(n ast.Node, what string) {
	w, ok := f.text(n, what)
	if !ok {
		return
	}
	if ref, err := parsePath(w.text); err == nil && ref.fallbackColumns != nil {
		f.add(w.position, "%s must be table.column, not %q", what, clip(w.text)).hint("coalesce stands with its table: %s: table.column, and tables: {table: {unit: %q}}", what, w.text)
		return
	}
	parts, err := parseDotted(w.text, 3)
	if err != nil || len(parts) < 2 {
		f.add(w.position, "%s must be table.column, not %q", what, clip(w.text))
		return
	}
	table, column := parts[:len(parts)-1], parts[len(parts)-1]
	t := f.find(table)
	if t == nil {
		f.unknownTable(w.position, what, table)
		return
	}
	if f.p.rootOf(t) != nil {
		f.add(w.position, "units: table %s is given twice", t).hint("a table holds the units of one kind")
		return
	}
	k := unitDecl{dp.Unit(w.text), t, word{w.position, column}}
	if f.p.kinds = append(f.p.kinds, k); len(f.p.kinds) == 1 {
		f.p.Unit, f.p.unitTable, f.p.unitColumn = k.unit, k.table, k.column
	}
	if t.public {
		f.add(w.position, "the unit's table %s is public", t)
	}
}
