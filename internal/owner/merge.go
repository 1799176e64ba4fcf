package owner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/dpsql/dpsql/internal/policy"
)

// unknownHops is the distance of a private table whose way cannot be followed.
const unknownHops = 1 << 20

// merge brings an older policy up to the schema, as text: what the owner wrote stays byte for byte. Columns that neither a key nor a
// comment of their table names are added as comments: whoever may read the table would otherwise see them without the owner's
// word. New tables are added live, since nobody may read them yet. What vanished gets one comment above it.
func (s *schema) merge(opt InitOptions) ([]byte, error) {
	old, err := readText(opt.Merge)
	if err != nil {
		return nil, fmt.Errorf("the older policy: %w", err)
	}
	if err := s.oldUnit(old, opt.Unit); err != nil {
		return nil, err
	}
	m := &merging{s: s, old: old, listed: map[*table]*oldTable{}}
	m.match()
	s.findPaths()
	for _, o := range old.tables {
		m.table(o)
	}
	m.newTables()
	text := old.text()
	again, err := readText(text)
	if err != nil {
		return nil, fmt.Errorf("the older policy cannot be merged as text: %w", err)
	}
	if !slices.Equal(again.names(), append(old.names(), m.added...)) {
		return nil, errors.New("the older policy cannot be merged as text: write its tables in block style, one key a line")
	}
	return text, nil
}

// oldUnit takes the unit from the older policy. One that does not exist any more leaves new tables without a way.
func (s *schema) oldUnit(old *text, given string) error {
	if old.units && given != "" {
		return errors.New("the older policy has units of several kinds: they are changed in the file")
	}
	if given != "" && given != old.unit {
		return fmt.Errorf("the older policy has the unit %s, not %s: the unit is changed in the file", old.unit, given)
	}
	parts, err := policy.SplitName(old.unit, 3)
	if err != nil || len(parts) < 2 {
		return nil //nolint:nilerr // check says what is wrong with the file
	}
	t := s.named(parts[:len(parts)-1])
	if t == nil {
		return nil
	}
	if _, ok := t.rel.Column(parts[len(parts)-1]); ok {
		s.root, s.unit = t, parts[len(parts)-1]
	}
	return nil
}

// merging is one merge.
type merging struct {
	s      *schema
	old    *text
	listed map[*table]*oldTable
	added  []string
}

// match finds the listed tables and takes over their ways.
func (m *merging) match() {
	for _, o := range m.old.tables {
		if t := m.s.named(o.parts); t != nil {
			m.listed[t] = o
		}
	}
	for _, t := range m.s.tables {
		o := m.listed[t]
		if o == nil {
			t.closed = m.old.mentionsTable(m.s.spell(t))
			continue
		}
		t.closed = true
		if o.public || t == m.s.root {
			continue
		}
		t.hops = unknownHops
		columns, schemaName, name, parentColumns, err := policy.SplitArrow(o.way)
		if err != nil {
			continue
		}
		parts := []string{schemaName, name}
		if schemaName == "" {
			parts = parts[1:]
		}
		if parent := m.s.named(parts); parent != nil {
			t.path = &edge{columns: columns, to: parent, toColumns: parentColumns}
		}
	}
	for t := range m.listed {
		m.distance(t)
	}
}

// distance follows a listed table's way to the unit.
func (m *merging) distance(t *table) {
	hops, at := 0, t
	for ; at != m.s.root; hops++ {
		if at.path == nil || hops > len(m.s.tables) || m.listed[at] == nil {
			return
		}
		at = at.path.to
	}
	t.hops = hops
}

// table adds to one listed table and marks in it.
func (m *merging) table(o *oldTable) {
	t := m.s.named(o.parts)
	m.old.mark(o.anchor, policy.Qualified(o.parts...), t == nil)
	if t == nil {
		return
	}
	for _, c := range o.columns {
		_, ok := t.rel.Column(c.name)
		m.old.mark(c.anchor, policy.Qualified(append(slices.Clone(o.parts), c.name)...), !ok)
	}
	if !o.hasColumns {
		return
	}
	var fresh []line
	for i, l := range m.s.columnLines(t) {
		name := t.rel.Columns[i].Name
		if !writableName(name) || m.old.knowsColumn(o, name) {
			continue
		}
		if o.inTablesFlow {
			l.entry = scalar(policy.Qualified(append(slices.Clone(o.parts), name)...)) + l.entry[len(scalar(name)):]
		}
		l.live, l.note = false, proseNew+": remove the # to list it; "+l.note
		fresh = append(fresh, l)
	}
	m.old.insert(o.end, columnText(fresh, o.indent)...)
}

