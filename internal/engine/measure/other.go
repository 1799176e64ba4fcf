package measure

import (
	"errors"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// Other is a choice among the first so many edges that goes by something else than numbers of units.
type Other struct {
	Event dp.Event
	Edges uint64
}

// Among is how many of a choice's edges are candidates.
func (p *Plan) Among(choice int) uint64 {
	if len(p.Others) > 0 {
		return p.Others[choice].Edges
	}
	return p.Choices[choice].Edges
}

// scaleShare is the part of the price that the scale of joined rows takes: with less of it the released scale is further above what was measured, with more the noise is larger at the same scale.
const scaleShare = 0.25

// other calibrates a choice that goes by something else than units.
func (p *Plan) other(a *sensitivity.Analysis, c *sensitivity.Choice, ask Ask, l budget.Limit) error {
	if c.By != sensitivity.BySmooth {
		return errors.New("measure: it is not known how a bound is chosen")
	}
	if !(ask.QueryDelta > 0) {
		return sqlerr.New(sqlerr.BadMechanism, "a join off the privacy unit needs a delta, and the policy's query.delta is 0").WithHint("Join the tables on the privacy unit; or the owner can raise query.delta.")
	}
	ev, err := ask.Filter.SmoothScale(elastic.Moves, l, ask.QueryDelta)
	if err != nil {
		return tooMuch(err)
	}
	return p.Choose(a, c, ev)
}

// Choose adds the event of a choice to a plan whose measures have their events: the candidates are the edges at which their noise can be drawn. At the last of them the totals are not looked at (release.Maker.Scale), so there must be another.
func (p *Plan) Choose(a *sensitivity.Analysis, c *sensitivity.Choice, ev dp.Event) error {
	usable, _ := drawable(a, c, p)
	if usable < 2 {
		return tooMuch(errors.New("measure: no edge's noise can be drawn"))
	}
	p.Others = append(p.Others, Other{ev, uint64(usable)})
	return nil
}

// Grid is by which a released scale is an edge: it follows from the event.
func (p *Plan) Grid(c *sensitivity.Choice) (elastic.Grid, error) {
	if c.Index >= len(p.Others) || p.Others[c.Index].Edges > uint64(len(c.Edges)) {
		return elastic.Grid{}, errors.New("measure: a scale has no event")
	}
	ev, ok := p.Others[c.Index].Event.(dp.SmoothScale)
	if !ok {
		return elastic.Grid{}, errors.New("measure: a scale has another event")
	}
	return elastic.GridOf(ev, c.Edges[:p.Others[c.Index].Edges])
}
