package policy

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"
)

// maxDescription limits descriptions, which are published in the catalog.
const maxDescription = 1000

// maxDomain limits the values of one column.
const maxDomain = 1_000_000

func (f *file) tables(n ast.Node) {
	_, isEmpty := n.(*ast.NullNode)
	var entries []entry
	if !isEmpty {
		var ok bool
		if entries, ok = f.mapping(n, "tables"); !ok {
			return
		}
	}
	if len(entries) == 0 {
		f.add(at(n), "tables lists no table").hint("list one; in a draft of dpsql init, remove the # before each line of one")
	}
	for _, e := range entries {
		parts, err := parseDotted(e.key.text, 2)
		if err != nil {
			f.add(e.key.position, "tables: %v", err).hint("a table is name or schema.name; names with other signs go into double quotes")
			continue
		}
		t := &tableDecl{at: e.key.position, name: parts[len(parts)-1]}
		if len(parts) == 2 && parts[0] != f.p.defaultSchema() {
			t.schema = parts[0]
		}
		for _, other := range f.p.tables {
			if other.schema == t.schema && other.name == t.name {
				f.add(e.key.position, "table %s is given twice", t).hint("first on line %d", other.at.line)
			}
		}
		f.p.tables = append(f.p.tables, t)
		f.table(t, e.value)
	}
}

func (f *file) table(t *tableDecl, n ast.Node) {
	what := "table " + t.String()
	var columns, path, also, often ast.Node
	mistaken := false // whether it is public is not known
	f.fields(n, what, []field{
		{name: "public", read: func(n ast.Node) {
			yes, ok := f.flagIf(n, what+": public")
			t.public, mistaken = yes, !ok
		}},
		{name: "unit", read: func(n ast.Node) { path, t.pathGiven = n, true }},
		{name: "max_rows_per_unit", read: func(n ast.Node) {
			if x, where, ok := f.countOr(n, auto, what+": max_rows_per_unit", maxRowsLimit); ok {
				t.maxRows, t.maxRowsAt = uint64(x), where
			}
		}},
		{name: "rows_without_unit", read: func(n ast.Node) { f.withoutUnit(t, n, what+": rows_without_unit") }},
		{name: "max_frequency", read: func(n ast.Node) { often = n }},
		{name: "columns", read: func(n ast.Node) { columns = n }},
		{name: "also_unit", read: func(n ast.Node) { also = n }},
		{name: "unprotected", read: func(n ast.Node) { t.unprotected = f.flag(n, what+": unprotected") }},
		{name: "file", read: func(n ast.Node) {
			if w, ok := f.text(n, what+": file"); ok && f.filesOnly(w.position, what+": file") {
				t.file = w.text
			}
		}},
		{name: "key", read: func(n ast.Node) { f.key(t, n, what+": key") }},
	})
	if mistaken { // nothing more is said of it
		t.public, t.pathGiven = path == nil && columns == nil, true
	}
	if t.public && (also != nil || t.unprotected) {
		f.add(t.at, "%s is public: it has neither also_unit nor unprotected", what)
		also = nil
	}
	if also != nil {
		f.later = append(f.later, func() { f.alsoUnit(t, also, what) })
	}
	if t.public && t.withoutUnit.text != "" {
		f.add(t.withoutUnit.position, "%s is public: it has no rows_without_unit", what)
	}
	if t.public && (path != nil || t.maxRowsAt.line > 0) {
		f.add(t.at, "%s is public: it has neither unit nor max_rows_per_unit", what)
		path = nil
	}
	if often != nil {
		f.maxFrequency(t, often, what+": max_frequency")
	}
	if path != nil {
		f.later = append(f.later, func() { f.unitPath(t, path, what) })
	}
	switch {
	case columns != nil:
		f.columns(t, columns, what)
	case t.public:
		t.allColumns = true
	default:
		f.add(t.at, "%s: columns is missing", what).hint("a column that is not listed does not exist for analysts")
	}
}

func (f *file) columns(t *tableDecl, n ast.Node, what string) {
	entries, ok := f.mapping(n, what+": columns")
	if !ok {
		return
	}
	for _, e := range entries {
		c := &columnDecl{name: e.key}
		if len(e.key.text) > maxName {
			f.add(e.key.position, "%s: the column name %q is longer than %d bytes", what, clip(e.key.text), maxName)
		}
		t.columns = append(t.columns, c)
		f.column(t, c, e.value)
	}
}

