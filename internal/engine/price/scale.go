package price

import (
	"errors"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// Scale is how the bound of joined rows is released: one of the first so many edges.
type Scale struct {
	Event dp.SmoothScale
	Edges uint64
}

// scaleShare is the part of the price that the scale of joined rows takes: with less of it the released scale is further above what was measured, with more the noise is larger at the same scale.
const scaleShare = 0.25

// scale calibrates the release of the scale.
func (p *Quote) scale(a *sensitivity.Analysis, c *sensitivity.Choice, ask Request, l budget.Limit) error {
	if !(ask.QueryDelta > 0) {
		return sqlerr.New(sqlerr.BadMechanism, "a join off the privacy unit needs a delta, and the policy's query.delta is 0").WithHint("Join the tables on the privacy unit; or the owner can raise query.delta.")
	}
	ev, err := ask.Filter.SmoothScale(elastic.Moves, l, ask.QueryDelta)
	if err != nil {
		return tooMuch(err)
	}
	return p.ScaleBy(a, c, ev)
}

// ScaleBy adds the release of a scale to a plan whose measures have their events: the candidates are the edges at which their noise can be drawn. At the last of them the totals are not looked at (release.Releaser.Scale), so there must be another.
func (p *Quote) ScaleBy(a *sensitivity.Analysis, c *sensitivity.Choice, ev dp.SmoothScale) error {
	usable, _ := drawable(a, c, p)
	if usable < 2 {
		return tooMuch(errors.New("price: no edge's noise can be drawn"))
	}
	p.Scale = &Scale{ev, uint64(usable)}
	return nil
}

// Grid is by which a released scale is an edge: it follows from the event.
func (p *Quote) Grid(c *sensitivity.Choice) (elastic.Grid, error) {
	if p.Scale == nil || p.Scale.Edges > uint64(len(c.Edges)) {
		return elastic.Grid{}, errors.New("price: a scale has no event")
	}
	return elastic.GridOf(p.Scale.Event, c.Edges[:p.Scale.Edges])
}
