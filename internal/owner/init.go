package owner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// Init writes a first policy from the schema alone: keys, foreign keys, types and comments, never values. What only the owner can
// say is left as FILL_IN, which policy.Parse refuses on its line, or as a comment. With Merge it gives that text with every byte
// kept, new tables and columns added and vanished ones marked; see merge. The same input gives the same bytes, and Init of its
// own output changes nothing.
func Init(rels []sqltype.Relation, opt InitOptions) ([]byte, error) {
	s, err := newSchema(rels, opt.Backend)
	if err != nil {
		return nil, err
	}
	if opt.Merge != nil {
		return s.merge(opt)
	}
	if !policy.ValidDataset(opt.Dataset) {
		return nil, fmt.Errorf("a data set's name is at most 63 letters, digits, _ and -, not %q", opt.Dataset)
	}
	if opt.URL == "" {
		return nil, errors.New("init needs the backend's URL, file or folder")
	}
	candidates := s.candidates()
	switch {
	case opt.Unit != "":
		if err := s.setUnit(opt.Unit); err != nil {
			return nil, err
		}
	case len(candidates) > 0:
		s.root, s.unit = s.find(candidates[0].Schema, candidates[0].Table), candidates[0].Column
	}
	warnings := s.candidateWarnings(candidates, opt)
	s.findPaths()
	s.sort()
	w := &writer{s: s}
	w.head(opt, candidates, warnings)
	w.tables()
	w.foot()
	return []byte(strings.Join(w.lines, "\n") + "\n"), nil
}

// setUnit takes the owner's word for the unit.
func (s *schema) setUnit(unit string) error {
	parts, err := policy.SplitName(unit, 3)
	switch plain := strings.Split(unit, "."); {
	case err != nil && !strings.Contains(unit, `"`) && (len(plain) == 2 || len(plain) == 3) && !slices.Contains(plain, ""):
		return fmt.Errorf("the unit: write double quotes around names that have spaces or signs: --unit %s", shellQuoted(policy.Qualified(plain...)))
	case err == nil && s.named(parts) != nil:
		t := s.named(parts)
		return fmt.Errorf("the unit: %s is a table. Add its column that stands for one person, as in --unit %s", s.spell(t), shellQuoted(policy.Qualified(s.policySchema(t), t.rel.Name, t.likelyUnit())))
	case err != nil || len(parts) < 2:
		return fmt.Errorf("the unit must be table.column, not %q", unit)
	}
	name, column := parts[:len(parts)-1], parts[len(parts)-1]
	t := s.named(name)
	if t == nil || t.rel.Kind != sqltype.KindTable && !t.standsIn {
		return fmt.Errorf("the unit: the database has no table %s%s", policy.Qualified(name...), s.meantTable(name))
	}
	c, ok := t.rel.Column(column)
	switch {
	case !ok:
		var known []string
		for _, c := range t.rel.Columns {
			known = append(known, c.Name)
		}
		return fmt.Errorf("the unit: table %s has no column %s%s", s.spell(t), policy.Qualified(column), meant(column, known))
	case !policy.CanBeUnit(c.Type):
		return fmt.Errorf("the unit: %s is of %s; the unit is a column that dpsql can group by, such as a number, text, uuid, date or time", unit, typeText(c.Type))
	}
	s.root, s.unit = t, column
	return nil
}

// likelyUnit is a column to name as an example: the table's key, or its first column.
func (t *table) likelyUnit() string {
	for _, k := range t.rel.Keys {
		if len(k) == 1 {
			return k[0]
		}
	}
	for _, c := range t.rel.Columns {
		return c.Name
	}
	return "id"
}

// meantTable asks whether a table was meant that could have the unit: of that name in another schema, or of a similar one.
func (s *schema) meantTable(name []string) string {
	var known, elsewhere []string
	for _, t := range s.tables {
		if t.rel.Kind != sqltype.KindTable && !t.standsIn {
			continue
		}
		known = append(known, s.spell(t))
		if strings.EqualFold(t.rel.Name, name[len(name)-1]) {
			elsewhere = append(elsewhere, s.spell(t))
		}
	}
	if len(elsewhere) > 0 {
		return ": did you mean " + strings.Join(elsewhere, " or ") + "?"
	}
	return meant(policy.Qualified(name...), known)
}