func (f *file) column(t *tableDecl, c *columnDecl, n ast.Node) {
	what := "column " + t.String() + "." + clip(c.name.text)
	f.fields(n, what, []field{
		{name: "range", read: func(n ast.Node) { f.interval(c, n, what+": range") }},
		{name: "values", read: func(n ast.Node) { f.values(c, n, what+": values") }},
		{name: "shape", read: func(n ast.Node) { f.shape(c, n, what+": shape") }},
		{name: "step", read: func(n ast.Node) {
			d, where, ok := f.decimal(n, what+": step")
			switch {
			case !ok:
			case d.Sign() <= 0:
				f.add(where, "%s: step must be above 0", what)
			default:
				c.step, c.stepAt = &d, where
			}
		}},
		{name: "description", read: func(n ast.Node) {
			w, ok := f.text(n, what+": description")
			if ok && len(w.text) > maxDescription {
				f.add(w.position, "%s: the description is longer than %d bytes", what, maxDescription)
			}
			c.description = w.text
		}},
		{name: "other"},
		{name: "also_unit", instead: "say it of the table: also_unit: column -> table.column"},
		{name: "unprotected", read: func(n ast.Node) {
			c.unprotected = f.flag(n, what+": unprotected")
			if t.public && c.unprotected {
				f.add(c.name.position, "%s: a public table has no people to protect or not", what)
			}
		}},
		{name: "type", read: func(n ast.Node) {
			if w, ok := f.text(n, what+": type"); ok && f.filesOnly(w.position, what+": type") {
				c.typeName = w
			}
		}},
		{name: "not_null", read: func(n ast.Node) {
			if f.filesOnly(at(n), what+": not_null") {
				c.notNull = f.flag(n, what+": not_null")
			}
		}},
	})
	if t.public && (c.rangeAt.line > 0 || c.step != nil || c.shape != nil) {
		f.add(c.name.position, "%s: a public table's columns have neither range, step nor shape", what).hint("its values are answered exactly")
	}
	if c.step != nil && c.lo != nil && c.lo.LessThan(*c.hi) && c.step.GreaterThan(c.hi.Sub(*c.lo)) {
		f.add(c.stepAt, "%s: step is wider than the range", what)
	}
}

func (f *file) interval(c *columnDecl, n ast.Node, what string) {
	if _, ok := n.(*ast.StringNode); ok {
		switch w, ok := f.text(n, what); {
		case !ok:
		case w.text == auto:
			c.rangeAt = at(n)
		default:
			meant(f.add(at(n), "%s must be %s or [lowest, highest], not %q", what, auto, clip(w.text)), w.text, auto)
		}
		return
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) != 2 {
		f.add(at(n), "%s must be %s or [lowest, highest]", what, auto)
		return
	}
	first, last := f.day(list.Values[0]), f.day(list.Values[1])
	switch {
	case first != "" && last != "":
		c.first, c.last, c.rangeAt = first, last, at(n)
		return
	case first+last != "":
		other := list.Values[0]
		if first != "" {
			other = list.Values[1]
		}
		if s, ok := f.scalar(other, what); ok && !f.blank(s, what) {
			f.add(s.position, "%s: %q is no date", what, clip(s.text)).hint("%s", writeDays)
		}
		return
	}
	var d [2]decimal.Decimal
	for i, e := range list.Values {
		if s, isText := e.(*ast.StringNode); isText && s.Token.Value != Blank {
			if _, isNumber := parseDecimal(s.Token.Value); !isNumber {
				f.tell(e, sight{kind: sawNumber})
				f.add(at(e), "%s: %q is neither a date nor a number of at most %d digits", what, clip(s.Token.Value), maxDigits).hint("%s", writeDays)
				ok = false
				continue
			}
		}
		x, _, good := f.decimal(e, what)
		d[i], ok = x, ok && good
	}
	switch {
	case !ok:
	case d[0].GreaterThan(d[1]):
		f.add(at(n), "%s: %s is above %s", what, d[0], d[1])
	default:
		c.lo, c.hi, c.rangeAt = &d[0], &d[1], at(n)
	}
}

