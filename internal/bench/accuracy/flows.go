package main

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// flows draws answers of one number over rows of two units, as release does but for that the graph is made once, and each flow is computed once.
type flows struct {
	analysis *sensitivity.Analysis
	plan     *measure.Plan
	graph    *flow.Graph
	scores   []int64
	values   map[uint64]int64
}

func (s *scan) flows() (*flows, error) {
	if len(s.Analysis.Measures) != 1 || len(s.Analysis.Keys) > 0 || len(s.Plan.Choices) != 1 {
		return nil, errors.New("flows are drawn of one number")
	}
	var p flow.Pairs
	var units [2]map[sqltype.Value]int32
	for _, row := range s.first.rows {
		var at [2]int32
		var weight int64
		for i, c := range s.first.st.Columns {
			v := secret.Open(row[i])
			switch c.Role {
			case sqlgen.RoleUnit:
				if units[c.Index] == nil {
					units[c.Index] = map[sqltype.Value]int32{}
				}
				n, known := units[c.Index][v]
				if !known {
					n = int32(len(units[c.Index]))
					units[c.Index][v] = n
				}
				at[c.Index] = n
			case sqlgen.RoleMeasure:
				w, ok := v.(int64)
				if !ok {
					return nil, fmt.Errorf("a weight of type %T", v)
				}
				weight = w
			}
		}
		if err := p.Add(at[0], at[1], weight); err != nil {
			return nil, err
		}
	}
	s.first.rows = nil // millions
	graphs, err := p.Graphs()
	if err != nil || len(graphs) != 1 {
		return nil, fmt.Errorf("%d graphs: %w", len(graphs), err)
	}
	return &flows{analysis: s.Analysis, plan: s.Plan, graph: graphs[0], values: map[uint64]int64{}}, nil
}

// errors draws relative errors, and the caps that were chosen.
func (f *flows) errors(n int, exact float64) (out []float64, caps [][]float64, err error) {
	a, plan, src := f.analysis, f.plan, noise.NewSource()
	m, c := a.Measures[0], a.Choices[0]
	edges := c.Edges[:plan.Choices[0].Edges]
	for range n {
		chooser, err := src.Chooser(plan.Choices[0], edges)
		if err != nil {
			return nil, nil, err
		}
		if f.scores == nil {
			if f.scores, err = flow.Scores([]*flow.Graph{f.graph}, edges, a.Limit.PerUnit, chooser.Most()); err != nil {
				return nil, nil, err
			}
		}
		at, err := chooser.ChooseSteps(f.scores)
		if err != nil {
			return nil, nil, err
		}
		run, err := plan.Resolve(a, measure.Chosen{at})
		if err != nil {
			return nil, nil, err
		}
		mechanism, err := src.Mechanism(run.Measures[0])
		if err != nil {
			return nil, nil, err
		}
		limit := m.Clip(edges[at])
		value, known := f.values[limit]
		if !known {
			value = f.graph.Value(int64(limit))
			f.values[limit] = value
		}
		noisy, err := mechanism.Add(big.NewInt(value))
		if err != nil {
			return nil, nil, err
		}
		answer, _ := new(big.Float).SetInt(noisy).Float64()
		grid := m.Grid.InexactFloat64()
		out = append(out, math.Abs(answer*grid-exact)/exact)
		caps = append(caps, []float64{float64(limit) * grid})
	}
	return out, caps, nil
}