// meant asks whether a misspelt name meant one of those that there are.
func meant(name string, known []string) string {
	if near := policy.Nearest(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

func (w *writer) head(opt InitOptions, candidates []Candidate, warnings []string) {
	w.add("# yaml-language-server: $schema=policy.schema.json", "# Editors complete and check keys by that line, once dpsql schema > policy.schema.json has run beside this file.")
	w.add("# A first policy, written by dpsql init from the schema alone: keys, foreign keys, types, constraints and comments. No value was read.")
	w.add("# To finish it: read every comment, replace FILL_IN where it stands, then run dpsql check. A table or column that is not listed")
	w.add("# does not exist for analysts. Ranges and lists of values are public: take them from what a value means, never from the data.")
	if opt.Backend == backendFiles {
		w.add(typesOfFile)
	}
	other := ""
	if opt.Source != "" {
		other = ", in place of " + inComment(opt.Source)
	}
	w.add("dataset: " + scalar(opt.Dataset) + "  # also the database name that clients connect to" + other)
	place, note := opt.URL, ""
	if opt.Backend == backendPostgres && hasPassword(opt.URL) {
		place = "env:" + urlVariable
		note = "  # the URL has a password, so it stays out of this file: export " + urlVariable + "=postgres://..."
	}
	if opt.Backend != backendPostgres && !filepath.IsAbs(place) {
		note = "  # a path without / in front begins at this file's folder"
	}
	w.add("backend: {" + opt.Backend + ": " + scalar(place) + "}" + note)
	w.unit(opt, candidates, warnings)
	w.add("# population: 100000  # about how many people the data is of. It is public, and check compares budget.delta with it")
	w.units(candidates)
	w.add("")
}

// units says when the policy wants kinds of people in place of one. The choice is never made here: with units what is told of rows of two people is less.
func (w *writer) units(candidates []Candidate) {
	s := w.s
	if s.root == nil {
		return
	}
	others, rows := s.beside(candidates)
	if len(others) == 0 {
		return
	}
	var names []string
	for _, t := range rows[0][:min(len(rows[0]), 3)] {
		names = append(names, inComment(s.spell(t)))
	}
	if more := len(rows[0]) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	c := others[0]
	root, other := inComment(s.spell(s.root)), inComment(s.spell(s.find(c.Schema, c.Table)))
	w.add(fmt.Sprintf("# Rows of %s lead to %s and to %s. If both are people to hide, write in place of unit, with the numbers of each:", strings.Join(names, ", "), root, other),
		fmt.Sprintf("#   units: [%s, %s]", inComment(s.unitName()), inComment(c.Name)),
		fmt.Sprintf("#   population: {%s: 100000, %s: 1000}", root, other),
		fmt.Sprintf("# list %s below with its columns, and give those tables the way to it as also_unit: column -> %s", other, inComment(c.Name)))
}

func (w *writer) unit(opt InitOptions, candidates []Candidate, warnings []string) {
	s := w.s
	if s.root == nil {
		w.add("unit: "+fillIn+"  # the column that stands for one person, table.column: no table has a key of one column that could.",
			"# "+opt.command(anyUnit)+" writes the ways to it, too.")
		return
	}
	w.add("unit: " + scalar(s.unitName()) + "  # the column that stands for one person: what one person adds or removes is hidden")
	if opt.Unit != "" {
		return
	}
	for _, l := range warnings {
		w.add("# WARNING: " + l)
	}
	var others []string
	for _, c := range candidates[1:] {
		if c.People && len(others) < 5 {
			others = append(others, fmt.Sprintf("%s (tables that lead to it: %d)", inComment(c.Name), c.Reach))
		}
	}
	if len(others) > 0 {
		w.add("# Others that look like people: " + strings.Join(others, ", ") + "; " + opt.command(anyUnit) + " takes one of them.")
	}
}

func (w *writer) foot() {
	w.add("",
		"budget:",
		"  epsilon: 10    # what all analysts together may learn about any one person in one window; 1 is strict, 10 is common",
		"  delta: 1e-6    # keep it well below 1 / (number of people)",
		"  per: month     # the window after which epsilon is there again",
		"  lifetime: 60   # epsilon of all windows together, for ever: here six of them",
		"# query: {price: 0.1}  # price of a statement where the session says nothing",
		"# console: {listen: 127.0.0.1:8543}  # a page for browsers: dpsql console link --user NAME logs an analyst in",
		"",
		"# This adds an analyst, and reads the password from standard input. --may lists the tables and columns that the analyst sees.")
	seen := "TABLE"
	if w.s.root != nil && inComment(w.s.spell(w.s.root)) == w.s.spell(w.s.root) {
		seen = shellQuoted(w.s.spell(w.s.root))
	}
	w.add("#   dpsql user add NAME --may "+seen+" --config policy.yaml", "analysts: {}")
}
