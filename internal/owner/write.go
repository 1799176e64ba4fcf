package owner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// Beginnings of the sentences that init writes into the tables section. A merge knows by them that a comment is not the owner's.
const (
	proseNew      = "new in the database"
	proseGone     = "gone from the database: "
	proseUnit     = "one row stands for one person"
	proseSecond   = "dpsql check refuses this table until you decide: "
	proseSame     = "if it is always the same person as along unit: "
	proseBoth     = "if both are to be hidden: "
	proseBefore   = "if the rows belong to both: " // of older versions
	proseNeither  = "if that person needs no protection here: "
	proseSays     = "the database says: "
	proseLookup   = "a look-up table?"
	proseNobody   = "if its rows belong to nobody: "
	proseNoWay    = "not listed: "
	proseRows     = "found with a part of each statement's price"
	proseRowsOld  = "found with a part of each statement's epsilon" // of older versions
	proseOneRow   = "one row a person"
	proseFilesKey = "checked when the files are opened"
	proseView     = "a view of one table, "
	proseList     = "columns that are not listed"
	proseOwn      = "a row without "
	proseDropped  = "rows without "
)

var prose = []string{proseNew, proseGone, proseUnit, proseSecond, proseSame, proseBoth, proseBefore, proseNeither, proseSays, proseLookup, proseNobody, proseNoWay, proseRows, proseRowsOld, proseOneRow,
	proseFilesKey, proseView, proseList, proseOwn, proseDropped}

// writer gathers a policy's lines.
type writer struct {
	s     *schema
	lines []string
}

func (w *writer) add(lines ...string) { w.lines = append(w.lines, lines...) }

func (w *writer) tables() {
	w.add("tables:")
	for _, t := range w.s.tables {
		if t.hops >= 0 {
			w.add(w.s.tableLines(t, "  ", "")...)
		}
	}
	for _, t := range w.s.tables {
		if t.hops < 0 {
			w.add(w.s.tableLines(t, "  ", "")...)
		}
	}
}

// tableLines is a table's entry: live if it has a way to the unit, else commented out with the reason. mark is empty or says that
// the table is new.
func (s *schema) tableLines(t *table, indent, mark string) []string {
	name := s.spell(t)
	key := indent + scalar(name) + ":"
	switch {
	case !writable(t):
		return []string{indent + "# " + inComment(name) + ": " + proseNoWay + mark + "its name is longer than the 63 bytes that a policy's names have"}
	case t.hops >= 0:
		return s.privateLines(t, indent, mark)
	case t.base != nil:
		return s.viewLines(t, indent, mark)
	case !t.proposable():
		return []string{indent + "# " + scalar(name) + ":  # " + mark + proseNoWay + s.notPlain(t)}
	case s.lookups[t]:
		return []string{indent + "# " + strings.TrimSpace(key) + " {public: true}  # " + mark + proseLookup +
			" Remove the # if its rows belong to nobody: they are then answered exactly and for free" + says(t)}
	}
	why := "nothing in the database says whose rows these are"
	if t.looksLikePeople() {
		why += ", and they look like people"
	}
	for _, e := range t.edges {
		if e.to.hops >= 0 && e.to != t && !e.weak && !t.usable(e) {
			why = "its foreign key " + inComment(s.arrow(e)) + " leads to a person by columns of types that check does not take"
		}
	}
	out := []string{indent + "# " + strings.TrimSpace(key) + "  # " + mark + proseNoWay + why + says(t)}
	way := fillIn + "  # by which column its rows belong to a person: column -> table.column"
	e, why, ok := s.guess(t)
	if ok {
		way = arrowScalar(s.arrow(e)) + "  # " + why
	}
	var body []string
	if !ok && s.root != nil && t.mayBeNobodys() {
		body = append(body, "  public: true  # "+proseNobody+"this line alone. They are then answered exactly and for free")
		way = fillIn + "  # if they belong to people: the lines from here on, and by which column: column -> table.column"
	}
	body = append(body, "  unit: "+way, "  max_rows_per_unit: auto  # "+proseRows)
	for _, l := range s.withoutUnit(t, t.nullable(e.columns)) {
		body = append(body, "  "+l)
	}
	body = append(body, "  columns:")
	body = append(body, columnText(s.columnLines(t), "    ")...)
	for _, l := range body {
		out = append(out, indent+"# "+l)
	}
	return out
}