// newTables adds the tables that the file does not know.
func (m *merging) newTables() {
	m.s.sort()
	for _, t := range m.s.tables {
		if m.listed[t] != nil || t.closed || !writable(t) {
			continue
		}
		lines := m.s.tableLines(t, m.old.tableIndent, proseNew+"; ")
		switch {
		case t.hops < 0:
		case m.old.tablesFlow:
			for i, l := range lines {
				lines[i] = m.old.tableIndent + "# " + strings.TrimPrefix(l, m.old.tableIndent)
			}
		default:
			m.added = append(m.added, m.s.spell(t))
			for i, l := range m.s.columnLines(t) {
				if l.live {
					m.added = append(m.added, m.s.spell(t)+" "+t.rel.Columns[i].Name)
				}
			}
		}
		m.old.insert(m.old.tablesEnd, lines...)
	}
}

// text is an older policy: its lines and where its tables stand in them. Lines count from 0.
type text struct {
	lines       []string
	eol         string // "\r" where the file's lines end so
	unit        string
	units       bool // of several kinds
	tables      []*oldTable
	tablesFrom  int // the line of the key tables
	tablesTo    int // the line after the section
	tablesEnd   int // where new tables are inserted
	tablesFlow  bool
	tableIndent string
	before      map[int][]string // inserted
	dropped     map[int]bool
}

// oldTable is a listed table. Anchors are lines above which a comment can stand.
type oldTable struct {
	parts        []string
	anchor, to   int
	public       bool
	way          string
	hasColumns   bool
	columns      []oldColumn
	columnsAt    int // the line of the key columns
	end          int // where new columns are inserted
	indent       string
	inTablesFlow bool
}

type oldColumn struct {
	name   string
	anchor int
}

// names lists tables and columns, to compare two readings.
func (x *text) names() (out []string) {
	for _, o := range x.tables {
		out = append(out, policy.Qualified(o.parts...))
		for _, c := range o.columns {
			out = append(out, policy.Qualified(o.parts...)+" "+c.name)
		}
	}
	return out
}

func (x *text) insert(at int, lines ...string) { x.before[at] = append(x.before[at], lines...) }

// text is the file with what was inserted.
func (x *text) text() []byte {
	var out []string
	for i := 0; i <= len(x.lines); i++ {
		for _, l := range x.before[i] {
			out = append(out, l+x.eol)
		}
		if i < len(x.lines) && !x.dropped[i] {
			out = append(out, x.lines[i])
		}
	}
	return []byte(strings.Join(out, "\n"))
}

// mark writes above an entry that it vanished, once, and takes a mark away that is not true any more.
func (x *text) mark(anchor int, name string, gone bool) {
	mark := "# " + proseGone + inComment(name)
	for i := anchor - 1; i >= 0 && isComment(x.lines[i]); i-- {
		if strings.TrimSpace(x.lines[i]) == mark {
			if !gone {
				x.dropped[i] = true
			}
			return
		}
	}
	if indent := indentOf(x.lines[anchor]); gone {
		x.insert(anchor, x.lines[anchor][:indent]+mark)
	}
}

