package sensitivity

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Class says what a statement touches.
type Class string

// The classes of statements.
const (
	Public  Class = "public"  // no private table: answered exactly and free
	Private Class = "private" // exactly one Aggregate over private rows, finishing above it
)

// Analysis is the outcome for one statement.
type Analysis struct {
	Query *plan.Query

	// The rest is for Private statements.
	Agg     *plan.Aggregate
	Unit    dp.Unit
	Pairs   *Pairs // rows belong to a unit of each of two kinds, and what is measured are flows between them (Body.UnitCol is 0); nil: of one kind
	Body    *Body  // the aggregate's input, made ready: unit path joined, unit equalities added
	MaxRows uint64 // m: rows of one unit per group that count; 0: automatic
	MaxWhy  string // where m comes from, for EXPLAIN
	Clipped bool   // dpsql.clip says m, and neither keys nor the policy say that people have no more: what it cuts is lost mass
	// Multiplicities are what was read of public tables for m, of derived bodies too.
	Multiplicities []Multiplicity
	// Warnings are what an analyst should know of the answer; they follow from statement and policy.
	Warnings []string
	Keys     []Key  // one for each of Agg.Keys
	Groups   Groups // which groups are answered
	Limit    GroupLimit
	Measures []Measure // the fewest integers that determine the aggregates
	Choices  []*Choice // the bounds that are chosen on the data
	Kept     float64   // the largest part that a FILTER is expected to keep of what another measure has without it; 0: there is none, or nothing is known
	Formulas []Formula // one for each of Agg.Aggs
	// Given are the rows of the plan.Released in the body, by number, in a copy that one run prints; nil before.
	Given [][][]sqltype.Value
	// Args are the values of Query.Params in such a copy.
	Args []sqltype.Value
	// People is the measure that says how many units each group has, where Options.MinPeople asked for it; else -1. Groups in which its noisy value is less than MinPeople are not shown.
	People    int
	MinPeople int64
	// Split is the part of the units that the statement is over; the body has its condition.
	Split Split
	// Lost names the columns whose NULL drops rows, for want of a unit, by the policy; NoPerson those that drop them because the statement takes them for the person.
	Lost, NoPerson []string
	// NoValues names the columns of whose public values the conditions keep none, and so no group, or hardly any row.
	NoValues []string
	// Unmet are the columns of whose declared values the whole answer asks for none: it has no row, if columns hold what the policy declares.
	Unmet []Unmet
	// NoGroups are the conditions on grouping columns that ask for a text which is not among the column's public values.
	NoGroups []string
	// Suggestions name the public value that is nearest to a text which conditions ask for and which is none: 'FRANCE' for 'FRANSE'.
	Suggestions []string
	// Unlisted are texts that conditions ask columns for of which no values are public: they may be misspelt.
	Unlisted []string
	// NullGroups names the grouping columns that may be NULL, where no public group has that: such rows are in none. UnlistedGroups names those that may have other values than the policy lists.
	NullGroups, UnlistedGroups []string
	// OwnRows: rows without a person are units of their own. UnitElse names the columns that are the unit where a row leads to no person.
	OwnRows  bool
	UnitElse []string
	// Joined is of rows of several units each; nil: each row is one unit's.
	Joined *Joined
}

// Unmet is a column of whose declared values conditions keep none, and a condition that keeps some.
type Unmet struct{ Column, Cure string }

// Body is the relation that is aggregated: Rel yields one row a private row, with UnitCol, the keys and the arguments.
type Body struct {
	Rel     plan.Rel
	UnitCol plan.ColID // rows where it is NULL are dropped
	Person  plan.ColID // the column that names the person: UnitCol, or what UnitCol is computed from where rows without a person are units of their own (rowunits.go)
	// Clamped lists columns of scans that the proof reads through their declared range: inside measures' Args a Col of these
	// is replaced by its clamped value. WHERE and keys see the stored value.
	Clamped map[plan.ColID]Clamp
	// Linked holds the subqueries that may be printed: they read public tables, or rows of the unit of the row around them.
	Linked map[*plan.Subquery]bool
	// Safe holds the calls under measures' Args that neither raise nor give NULL of themselves where Clamped columns are read
	// (funcs.Func.Safe) and numerics hold as many digits as it says; elsewhere they have their total form.
	Safe map[*plan.Call]int32
}

