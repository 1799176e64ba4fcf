package sensitivity

import (
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// Joined is of a statement whose rows are joined off the unit: one unit changes more than its own rows, as many as Formula says. Its Body has no UnitCol, and its measures are of rows (Measure.Single).
type Joined struct {
	Formula     *elastic.Formula
	Frequencies []Frequent // one for each of Formula.Frequencies
}

// Frequent is how often, at most, one value of the columns occurs in a leaf: in the rows of one part of the joins, capped and filtered.
type Frequent struct {
	Leaf    plan.Rel
	Columns []plan.ColID
}
