package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// stored is a release as the ledger keeps it, under a key that fixes keys' types and the order of measures. Events has one
// entry a choice, one a measure but for Units, then the selection.
type stored struct {
	Version   int           `json:"version"`
	Price     float64       `json:"price"`
	Mechanism string        `json:"mechanism"`
	Loss      dp.Loss       `json:"loss"`
	Units     int           `json:"units_from_selection"`
	Events    ledger.Events `json:"events"`
	Chosen    []int         `json:"chosen,omitempty"`
	Tops      []storedTop   `json:"tops,omitempty"`
	Lost      []*Lost       `json:"lost,omitempty"` // a measure
	Groups    []storedGroup `json:"groups"`
	Reuse     *storedReuse  `json:"kin,omitempty"`
	Data      string        `json:"data,omitempty"`
	Target    string        `json:"target,omitempty"`
	Spooled   int           `json:"spooled,omitempty"` // so many groups lie in the spool, in place of Groups
	Adjusted  *Adjusted     `json:"adjusted,omitempty"`
}

type storedTop struct {
	Price     float64       `json:"price"`
	Mechanism string        `json:"mechanism"`
	Loss      dp.Loss       `json:"loss"`
	Events    ledger.Events `json:"events"`
	Weights   [][2]int64    `json:"weights"`
}

type storedGroup struct {
	Keys   []*string  `json:"k,omitempty"` // text form; null is NULL
	Values []*big.Int `json:"v"`
	Trees  [][]Block  `json:"t,omitempty"`
	Picks  [][]int    `json:"p,omitempty"`
}

const storedVersion = 1

// maxWeight is far below what overflows.
const maxWeight = 1 << 60

