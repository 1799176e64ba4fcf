package engine

import (
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// stage is what a statement releases at once.
type stage struct {
	an      *sensitivity.Analysis
	inputs  []divide.Input
	as      int // the first stage of the same canonical text: the two are one release
	request price.Request
	priced  *price.Quote          // nil: not yet
	ways    *boundingMethods      // of joined rows whose bound is taken when it is asked (settled); nil: an is the one
	rival   *sensitivity.Analysis // the other one, once it is settled; nil: there is none
	again   bool                  // asked anew, though it could be topped up
	kept    *release.Release      // computed from another question's, and keeps the target; keptOf is that one's reservation
	keptOf  int64
	gaps    []sqlgen.Gap // of whatever may be printed for it
}

// price is the stage's plan: the one by which its bounding was decided, where that took one.
func (st *stage) price() (mp *price.Quote, err error) {
	if st.priced == nil {
		st.priced, err = price.New(st.an, st.request)
		err = price.Cheapest(st.an, st.request, err)
	}
	return st.priced, err
}

// isCharged: public groups without a measure are known, and of no group nothing is released.
//
// Proof: what is not charged reads no private row (stored). (1) Which stages these are follows from the analysis, that is from the statement, the policy and public tables. (2) The release has the public groups and no number: without measures, or without groups.
func (st *stage) isCharged() bool { return isCharged(st.an) }

func isCharged(a *sensitivity.Analysis) bool {
	return (len(a.Measures) > 0 || !a.Groups.Public) && !a.HasNoGroups() // (1) the analysis alone decides
}

// rivalStage is the stage with the bound that was not taken; nil: it has none.
func (st *stage) rivalStage() *stage {
	if st.rival == nil {
		return nil
	}
	out := *st
	out.an, out.rival, out.priced = st.rival, st.an, nil
	return &out
}

// isWeighted: what the stage counts are weights.
func (st *stage) isWeighted() bool { return st.an.Joined != nil && st.an.Joined.Weighted != nil }
