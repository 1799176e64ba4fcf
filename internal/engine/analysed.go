package engine

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Analysed is how a statement of one stage would be run now: bound, analysed and priced, nothing of it asked or charged. The accuracy bench draws from it.
type Analysed struct {
	Query    *plan.Query
	Analysis *sensitivity.Analysis
	Plan     *price.Quote
}

// Analysed gives what Run would do.
func (p *Prepared) Analysed() (Analysed, error) {
	private, ok := inner(p.kind).(*private.Statement)
	if !ok || len(private.Stages) != 1 {
		return Analysed{}, sqlerr.New(sqlerr.Internal, "the statement is not one release")
	}
	st := private.Stages[0]
	mp, err := st.Price()
	return Analysed{Query: p.Query, Analysis: st.An, Plan: mp}, err
}
