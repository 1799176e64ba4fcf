package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// Joined is of a statement whose rows are joined off the unit: one unit changes more than its own rows, as many as Formula says, or Weighted. Its Body has no UnitCol, and its measures are of rows (Measure.Single).
type Joined struct {
	Formula     *elastic.Formula // nil: nothing is measured, or it is Weighted
	Frequencies []KeyFrequency   // one for each of Formula.Frequencies
	Why         string           // why it is bounded so and not otherwise, where there was a choice; it changes nothing
	Weighted    *Pairing         // joined rows are counted by weights; nil: each is one
	Counted     *Pairing         // nothing is asked but how many joined rows there are, which weights would answer too, with another number; nil: more is, or they are weighted
	Sides       []JoinSide       // what is joined, in the order of the joins: for EXPLAIN
}

// KeyFrequency is how often, at most, one value of the columns occurs in a leaf: in the rows of one part of the joins, capped and filtered.
type KeyFrequency struct {
	Side    plan.Rel
	Columns []plan.ColID
}

// JoinSide tells of a leaf: the scans of one unit's rows that are joined on the unit, or a public table.
type JoinSide struct {
	Name string
	Rows uint64 // of one unit, at most; 0: public
	Why  string // where Rows comes from
	Cut  string // how many rows with one value of a key are kept; "": all
}

// Pairing is of two leaves that are joined by nothing but equalities of columns, and of whose joined rows nothing is asked but how many there are: a key that A rows of one side have and B of the other has A B of them (Joined.Counted).
//
// Joined.Weighted is wPINQ's join of them for COUNT(*): of a key that A of the rows of one side have and B of the other's the A B joined rows have the weight A B / (A + B) together, in place of A B. It is another number than COUNT(*): with one row on each side a half.
//
// Proof: claim: one unit changes the sum over keys of floor(G A B / (A + B)) by at most (mA + mB)(G + 1), mA and mB its rows of the sides, G WeightParts. f(A, B) = A B / (A + B) (0 for A = B = 0) has slopes (B / (A + B))^2 in A and (A / (A + B))^2 in B, both in [0, 1], so with a rows of a key more on one side and b on
// the other it grows by at most a + b, and by 0 at least. The floors of two numbers at most G (a + b) apart are at most G (a + b) + 1 apart, which is no more than (G + 1)(a + b) where a + b is 1 or more, and where it is 0 nothing changes. A unit's a and b of all keys are at most mA + mB together: the leaves keep no more
// of its rows (Rows: Analyze's JoinedBody, (J2)), whatever frequencies are. Nothing else is asked of joined rows than that the columns of Keys are equal in pairs, so which rows there are beside the numbers A and B is not seen. Source: Proserpio, Goldberg, McSherry, "Calibrating Data to Sensitivity in Private Data Analysis", PVLDB 2014, section 2.8.
type Pairing struct {
	Sides [2]plan.Rel
	Keys  [2][]plan.ColID // in pairs
	Rows  [2]uint64       // of one unit that a side keeps, at most; 0: it is public
}

// Pairs are the units of a statement whose rows belong to a unit of each of two kinds: a customer and a supplier.
type Pairs struct {
	Units [2]dp.Unit
	Cols  [2]plan.ColID // rows where one of them is NULL are dropped
}