// viewLines offers a view of one table as a comment: its rows are that table's, and reach a person by the same way.
func (s *schema) viewLines(t *table, indent, mark string) []string {
	base := inComment(s.spell(t.base))
	head := func(why string) []string {
		return []string{indent + "# " + scalar(s.spell(t)) + ":  # " + mark + proseView + base + why + says(t)}
	}
	switch {
	case t.base == s.root:
		return head(", which is the unit's: list one of the two")
	case t.base.hops < 0 || t.base.path == nil:
		return head(": list that one")
	case len(t.base.seconds()) > 0:
		return head(": decide for that one first")
	}
	way := *t.base.path
	way.columns = nil
	for _, c := range t.base.path.columns {
		name := t.shown(c)
		if !writableName(name) {
			return head(", that does not show " + inComment(c) + ", by which its rows belong to a person")
		}
		way.columns = append(way.columns, name)
	}
	out := head(": remove the # of these lines to list it, too")
	body := []string{"  unit: " + arrowScalar(s.arrow(way)), "  max_rows_per_unit: auto  # " + proseRows, "  columns:"}
	if t.base.oneRow {
		body[1] = "  max_rows_per_unit: 1  # " + proseOneRow
	}
	own := *t
	own.path, own.unitColumn = &way, t.shown(t.base.unitColumn)
	for _, l := range append(body, columnText(s.columnLines(&own), "    ")...) {
		out = append(out, indent+"# "+l)
	}
	return out
}

// notPlain says what a relation is that is never proposed.
func (s *schema) notPlain(t *table) string {
	switch {
	case t.rel.Kind == sqltype.KindForeign:
		return "a foreign table: its own database enforces its keys, not this one"
	case t.rel.Kind == sqltype.KindOther:
		return "other tables inherit from it"
	case t.rel.Kind == sqltype.KindTable && len(t.rel.PartOf) > 0:
		return "its rows are also those of " + inComment(policy.Qualified(t.rel.PartOf[0].Schema, t.rel.PartOf[0].Name)) + "; list that one"
	}
	return "a " + string(t.rel.Kind) + "; list the tables below it"
}