// Encode writes a release for the ledger, all but what Spool writes.
func Encode(a *sensitivity.Analysis, r *Release) ([]byte, error) {
	s := stored{Version: storedVersion, Price: r.Plan.Price, Mechanism: string(r.Plan.Mechanism), Loss: r.Plan.Loss,
		Units: r.Plan.UnitsFromSelection, Events: r.Plan.Events(), Chosen: r.Chosen, Lost: r.Lost, Groups: make([]storedGroup, len(r.Groups)), Data: r.Data, Target: r.Target, Spooled: r.count, Adjusted: r.Adjusted}
	for _, t := range r.Tops {
		s.Tops = append(s.Tops, storedTop{t.Plan.Price, string(t.Plan.Mechanism), t.Plan.Loss, t.Plan.Events(), t.Weights})
	}
	for i, g := range r.Groups {
		sg := storedGroup{Values: g.Values, Trees: g.Trees, Picks: g.Picks}
		for k, v := range g.Keys {
			if v == nil {
				sg.Keys = append(sg.Keys, nil)
				continue
			}
			text := sqltype.FormatText(v, a.Keys[k].Type)
			sg.Keys = append(sg.Keys, &text)
		}
		s.Groups[i] = sg
	}
	var err error
	if s.Reuse, err = encodeReuse(r); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// DataOf is the Data of a release as Encode wrote it.
func DataOf(text []byte) string {
	var s struct {
		Data string `json:"data"`
	}
	if json.Unmarshal(text, &s) != nil {
		return ""
	}
	return s.Data
}

// Decode reads what Encode wrote for a statement of the same key, with the groups' spool, if there is one: it is the release's from then on, or closed.
func Decode(a *sensitivity.Analysis, text []byte, groups *ledger.Spool) (*Release, error) {
	r, err := decode(a, text)
	if err == nil && (r.count > 0) != (groups != nil) {
		err = errShape
	}
	if groups == nil {
		return r, err
	}
	if err != nil {
		return nil, errors.Join(err, groups.Close())
	}
	r.many = spooledIn(a, groups, r.count)
	return r, nil
}

func decode(a *sensitivity.Analysis, text []byte) (*Release, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("release: stored form: %w", err)
	}
	if s.Spooled < 0 || s.Spooled > 0 && len(s.Groups) > 0 {
		return nil, errShape
	}
	if s.Version != storedVersion {
		return nil, fmt.Errorf("release: stored form %d is not known", s.Version)
	}
	p := &price.Quote{Price: s.Price, Mechanism: price.Mechanism(s.Mechanism), Loss: s.Loss, UnitsFromSelection: s.Units,
		Measures: make([]dp.Event, len(a.Measures))}
	rest := s.Events
	if len(rest) < len(a.Choices) {
		return nil, errShape
	}
	for i := range a.Choices {
		switch rest[i].(type) {
		case dp.AboveThreshold, dp.Choice:
			p.Choices = append(p.Choices, rest[i])
		}
	}
	rest = rest[len(a.Choices):]
	for i := range p.Measures {
		if i == s.Units {
			continue
		}
		if len(rest) == 0 {
			return nil, errShape
		}
		p.Measures[i], rest = rest[0], rest[1:]
	}
	p.Lost = make([]*price.Lost, len(a.Measures))
	if len(s.Lost) != 0 && len(s.Lost) != len(a.Measures) {
		return nil, errShape
	}
	for i, l := range s.Lost {
		if l == nil {
			continue
		}
		if len(rest) == 0 || !l.fits(&a.Measures[i]) {
			return nil, errShape
		}
		p.Lost[i], rest = &price.Lost{Event: rest[0]}, rest[1:]
	}
	if len(rest) == 1 {
		switch sel := rest[0].(type) {
		case dp.Selection:
			p.Selections = []dp.Selection{sel}
		case dp.OneOf:
			p.Selections = sel.Selections
		default:
			return nil, errShape
		}
		rest = nil
	}
	if len(rest) != 0 || (len(p.Selections) == 0) != a.Groups.Public {
		return nil, errShape
	}
	if a.IsSmoothed() {
		ev, ok := s.Events[0].(dp.SmoothScale)
		if !ok {
			return nil, errShape
		}
		if err := p.ScaleBy(a, a.Choices[0], ev); err != nil {
			return nil, err
		}
	}
	run, err := p.Resolve(a, s.Chosen)
	if err != nil {
		return nil, err
	}
	r := &Release{Plan: p, Chosen: s.Chosen, Run: run, Lost: s.Lost, Groups: make([]Group, len(s.Groups)), Data: s.Data, Target: s.Target, count: s.Spooled}
	if s.Reuse != nil {
		r.Shape = s.Reuse.Shape
	}
	if r.Tops, err = topsOf(&s, len(a.Measures)); err != nil {
		return nil, err
	}
	types := make([]sqltype.Type, len(a.Keys))
	for i, k := range a.Keys {
		types[i] = k.Type
	}
	for i, sg := range s.Groups {
		if len(sg.Values) != len(a.Measures) || !shaped(a, sg.Trees, sg.Picks) {
			return nil, errShape
		}
		if r.Groups[i], err = sg.group(types); err != nil {
			return nil, err
		}
	}
	return r, r.readAdjusted(s.Adjusted, len(a.Measures))
}

// storedReuse is what a stored release says for those that are computed from it: what it is of, and what noise each measure has.
type storedReuse struct {
	Shape *reuse.Shape    `json:"shape"`
	Run   ledger.Events   `json:"run"`
	Lost  []ledger.Events `json:"lost,omitempty"` // a measure: what told its lost mass, or none
	// Beyond is price.Lost's, of each of these.
	Beyond []float64 `json:"beyond,omitempty"`
}

func encodeReuse(r *Release) (*storedReuse, error) {
	if r.Shape == nil {
		return nil, nil
	}
	k := &storedReuse{Shape: r.Shape}
	for i := range r.Run.Measures {
		ev, err := r.Run.Event(i)
		if err != nil {
			return nil, err
		}
		k.Run = append(k.Run, ev)
		if len(r.Lost) == 0 {
			continue
		}
		var lost ledger.Events
		beyond := 0.0
		if l := r.Run.Lost[i]; l != nil {
			lost, beyond = ledger.Events{l.Event}, l.Beyond
		}
		k.Lost, k.Beyond = append(k.Lost, lost), append(k.Beyond, beyond)
	}
	return k, nil
}

