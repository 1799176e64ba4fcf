package stage

import (
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Stage is what a statement releases at once.
type Stage struct {
	An      *sensitivity.Analysis
	Inputs  []divide.Input
	As      int // the first stage of the same canonical text: the two are one release
	Request price.Request
	Priced  *price.Quote          // nil: not yet
	Ways    *BoundingMethods      // of joined rows whose bound is taken when it is asked (Staged.Settled); nil: An is the one
	rival   *sensitivity.Analysis // the other one, once it is settled; nil: there is none
	Again   bool                  // asked anew, though it could be topped up
	Kept    *release.Release      // computed from another question's, and keeps the target; KeptOf is that one's reservation
	KeptOf  int64
	Aimed   []Expected   // the errors by which dpsql.target_error set the price; nil: it did not
	gaps    []sqlgen.Gap // of whatever may be printed for it
}

// Price is the stage's plan: the one by which its bounding was decided, where that took one.
func (st *Stage) Price() (mp *price.Quote, err error) {
	if st.Priced == nil {
		st.Priced, err = price.New(st.An, st.Request)
		err = price.Cheapest(st.An, st.Request, err)
	}
	return st.Priced, err
}

// IsCharged says whether the stage costs anything: public groups without a measure are known, and of no group nothing is released.
//
// Proof: what is not charged reads no private row (stored). (1) Which stages these are follows from the analysis, that is from the statement, the policy and public tables. (2) The release has the public groups and no number: without measures, or without groups.
func (st *Stage) IsCharged() bool { return isCharged(st.An) }

func isCharged(a *sensitivity.Analysis) bool {
	return (len(a.Measures) > 0 || !a.Groups.Public) && !a.HasNoGroups() // (1) the analysis alone decides
}

// RivalStage is the stage with the bound that was not taken; nil: it has none.
func (st *Stage) RivalStage() *Stage {
	if st.rival == nil {
		return nil
	}
	out := *st
	out.An, out.rival, out.Priced = st.rival, st.An, nil
	return &out
}

// IsWeighted says whether what the stage counts are weights.
func (st *Stage) IsWeighted() bool { return st.An.Joined != nil && st.An.Joined.Weighted != nil }