var plainArrow = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]* -> [A-Za-z0-9_.]+$`)

// arrowScalar leaves a way without quotes where block style does not need them.
func arrowScalar(path string) string {
	if plainArrow.MatchString(path) {
		return path
	}
	return scalar(path)
}

func (s *schema) privateLines(t *table, indent, mark string) []string {
	inner := indent + "  "
	head := indent + scalar(s.spell(t)) + ":"
	var notes []string
	if t == s.root && t.oneRow {
		notes = append(notes, proseUnit)
	}
	if t.rel.Comment != "" {
		notes = append(notes, proseSays+inComment(t.rel.Comment))
	}
	if mark != "" {
		notes = append([]string{strings.TrimSuffix(mark, "; ")}, notes...)
	}
	if len(notes) > 0 {
		head += "  # " + strings.Join(notes, "; ")
	}
	out := []string{head}
	if t != s.root {
		out = append(out, inner+"unit: "+arrowScalar(s.arrow(*t.path)))
	}
	if s.backend == backendFiles && t == s.root && t.oneRow {
		out = append(out, inner+"key: "+scalar(s.unit)+"  # "+proseFilesKey)
	}
	for _, e := range t.seconds() {
		out = append(out, s.secondLines(t, e, inner)...)
	}
	switch {
	case t == s.root && t.oneRow:
	case t.oneRow:
		out = append(out, inner+"max_rows_per_unit: 1  # "+proseOneRow+", by the database's keys")
	default:
		out = append(out, inner+"max_rows_per_unit: auto  # "+proseRows+"; a number you know (a term has 2 semesters ...) is cheaper")
	}
	for _, l := range s.withoutUnit(t, s.mayLack(t)) {
		out = append(out, inner+l)
	}
	columns := s.columnLines(t)
	lines := columnText(columns, inner+"  ")
	if !slices.ContainsFunc(columns, func(l line) bool { return l.live }) {
		return append(append(out, inner+"columns: {}  # "+proseList+" do not exist for analysts"), lines...)
	}
	return append(append(out, inner+"columns:"), lines...)
}

// secondLines say what the owner can mean by a second way to a person; the choice is never made here.
func (s *schema) secondLines(t *table, e edge, indent string) []string {
	arrow := inComment(s.arrow(e))
	out := []string{indent + "# " + proseSecond + arrow + " is a second way to a person"}
	if same, ok := s.sameOne(t, e); ok {
		out = append(out, indent+"# "+proseSame+"unit: "+inComment(same))
	}
	if e.to != t || t != s.root { // the unit's own table cannot be left out
		out = append(out, indent+"# "+proseBoth+"leave the table out, because no statement reads rows of two people")
	}
	return append(out, indent+"# "+proseNeither+"unprotected: true, at the column "+inComment(policy.Qualified(e.columns[0])))
}

// sameOne is the way that says that two foreign keys lead to one person: the child has the unit's column and so has its parent.
func (s *schema) sameOne(t *table, e edge) (string, bool) {
	if t.unitColumn == "" || e.to.unitColumn == "" || e.to == t || t == s.root || slices.Contains(e.columns, t.unitColumn) {
		return "", false
	}
	both := edge{columns: append([]string{t.unitColumn}, e.columns...), to: e.to, toColumns: append([]string{e.to.unitColumn}, e.toColumns...)}
	if slices.Contains(e.toColumns, e.to.unitColumn) {
		return "", false
	}
	return scalar(s.arrow(both)), true
}

func says(t *table) string {
	if t.rel.Comment == "" {
		return ""
	}
	return "; " + proseSays + inComment(t.rel.Comment)
}

// columnText aligns a table's columns.
func columnText(list []line, indent string) []string {
	const widest = 40
	width := 0
	text := make([]string, len(list))
	for i, l := range list {
		text[i] = l.entry
		if !l.live {
			text[i] = "# " + l.entry
		}
		if n := utf8.RuneCountInString(text[i]); n <= widest {
			width = max(width, n)
		}
	}
	for i, l := range list {
		text[i] = fmt.Sprintf("%s%-*s  # %s", indent, width, text[i], l.note)
	}
	return text
}

// findLookups finds the tables that look like lists of codes: nothing private in them, and all that they refer to is of their kind.
func (s *schema) findLookups() {
	referred := map[*table]bool{}
	for _, t := range s.tables {
		for _, e := range t.edges {
			if e.to != t {
				referred[e.to] = true
			}
		}
	}
	out := map[*table]bool{}
	for _, t := range s.tables {
		_, _, guessed := s.guess(t)
		if t.proposable() && t.hops < 0 && !t.looksLikePeople() && !guessed && (referred[t] || len(t.edges) > 0 || t.namedLikeCodes()) {
			out[t] = true
		}
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for t := range out {
			if slices.ContainsFunc(t.edges, func(e edge) bool { return !out[e.to] }) {
				delete(out, t)
				shrunk = true
			}
		}
	}
	s.lookups = out
}

// mayBeNobodys: neither a foreign key nor a name says that a table's rows belong to people. Names such as person_id in a table of visits do.
func (t *table) mayBeNobodys() bool {
	of := words(t.rel.Name)
	for i := range of {
		of[i] = singular(of[i])
	}
	return len(t.edges) == 0 && !t.looksLikePeople() && !slices.ContainsFunc(t.rel.Columns, func(c sqltype.RelationColumn) bool {
		w := words(c.Name)
		n := len(w) - 1
		return n > 0 && w[n] == "id" && slices.ContainsFunc(w[:n], func(x string) bool { return !slices.Contains(of, singular(x)) })
	})
}

var codeWords = []string{"type", "status", "code", "category", "kind", "country", "region", "currency", "language", "state", "level", "source", "lookup", "class", "group"}

func (t *table) namedLikeCodes() bool {
	w := words(t.rel.Name)
	return len(w) > 0 && len(t.rel.Columns) <= 4 && slices.Contains(codeWords, singular(w[len(w)-1]))
}