// DecodeRelated reads a release for the sake of others that are computed from it; nil where none is.
func DecodeRelated(text []byte) (*Release, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("release: stored form: %w", err)
	}
	if s.Version != storedVersion || s.Reuse == nil || s.Reuse.Shape == nil || s.Spooled > 0 {
		return nil, nil
	}
	shape := s.Reuse.Shape
	if len(s.Reuse.Run) != len(shape.Measures) || len(s.Events) < len(s.Chosen) {
		return nil, errShape
	}
	p := &price.Quote{Price: s.Price, Mechanism: price.Mechanism(s.Mechanism), Loss: s.Loss, UnitsFromSelection: -1}
	for _, ev := range s.Events[:len(s.Chosen)] {
		switch ev.(type) {
		case dp.AboveThreshold, dp.Choice:
			p.Choices = append(p.Choices, ev)
		default:
			return nil, errShape
		}
	}
	r := &Release{Plan: p, Chosen: s.Chosen, Shape: shape, Run: &price.Run{Mechanism: p.Mechanism, Measures: s.Reuse.Run}, Groups: make([]Group, len(s.Groups)), Data: s.Data}
	if len(s.Lost) != len(s.Reuse.Lost) || len(s.Reuse.Beyond) != len(s.Reuse.Lost) || len(s.Lost) != 0 && len(s.Lost) != len(shape.Measures) {
		return nil, errShape
	}
	for i, l := range s.Lost {
		events := s.Reuse.Lost[i]
		if (l == nil) != (len(events) == 0) || l != nil && (len(events) != 1 || !l.valid()) {
			return nil, errShape
		}
		r.Lost, r.Run.Lost = append(r.Lost, l), append(r.Run.Lost, nil)
		if l != nil {
			r.Run.Lost[i] = &price.Lost{Event: events[0], Unit: l.Unit, Beyond: s.Reuse.Beyond[i]}
		}
	}
	var err error
	if r.Tops, err = topsOf(&s, len(shape.Measures)); err != nil {
		return nil, err
	}
	types := make([]sqltype.Type, len(shape.Keys))
	for i, k := range shape.Keys {
		types[i] = k.Type
	}
	for i, sg := range s.Groups {
		if len(sg.Values) != len(shape.Measures) {
			return nil, errShape
		}
		if r.Groups[i], err = sg.group(types); err != nil {
			return nil, err
		}
	}
	return r, r.readAdjusted(s.Adjusted, len(shape.Measures))
}

// topsOf are the top-ups of so many measures.
func topsOf(s *stored, measures int) (out []Top, err error) {
	for _, t := range s.Tops {
		if len(t.Events) != measures || len(t.Weights) != measures {
			return nil, errShape
		}
		for _, w := range t.Weights {
			if min(w[0], w[1]) < 0 || max(w[0], w[1]) > maxWeight || w[0]+w[1] == 0 {
				return nil, errShape
			}
		}
		out = append(out, Top{Plan: &price.Quote{Price: t.Price, Mechanism: price.Mechanism(t.Mechanism), Loss: t.Loss, UnitsFromSelection: -1,
			Measures: t.Events}, Weights: t.Weights})
	}
	return out, nil
}

// group reads keys of these types.
func (sg *storedGroup) group(types []sqltype.Type) (Group, error) {
	if len(sg.Keys) != len(types) {
		return Group{}, errShape
	}
	g := Group{Keys: make([]sqltype.Value, len(sg.Keys)), Values: sg.Values, Trees: sg.Trees, Picks: sg.Picks}
	for k, text := range sg.Keys {
		if text == nil {
			continue
		}
		v, err := sqltype.ParseText(*text, types[k])
		if err != nil {
			return g, err
		}
		g.Keys[k] = v
	}
	return g, nil
}

// readAdjusted is the last that is read.
func (r *Release) readAdjusted(d *Adjusted, measures int) error {
	if r.Adjusted = d; d != nil && !d.fits(len(r.Groups), measures) {
		return errShape
	}
	return nil
}