// writeDays says how the ends of a range of dates or timestamps are written.
const writeDays = `write dates as year-month-day, 2024-05-13; of timestamps with a time too, "2024-05-13 08:00"`

// day is an end of a range of dates or timestamps, as it was written; "" of anything else. bind knows the column's type.
func (f *file) day(n ast.Node) string {
	f.tell(n, sight{kind: sawDay})
	if s, isText := n.(*ast.StringNode); isText && dayLike.MatchString(s.Token.Value) {
		return s.Token.Value
	}
	return ""
}

func (f *file) values(c *columnDecl, n ast.Node, what string) {
	c.valuesAt, c.hasValues = at(n), true
	if isMapping(n) {
		f.valuesFrom(c, n, what)
		return
	}
	list, ok := f.items(n, what)
	switch {
	case !ok:
		return
	case len(list) == 0:
		f.add(at(n), "%s is empty", what)
	case len(list) > maxDomain:
		f.add(at(n), "%s has more than %d entries", what, maxDomain)
		return
	}
	if i := slices.IndexFunc(list, isMapping); i >= 0 {
		f.valuesFrom(c, list[i], what)
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, it := range rest {
			if s, ok := f.scalar(it, what); ok && s.null && len(rest) == 1 {
				c.nullAt = &s.position
			} else if ok || isMapping(it) {
				f.add(at(it), "%s: beside from only null can be listed, once", what).hint("[{from: table.column}, null]")
			}
		}
		return
	}
	for _, it := range list {
		if s, ok := f.scalar(it, what); ok {
			c.values = append(c.values, valueDecl{s.word, s.null})
		}
	}
}

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// valuesFrom reads a domain that a public table has.
func (f *file) valuesFrom(c *columnDecl, n ast.Node, what string) {
	f.fields(n, what, []field{
		{name: "from", required: true, read: func(n ast.Node) {
			if w, ok := f.text(n, what+".from"); ok {
				f.later = append(f.later, func() { c.from = f.domainFrom(w, what) })
			}
		}},
		{name: "other"},
	})
}

func (f *file) domainFrom(w word, what string) *fromDecl {
	parts, err := parseDotted(w.text, 3)
	if err != nil || len(parts) < 2 {
		f.add(w.position, "%s.from must be table.column, not %q", what, clip(w.text))
		return nil
	}
	table, column := parts[:len(parts)-1], parts[len(parts)-1]
	t := f.find(table)
	if t == nil {
		f.unknownTable(w.position, what+".from", table)
		return nil
	}
	if !t.public {
		f.add(w.position, "%s.from: %s is not public", what, t).hint("what is in a private table is private, its list of values too")
		return nil
	}
	return &fromDecl{w.position, t, column}
}

// find resolves [schema,] table among the listed ones.
func (f *file) find(name []string) *tableDecl {
	schema := ""
	if len(name) == 2 && name[0] != f.p.defaultSchema() {
		schema = name[0]
	}
	for _, t := range f.p.tables {
		if t.schema == schema && t.name == name[len(name)-1] {
			return t
		}
	}
	return nil
}

func (f *file) unknownTable(where position, what string, name []string) {
	var known, alike []string // alike: of another schema, or written otherwise
	for _, t := range f.p.tables {
		known = append(known, t.String())
		if len(name) > 0 && strings.EqualFold(t.name, name[len(name)-1]) {
			alike = append(alike, t.String())
		}
	}
	p := f.add(where, "%s: no table %s is listed", what, qualified(name...))
	near := Nearest(qualified(name...), known)
	if len(alike) == 1 {
		near = alike[0]
	}
	if near != "" {
		p.hint("did you mean %s?", near)
	}
}

// filesOnly refuses what a database says itself.
func (f *file) filesOnly(where position, what string) bool {
	if f.p.Backend.Files != "" {
		return true
	}
	f.add(where, "%s is for backend: {files: ...} alone; a database says it itself", what)
	return false
}

// key reads a column or a list of them.
func (f *file) key(t *tableDecl, n ast.Node, what string) {
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	for _, x := range nodes {
		w, ok := f.text(x, what)
		if !ok {
			return
		}
		t.keyColumns = append(t.keyColumns, w.text)
	}
	t.key = word{position: at(n)}
	f.filesOnly(t.key.position, what)
}

