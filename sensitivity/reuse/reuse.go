package reuse

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Shape says what a release is of, so that others can be computed from it: texts are of Candidate, of which all of one family number the columns alike.
type Shape struct {
	Keys     []ShapeKey     `json:"keys,omitempty"`
	Sources  []ShapeSource  `json:"sources,omitempty"`
	Public   bool           `json:"public"`          // all groups of the sources are there
	Cut      bool           `json:"cut,omitempty"`   // not all groups of a unit count
	Single   bool           `json:"single"`          // a unit has one row at most
	Limit    string         `json:"limit"`           // of groups, in full
	Cap      int            `json:"cap"`             // the choice that it is; -1: none
	Conds    []string       `json:"conds,omitempty"` // that rows fulfil
	Measures []ShapeMeasure `json:"measures"`
	Reads    []TableColumn  `json:"columns"` // that keys and measures are made of
}

// TableColumn names a column of a table.
type TableColumn struct {
	Schema string `json:"schema"`
	Table  string `json:"table"`
	Column string `json:"column"`
}

// ShapeKey is a key.
type ShapeKey struct {
	Text   string       `json:"text"`
	Type   sqltype.Type `json:"type"`
	OfUnit bool         `json:"of_unit"`
}

// ShapeSource are keys whose values come together; Complete: every row has some of them.
type ShapeSource struct {
	Keys     []int `json:"keys"`
	Complete bool  `json:"complete"`
}

// ShapeMeasure is a measure, and the choice of its bound, or -1.
type ShapeMeasure struct {
	Text   string `json:"text"`
	Choice int    `json:"choice"`
}

// Candidate is an analysis beside the releases that it may be computed from.
type Candidate struct {
	n         *normal
	a         *sensitivity.Analysis
	family    string // without the conditions
	conds     []string
	removable []int // conditions that may be on others' groups alone
}

// mostRemoved limits the conditions that are looked at: each doubles the families.
const mostRemoved = 4

// NewCandidate knows the family of an analysis with these parameters; false: it has none.
func NewCandidate(a *sensitivity.Analysis, args []sqltype.Value) (*Candidate, bool) {
	if a.Limit.Norm > 0 || a.IsSmoothed() || a.HasTrees() {
		return nil, false
	}
	n := normalOf(a, args)
	k := &Candidate{n: n, a: a}
	k.family = strings.Join([]string{n.rows.Tables, n.unit(), fmt.Sprintf("rows %d", a.MaxRows)}, "\n")
	for _, m := range a.Measures {
		n.measure(&m) // so that Long knows
		if m.Pair != nil {
			n.measure(&m.Pair.Count)
			n.measure(&m.Pair.Sum)
		}
	}
	for i, c := range n.rows.Conds {
		k.conds = append(k.conds, short(c.Text))
		if len(k.removable) < mostRemoved && !relation.HasSubquery(c.X) {
			k.removable = append(k.removable, i)
		}
	}
	plainKeys := true
	for _, key := range a.Keys {
		n.key(key)
		plainKeys = plainKeys && !key.Type.IsEnum()
	}
	return k, plainKeys && len(n.Long()) == 0
}

// short stands for a text.
func short(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:12])
}

func (k *Candidate) familyWithout(removed uint) string {
	lines := []string{k.family}
	for i, c := range k.conds {
		if at := slices.Index(k.removable, i); at < 0 || removed>>at&1 == 0 {
			lines = append(lines, c)
		}
	}
	return strings.Join(lines, "\n")
}

// Family is the text of what all releases have in common that may be computed from one another.
func (k *Candidate) Family() string { return k.familyWithout(0) }

// Families are its own and those of releases without some of its conditions.
func (k *Candidate) Families() []string {
	var out []string
	for removed := range uint(1) << len(k.removable) {
		out = append(out, k.familyWithout(removed))
	}
	return out
}

// Shape is the analysis' own.
func (k *Candidate) Shape() *Shape {
	a := k.a
	s := &Shape{Public: a.Groups.Public, Cut: a.Limit.Capped || a.Limit.Cap != nil, Limit: limitText(a), Cap: -1, Conds: k.conds}
	if a.Limit.Cap != nil {
		s.Cap = a.Limit.Cap.Index
	}
	reads := map[TableColumn]bool{}
	read := func(x plan.Scalar) {
		for _, id := range k.n.Columns(x) {
			if name := columnName(a.Body.Rel, id); name != (TableColumn{}) {
				reads[name] = true
			}
		}
	}
	for _, key := range a.Keys {
		s.Keys = append(s.Keys, ShapeKey{short(k.n.Col(key.Col)), key.Type, key.OfUnit})
		read(&plan.Col{ID: key.Col, T: key.Type})
	}
	for _, src := range a.Groups.Sources {
		s.Sources = append(s.Sources, ShapeSource{src.Keys, src.Fixed || src.Complete && !src.Unlisted})
	}
	for _, m := range a.Measures {
		one := ShapeMeasure{short(k.n.measure(&m)), -1}
		if m.Bound != nil {
			one.Choice = m.Bound.Index
		}
		s.Measures, s.Single = append(s.Measures, one), s.Single || m.Single
		for _, x := range []plan.Scalar{m.Arg, m.Filter} {
			if x != nil {
				read(x)
			}
		}
		if m.Product != nil {
			read(m.Product.Y.Arg)
		}
	}
	s.Reads = slices.SortedFunc(maps.Keys(reads), func(a, b TableColumn) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column))
	})
	return s
}

