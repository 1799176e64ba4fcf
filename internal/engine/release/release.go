package release

import (
	"errors"
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Release is what was released of one statement: per group its keys and one noisy integer a measure, unclamped. Groups are in
// the order of their domains, or sorted by key where they were selected, never in the order of a scan.
type Release struct {
	Plan   *price.Quote // as it was charged
	Chosen price.Chosen // bounds that were chosen on the data
	Run    *price.Run   // what noise the groups have
	Tops   []Top        // what was measured again later, in order
	Lost   []*Lost      // a measure: what its bounds took away; nil: nothing
	Groups []Group      // where memory holds them: Each gives them wherever they are
	Shape  *reuse.Shape // what it is of, where others may be computed from it
	Of     *Release     // that it was computed from; nil: it is of the data
	Data   string       // names the state of the data, which does not change under that name, or the snapshot that it was read in
	Target string       // the dpsql.target_error that it was asked for; "": none
	Cube   string       // the cube that it is a level of, as EXPLAIN names it; "": of none

	Adjusted *Adjusted // its values among those of the cube's other levels; nil: they are as they were released

	many  many // nil: Groups are all
	count int  // of many
	cells int  // MostCells of the groups that it had
}

// WithoutGroups is what there is to know of a release beside its groups.
func (r *Release) WithoutGroups() *Release {
	return &Release{Plan: r.Plan, Chosen: r.Chosen, Run: r.Run, Tops: r.Tops, Lost: r.Lost, cells: r.MostCells()}
}

// Top is one measuring more, for a higher price: a group's value became the weighted mean of what it was and of the fresh one, rounded.
type Top struct {
	Plan    *price.Quote
	Weights [][2]int64 // a measure: of what it was, of the fresh one; one of them may be 0
}

// LastQuote is the plan of the last charge.
func (r *Release) LastQuote() *price.Quote {
	if n := len(r.Tops); n > 0 {
		return r.Tops[n-1].Plan
	}
	return r.Plan
}

// EarlierQuote is the plan that was charged before LastQuote, which is a top-up of that; nil: there was none.
func (r *Release) EarlierQuote() *price.Quote {
	switch n := len(r.Tops); n {
	case 0:
		return nil
	case 1:
		return r.Plan
	default:
		return r.Tops[n-2].Plan
	}
}

// MostCells is of how many released groups one group is the sum, at most; 0 where none is.
func (r *Release) MostCells() int {
	most := r.cells
	for _, g := range r.Groups {
		most = max(most, g.Cells)
	}
	return most
}

// Group is one released group.
type Group struct {
	Keys   []sqltype.Value
	Values []*big.Int // nil of a tree
	Trees  [][]Block  // a measure; of those that are no tree empty
	Picks  [][]int    // a measure: which of its candidates were picked, in order
	Cells  int        // of how many released groups of Release.Of the values are the sums; 0: of none, they are its own
}

// Block is a released part of a group's tree: the noisy counts of a node's children.
type Block struct {
	Level  int        `json:"l"`
	Node   int64      `json:"n"`
	Counts []*big.Int `json:"c"`
}

// Lost is what was released of the mass that bounds take from a measure: for each sign what units count in each class of sensitivity.LostSteps, with noise. Sides are in sensitivity.LostParts of a part of a step (sensitivity.Measure.Subdivision), Base and Most in whole steps.
type Lost struct {
	Unit  uint64       `json:"unit"` // sensitivity.LostUnit
	Sides [][]*big.Int `json:"sides"`
	Base  *big.Int     `json:"base"`   // the sum of the groups' released values, of those above 0 where there is one sign: it is spread among them
	Most  *big.Int     `json:"most"`   // the largest of them
	Count int          `json:"groups"` // how many these are
}

// fits: it is of such a measure.
func (l *Lost) fits(m *sensitivity.Measure) bool { return l.valid() && len(l.Sides) == m.LostSides() }

func (l *Lost) valid() bool {
	if l.Unit == 0 || len(l.Sides) == 0 || len(l.Sides) > 2 || l.Base == nil || l.Base.Sign() < 0 || l.Most == nil || l.Most.Sign() < 0 || l.Count < 0 {
		return false
	}
	return !slices.ContainsFunc(l.Sides, func(s []*big.Int) bool { return len(s) != sensitivity.LostClasses || slices.Contains(s, nil) })
}

// ErrLarge says that a release has more groups than one may have. How many there are was released, so this tells nothing else.
var ErrLarge = errors.New("release: too many groups")

// NewPlaceholder is a release of a plan without its numbers, each bound the least one: for what would be computed from it. Of groups that are chosen it has none.
func NewPlaceholder(a *sensitivity.Analysis, p *price.Quote) (*Release, error) {
	r := &Release{Plan: p, Run: p.Run()}
	if len(a.Choices) > 0 {
		r.Chosen = make(price.Chosen, len(a.Choices))
		var err error
		if r.Run, err = p.Resolve(a, r.Chosen); err != nil {
			return nil, err
		}
	}
	if !a.Groups.Public {
		return r, nil
	}
	for _, keys := range domain(a) {
		g := Group{Keys: keys}
		for range a.Measures {
			g.Values = append(g.Values, new(big.Int))
		}
		r.Groups = append(r.Groups, g)
	}
	return r, nil
}

// many are the groups of a release that memory does not hold: on disk, in their order.
type many interface {
	each(yield func(*Group) error) error
	close() error
}

// Each gives the groups in order. A group holds after the next.
func (r *Release) Each(yield func(*Group) error) error {
	if r.many != nil {
		return r.many.each(yield)
	}
	for i := range r.Groups {
		if err := yield(&r.Groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// Len is how many groups there are.
func (r *Release) Len() int {
	if r.many != nil {
		return r.count
	}
	return len(r.Groups)
}

// IsOnDisk says whether they are on disk.
func (r *Release) IsOnDisk() bool { return r != nil && r.many != nil }

// Close gives the disk free.
func (r *Release) Close() error {
	if r == nil || r.many == nil {
		return nil
	}
	return r.many.close()
}