// unitPath reads the way by which a table's rows belong to a unit, and the columns that name one where that leads to no person.
func (f *file) unitPath(t *tableDecl, n ast.Node, what string) {
	w, ok := f.text(n, what+": unit")
	if !ok {
		t.isAstray = true
		return
	}
	ref, err := parsePath(w.text)
	root := f.p.rootOf(t)
	if t.fallbackAt = w.position; err != nil || ref.fallbackColumns == nil || root == nil && ref.table != "" {
		if t.path = f.pathTo(n, what+": unit"); t.path == nil {
			t.isAstray = true
		}
		if err == nil {
			t.fallbackColumns = ref.fallbackColumns
		}
		return
	}
	t.isAstray = root == nil
	switch {
	case root == nil && f.p.unitTable != nil: // without an arrow
		f.add(w.position, "%s: unit: it does not say where %s leads", what, quoteName(ref.columns[0])).
			hint("say it behind the columns, as in unit: coalesce(customer_id, email) -> customers.customer_id")
	case root == nil: // reported
	case ref.table != "" || !slices.Equal(ref.columns, []string{root.column.text}):
		f.add(w.position, "%s holds the unit itself: its unit begins with %s and leads nowhere", what, quoteName(root.column.text)).
			hint("unit: %s", coalesced(quoteName(root.column.text), slices.DeleteFunc(slices.Clone(ref.fallbackColumns), func(c string) bool { return c == root.column.text })))
	default:
		t.fallbackColumns = ref.fallbackColumns
	}
}

// alsoUnit reads further ways: a path, or a list of them.
func (f *file) alsoUnit(t *tableDecl, n ast.Node, what string) {
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	for _, x := range nodes {
		if p := f.pathTo(x, what+": also_unit"); p != nil {
			t.also = append(t.also, p)
		} else {
			t.isAstray = true
		}
	}
}

func (f *file) pathTo(n ast.Node, what string) *pathDecl {
	w, ok := f.text(n, what)
	if !ok {
		return nil
	}
	ref, err := parsePath(w.text)
	if err != nil {
		says := f.add(w.position, "%s: %v", what, err)
		if strings.HasPrefix(strings.ToLower(w.text), "coalesce") {
			says.hint("write coalesce(column, other) -> table.column in quotes, or column -> table.column")
		} else {
			says.hint("write column -> table.column or (a, b) -> table.(a, b), the latter in quotes inside { }")
		}
		return nil
	}
	if ref.fallbackColumns != nil && !strings.HasSuffix(what, ": unit") {
		f.add(w.position, "%s: coalesce is for unit alone", what).hint("leave out %s", strings.Join(ref.fallbackColumns, ", "))
		return nil
	}
	name := []string{ref.schema, ref.table}
	if ref.schema == "" {
		name = name[1:]
	}
	parent := f.find(name)
	switch {
	case parent == nil:
		f.unknownTable(w.position, what, name)
		return nil
	case parent.public:
		f.add(w.position, "%s leads to %s, which is public", what, parent)
		return nil
	}
	return &pathDecl{w.position, ref.columns, parent, ref.parentColumns}
}

// unitPaths checks that every private table reaches a unit's table, and that those need no path.
func (f *file) unitPaths() {
	root := f.p.unitTable
	for _, t := range f.p.tables {
		own := f.p.rootOf(t) != nil
		switch {
		case root == nil || t.public:
		case own && t.path != nil:
			f.add(t.path.at, "table %s holds the unit itself: it needs no unit", t)
		case own:
		case t.path == nil && !t.pathGiven:
			t.isAstray = true
			f.add(t.at, "table %s has neither unit nor public: true", t).
				hint("say by which column its rows belong to somebody: unit: column -> %s", qualified(root.schema, root.name, f.p.unitColumn.text))
		case f.cyclic(t):
			t.isAstray = true
			f.add(t.path.at, "table %s: its unit leads in a circle", t)
		}
	}
}

func (f *file) cyclic(t *tableDecl) bool {
	for i := 0; i <= len(f.p.tables); i++ {
		if t.path == nil {
			return false
		}
		t = t.path.parent
	}
	return true
}
