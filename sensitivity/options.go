package sensitivity

import (
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Options are the policy's and the session's limits. Zero values refuse or claim least.
type Options struct {
	MaxGroups       uint64            // L0: groups of one unit that count where the keys don't bound them
	ChooseGroups    bool              // that number is chosen on the data instead
	Norm            Norm              // scale a unit's whole vector over public groups to this norm, where it may be in several; NoNorm: do not
	MaxPublicGroups uint64            // above it public groups are treated as unknown ones
	Public          plan.PublicReader // reads the values of public tables; nil: keys with such values are unknown
	DeltaZero       bool              // the budget has no delta: unknown groups cannot be selected
	MaxRows         uint64            // rows of one unit in a group that count, at most; 0: as the policy says
	WithinRows      bool              // bounds of sums over wide ranges are chosen where several rows are declared
	LeastKept       float64           // the part of a unit's rows that FILTER is expected to keep at least where its measure takes another's automatic bound (follow); 0: all
	Split           Split             // a part of the units
	OffUnit         OffUnit           // what is said of joins off the unit
	Truncate        bool              // they are answered by declared frequencies alone (plan.Table.MaxFrequency), which are enforced; false: what is not unique is measured
	Weighted        bool              // joined rows are counted by weights (Joined.Weighted), and nothing else is answered of them
	MinPeople       int64             // grouped statements measure each group's number of units, to hide those of fewer by it (Analysis.People); 0: none
}

// WithoutClip are the options of a body within another: a clip is of the rows that the outer one has. A number of rows that an inner one counts is a value, which it must not cut.
func (o Options) WithoutClip() Options {
	o.MaxRows = 0
	return o
}

// OffUnit says whether joins off the unit are answered.
type OffUnit byte

// The answers to them. The first is where nobody can allow them.
const (
	NeverOffUnit OffUnit = iota
	OwnerMayOffUnit
	AnyOffUnit
)

// Split takes a part of the units: those whose hash, keyed by Salt, is less than Fraction of all hashes, or with Rest the others. The zero value takes all.
type Split struct {
	Salt     string
	Fraction float64
	Rest     bool
}

// Norm is by what a unit's vector of partials over all groups is bounded: its value is the exponent.
type Norm int

// The norms. Laplace noise goes by the first, Gaussian noise by the second.
const (
	NoNorm Norm = 0
	L1     Norm = 1 // the sum of magnitudes
	L2     Norm = 2 // the root of the sum of squares
)