// columnName is a table's column; the zero one for others, which are of the relation's own text.
func columnName(r plan.Rel, id plan.ColID) (name TableColumn) {
	plan.VisitRels(r, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok && s.Rows == nil {
			if i := slices.Index(s.Columns, id); i >= 0 {
				name = TableColumn{s.Table.Schema, s.Table.Name, s.Table.Columns[i].Name}
			}
		}
		return true
	})
	return name
}

// Made says how an analysis' release is computed from one of its kin.
type Made struct {
	Analysis *sensitivity.Analysis // itself, or with sums from pairs that the other has
	Measures []int                 // of the other, one a measure of Analysis
	Choices  []int                 // of the other, one a choice
	Keys     []plan.Scalar         // over the other's keys, which are the columns from 1 on
	Conds    []plan.Scalar         // the same: which of its groups have rows here
	Listed   [][]*plan.Const       // one a key of the other: the only values that rows here have; nil: not known
	Same     []int                 // one a key of the other: the key that it is here; -1: none
	Whole    bool                  // its groups are those here, one for one
}

// From says how it is computed from a release of its kin; false: it is not. What is left to see is that no row is missed and none counts for too much, which the groups' values
// decide (release.Release.Computed).
//
// Proof: claim: where the two have one family, rows here are the rows there that fulfil Conds: tables, unit and the other conditions are equal by their texts (plan.Normal), and Conds are functions of the other's
// keys. Each measure here has the text of one there: the same values of each row, brought to the same integers, clamped alike within a unit's rows of one group. Where a unit has all its rows here of one group there, its
// partial is the same. Groups that a cap drops, there or here, would be other ones, so then the groups must be the same ones, under the same cap. Of rows that are joined off the unit the caps of leaves are among the tables' texts, with the conditions below them and the order in which they keep rows, and
// totals are of single rows. Of rows of two units a group's flow is of its rows alone, and the caps are the other's.
func (k *Candidate) From(s *Shape) (*Made, bool) {
	out := &Made{Listed: make([][]*plan.Const, len(s.Keys)), Same: make([]int, len(s.Keys))}
	at := func(text string) (plan.ColID, bool) {
		i := slices.IndexFunc(s.Keys, func(key ShapeKey) bool { return key.Text == short(text) })
		return plan.ColID(i + 1), i >= 0
	}
	extra := slices.Clone(k.conds)
	for _, c := range s.Conds {
		i := slices.Index(extra, c)
		if i < 0 {
			return nil, false
		}
		extra[i] = ""
	}
	for i, c := range extra {
		if c == "" {
			continue
		}
		x, ok := k.n.Over(k.n.rows.Conds[i].X, at)
		if !ok {
			return nil, false
		}
		out.Conds = append(out.Conds, x)
	}
	out.Whole = len(out.Conds) == 0 && len(k.a.Keys) == len(s.Keys) && k.a.Groups.Public == s.Public
	for i := range out.Same {
		out.Same[i] = -1
	}
	for i, key := range k.a.Keys {
		x, ok := k.n.Over(&plan.Col{ID: key.Col, T: key.Type}, at)
		if !ok {
			return nil, false
		}
		out.Keys = append(out.Keys, x)
		c, plain := x.(*plan.Col)
		if plain && s.Keys[c.ID-1].Type == key.Type {
			out.Same[c.ID-1] = i
		}
	}
	out.Whole = out.Whole && !slices.Contains(out.Same, -1)
	if !out.Whole && (!s.Public || !k.a.Groups.Public || s.Cut || k.a.Limit.Capped || k.a.Limit.Cap != nil) || out.Whole && limitText(k.a) != s.Limit {
		return nil, false
	}
	for i, key := range s.Keys {
		for _, c := range k.n.rows.Conds {
			list, ok := k.n.Listed(c.X, func(text string) bool { return short(text) == key.Text })
			if ok {
				out.Listed[i] = append(make([]*plan.Const, 0, len(list)), list...)
			}
		}
	}
	return out, k.measuresFrom(s, out)
}