// Clamp is a declared range used by a proof.
type Clamp struct{ Lo, Hi decimal.Decimal }

// Key is one grouping column.
type Key struct {
	Col    plan.ColID
	Type   sqltype.Type
	OfUnit bool // functionally dependent on the unit: one value a person
	Public bool // its values come from a Source

	NotNull bool // conditions on the keys leave out NULL
}

// Groups says which groups are answered.
type Groups struct {
	Public  bool     // all keys have public domains: answered in full, zero groups too
	Sources []Source // cover all keys if Public; their product is the set of groups
	Count   uint64   // number of public groups, after Sources were read; 1 without keys
}

// Source gives the values of one or more keys together. Rows whose keys are not among Tuples are in no public group; the print
// leaves them out where that is cheap, and must where Counts and the groups are neither Public nor Capped.
type Source struct {
	Keys   []int             // indexes in Analysis.Keys
	Tuples [][]sqltype.Value // one value a key, in the canonical form that the print gives
	Why    string            // for EXPLAIN: "values of encounters.readmitted", "rows of admission_types"

	Fixed   bool        // by its form no row has other values: there is nothing to filter
	Counts  bool        // Limit.PerUnit counts Tuples, because the unit does not determine these keys
	Table   *plan.Table // the public table that Tuples were read from, nil for literals
	Columns []int       // of Table, one a key
	Joined  bool        // the keys are columns of Table's own scan in the body (or equal to them)

	// Complete: every row has some of Tuples, if columns hold what the policy declares: no group is missing in a sum of all of them.
	Complete bool
	// Unlisted: rows may have other values than Tuples, of which the policy alone says that there are none. They are in no group, so a sum of all groups misses them.
	Unlisted bool
}

// HasNoGroups reports that conditions leave no public group: there is nothing to release.
func (a *Analysis) HasNoGroups() bool {
	return a.Groups.Public && len(a.Keys) > 0 && a.Groups.Count == 0
}

// Units are the kinds of units whose rows the statement is over.
func (a *Analysis) Units() dp.Units {
	if a.Pairs != nil {
		return a.Pairs.Units[:]
	}
	return dp.Units{a.Unit}
}

// CountsUnitsSeparately says that the units beyond the edges of automatic bounds are counted in parts of their own: where a unit may be in several groups, where
// groups are unknown, since bounds are chosen before any of them is looked at, and where it is norms that are compared. Else each unit has one partial, and those are counted.
func (a *Analysis) CountsUnitsSeparately() bool {
	return a.Limit.PerUnit > 1 || !a.Groups.Public || a.Limit.Norm > 0
}

// FewGroups of one unit need no cap or norm beside declared bounds: either would have to be chosen, and could hardly be less.
const FewGroups = 4

// GroupLimit bounds how many groups one unit can be in.
type GroupLimit struct {
	PerUnit uint64 // L0: the bound that the sensitivities use
	Capped  bool   // the printed SQL must keep PerUnit of a unit's groups, by hash order; false: the keys say so already
	Why     string
	// With an automatic cap PerUnit is its largest edge, which the print keeps; Cap chooses how many of them count. nil: PerUnit counts.
	Cap *Choice
	// Norm: a unit is in any of its groups, and its whole vector of partials is scaled to a norm that is chosen (each measure's Bound); NoNorm: it is not.
	Norm Norm
	// NotL2 is why it is not, where that was asked for and would have been something else; it changes nothing.
	NotL2 string
}

// HasTrees reports that some of what is measured are trees or picks.
func (a *Analysis) HasTrees() bool {
	return slices.ContainsFunc(a.Measures, func(m Measure) bool { return m.IsTree() })
}

// NeedsOwnScan reports that some of what is measured is read apart.
func (a *Analysis) NeedsOwnScan() bool {
	return slices.ContainsFunc(a.Measures, func(m Measure) bool { return m.NeedsOwnScan() })
}