// readText finds the tables of a policy's text.
func readText(b []byte) (*text, error) {
	pairs, err := parseMapping(b)
	if err != nil {
		return nil, err
	}
	x := &text{lines: strings.Split(string(b), "\n"), before: map[int][]string{}, dropped: map[int]bool{}}
	if strings.HasSuffix(x.lines[0], "\r") {
		x.eol = "\r"
	}
	end := len(x.lines)
	if x.lines[end-1] == "" {
		end--
	}
	for i, l := range x.lines {
		if strings.TrimRight(l, " \r") == "..." {
			end = i
			break
		}
	}
	var tables *ast.MappingValueNode
	for i, p := range pairs {
		switch keyText(p.Key) {
		case "unit":
			x.unit = nodeText(p.Value)
		case "units": // which of them a new table leads to, and whether to several, is the owner's to say
			x.units = true
		case "tables":
			tables = p
			x.tablesFrom, x.tablesTo = lineOf(p), end
			if i+1 < len(pairs) {
				x.tablesTo = lineOf(pairs[i+1])
			}
		}
	}
	if tables == nil {
		return nil, errors.New("it has no tables")
	}
	return x, x.readTables(tables)
}

func (x *text) readTables(p *ast.MappingValueNode) error {
	list, flowEnd, err := entries(p.Value)
	if err != nil {
		return fmt.Errorf("line %d: tables: %w", lineOf(p)+1, err)
	}
	x.tableIndent = "  "
	x.tablesFlow = flowEnd >= 0
	if len(list) > 0 && !x.tablesFlow {
		x.tableIndent = x.indentAt(lineOf(list[0]))
	}
	x.tablesEnd = flowEnd + 1
	if !x.tablesFlow {
		x.tablesEnd = x.sectionEnd(x.tablesFrom, x.tablesTo, len(x.tableIndent))
	}
	for i, e := range list {
		to := x.tablesTo
		if i+1 < len(list) && !x.tablesFlow {
			to = lineOf(list[i+1])
		}
		if err := x.readTable(e, to); err != nil {
			return err
		}
	}
	return nil
}

func (x *text) readTable(p *ast.MappingValueNode, to int) error {
	parts, err := policy.SplitName(keyText(p.Key), 2)
	if err != nil {
		return fmt.Errorf("line %d: %w", lineOf(p)+1, err)
	}
	list, flowEnd, err := entries(p.Value)
	if err != nil {
		return fmt.Errorf("line %d: %s: %w", lineOf(p)+1, policy.Qualified(parts...), err)
	}
	o := &oldTable{parts: parts, anchor: lineOf(p), to: to, inTablesFlow: x.tablesFlow}
	if x.tablesFlow {
		o.anchor = x.tablesFrom
	} else {
		o.to = x.regionEnd(o.anchor, to, indentOf(x.lines[o.anchor]))
	}
	x.tables = append(x.tables, o)
	for i, e := range list {
		switch keyText(e.Key) {
		case "public":
			o.public = nodeText(e.Value) == "true"
		case "unit":
			o.way = nodeText(e.Value)
		case "columns":
			end := o.to
			if i+1 < len(list) && flowEnd < 0 {
				end = lineOf(list[i+1])
			}
			if err := x.readColumns(o, e, end, flowEnd); err != nil {
				return err
			}
		}
	}
	return nil
}

// readColumns finds a table's columns and the place for more: after the last one, or after what is in { }.
func (x *text) readColumns(o *oldTable, p *ast.MappingValueNode, to, tableFlowEnd int) error {
	list, flowEnd, err := entries(p.Value)
	if err != nil {
		return fmt.Errorf("line %d: columns: %w", lineOf(p)+1, err)
	}
	o.hasColumns, o.columnsAt = true, lineOf(p)
	inFlow := o.anchor
	switch {
	case o.inTablesFlow:
		o.end, o.indent = x.tablesEnd, x.tableIndent
	case tableFlowEnd >= 0:
		o.end, o.indent = tableFlowEnd+1, x.indentAt(o.anchor)+"  "
	case flowEnd >= 0:
		o.end, o.indent = flowEnd+1, x.indentAt(o.columnsAt)
		inFlow = o.columnsAt
	default:
		o.indent = x.indentAt(o.columnsAt) + "  "
		if len(list) > 0 {
			o.indent = x.indentAt(lineOf(list[0]))
		}
		o.end = x.sectionEnd(o.columnsAt, to, len(o.indent))
		for _, e := range list {
			o.columns = append(o.columns, oldColumn{keyText(e.Key), lineOf(e)})
		}
		return nil
	}
	for _, e := range list {
		o.columns = append(o.columns, oldColumn{keyText(e.Key), inFlow})
	}
	return nil
}