// IsNonAdditive reports that some measure of a group is no sum of what it is in parts of the group: numbers of distinct values, and flows, of which each part has its own.
func (a *Analysis) IsNonAdditive() bool {
	return a.Pairs != nil || a.NeedsOwnScan() || slices.ContainsFunc(a.Measures, func(m Measure) bool { return m.Kind == DistinctValues })
}

// NeedsFreshRelease reports that it is released anew where more is asked for. Trees and picks are not measured again; nor is what is joined off the unit, where the scale that was released bounds what one unit changed in that snapshot, and in no later one.
func (a *Analysis) NeedsFreshRelease() bool {
	return a.HasTrees() || a.IsSmoothed()
}

// HasTimes reports that a measure's values are made of dates, times or intervals.
func (a *Analysis) HasTimes(m Measure) (is bool) {
	a.visitOf(m, func(x plan.Scalar) {
		c, ok := x.(*plan.Col)
		is = is || ok && (relation.IsDay(c.T) || c.T.OID == sqltype.OIDInterval)
	})
	return is
}

// HasMonths reports that a measure's values are intervals made with months, so that PostgreSQL's result has some too.
func (a *Analysis) HasMonths(m Measure) (is bool) {
	a.visitOf(m, func(x plan.Scalar) {
		switch x := x.(type) {
		case *plan.Call:
			is = is || slices.Contains([]string{"age", "justify_days", "justify_interval"}, x.Fn.Name) || x.Fn.Name == "make_interval" && slices.ContainsFunc(x.Args[:min(2, len(x.Args))], isNotZero)
		case *plan.Const:
			iv, ok := x.Value.(sqltype.Interval)
			is = is || ok && iv.Months != 0
		}
	})
	return is
}

// isNotZero reports an expression that is no constant 0.
func isNotZero(x plan.Scalar) bool {
	c, ok := x.(*plan.Const)
	return !ok || c.Value != sqltype.Value(int64(0))
}

// visitOf calls f for what a measure's values are computed by, within the queries and VALUES in FROM too.
func (a *Analysis) visitOf(m Measure, f func(plan.Scalar)) {
	defs := map[plan.ColID][]plan.Scalar{}
	plan.VisitRels(a.Body.Rel, func(r plan.Rel) bool {
		switch r := r.(type) {
		case *plan.Project:
			for _, it := range r.Items {
				defs[it.ID] = []plan.Scalar{it.Expr}
			}
		case *plan.Values:
			for _, row := range r.Rows {
				for i, id := range r.Columns {
					defs[id] = append(defs[id], row[i])
				}
			}
		}
		return true
	})
	var visit func(plan.Scalar)
	visit = func(x plan.Scalar) {
		f(x)
		for _, y := range plan.Children(x) {
			visit(y)
		}
		plan.VisitCols(x, func(c *plan.Col) {
			f(c)
			of := defs[c.ID]
			delete(defs, c.ID)
			for _, y := range of {
				visit(y)
			}
		})
	}
	visit(m.Arg)
}

// Edge is an edge of a choice in the units of what it bounds: groups, or the measure's own.
func (a *Analysis) Edge(c *Choice, edge uint64) decimal.Decimal {
	if c.Measure < 0 { // of groups, or of joined rows
		return decimal.NewFromUint64(edge)
	}
	return a.Measures[c.Measure].Step().Mul(decimal.NewFromUint64(edge))
}

// VisibleName is a stored column's "table.column"; "" where the analyst may not see it.
func (a *Analysis) VisibleName(id plan.ColID) string {
	if int(id) >= len(a.Query.Columns) {
		return ""
	}
	c := a.Query.Columns[id]
	if c.Table == nil {
		return c.Name
	}
	for _, col := range c.Table.Columns {
		if col.Name == c.Name && col.Visible {
			return c.Table.Name + "." + c.Name
		}
	}
	return ""
}

// Multiplicity is how many rows of a public relation one row of the rest of the statement meets at most, in one group.
type Multiplicity struct {
	Of   plan.Rel     // reads public tables alone, no parameter and no row around it
	By   []plan.ColID // its columns that have one value: the join compares them by equality, or they are grouped by; none: all of its rows are met
	Most uint64       // as it was read, at least 1
}
