// Package descent trains by noisy gradients: the sum of clipped gradients of a Poisson sample of units, plus normal noise, step after step.
package descent

import (
	"math"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/noise"
)

// Unit is the clip in steps of the lattice that sums of gradients lie on: a step is clip/Unit.
const Unit = 1 << 30

// residualSteps is the clip in steps of a residual: with data.Step it makes Unit.
const residualSteps = Unit * data.Step

// mostUnits of a part keep its sums below 2^53 steps, where float64 is exact.
const mostUnits = 1 << 22

// summer is the one way from private rows to a released gradient: clip, sum, noise.
type summer struct {
	table   *data.Table
	learner Learner
	clip    float64
	noise   adder
	// automatic clips so (factor); count, if not 0, is how many steps a unit adds to the count of those within the clip, which is the last of the totals, and within the last released one, in units.
	automatic     bool
	count         int64
	within        float64
	continueCheck *data.ContinueCheck // between rows
}

// adder adds noise to whole numbers, in place: noise.Normal, or what a test puts there.
type adder interface{ Add(totals []int64) error }

var _ adder = (*noise.Normal)(nil)

// leastParts is into how many ranges a batch is split, if it is not so large that they must be more; sums are exact, so it does not change them.
const leastParts = 8

// step releases the sum of the clipped gradients of a batch of units at theta, plus noise, in units of the loss.
//
// Proof: claim: before noise a unit changes the vector of totals by a vector of norm at most Unit, and the totals are exact, whatever their order. (1) Each unit of the batch adds one integer vector, that of one or of several below, a function of that unit's rows and theta. (2) Its norm
// is at most Unit there. (3) At most 2^22 of them add up in a part, so its sums are whole numbers below 2^53, which float64 holds; parts are added as integers, of fewer than 2^31 units in all (package data). (4) An empty batch has totals 0 and takes noise as any other. So totals plus normal noise of deviation z Unit is, given the sample, the Gaussian mechanism of multiplier z
// rounded to the lattice (noise.Normal), with neighbours that differ by one unit added or removed.
func (s *summer) step(theta []float64, batch []int32) ([]float64, error) {
	totals, err := s.totals(theta, batch)
	if err != nil {
		return nil, err
	}
	if err := s.noise.Add(totals); err != nil {
		return nil, err
	}
	if s.count > 0 {
		s.within = float64(totals[len(theta)]) / float64(s.count)
	}
	out := make([]float64, len(theta))
	for j, t := range totals[:len(theta)] {
		out[j] = float64(t) * (s.clip / Unit)
	}
	return out, nil
}

// totals is the sum without noise, in steps.
func (s *summer) totals(theta []float64, batch []int32) ([]int64, error) {
	size := len(theta)
	if s.count > 0 {
		size++
	}
	sums := s.split(size, batch, func(units []int32, sum []float64) {
		if s.table.HasUnitPerRow() {
			s.one(theta, units, sum)
		} else {
			s.several(theta, units, sum)
		}
	})
	if err := s.continueCheck.Err(); err != nil {
		return nil, err
	}
	totals := make([]int64, size)
	for _, sum := range sums {
		for j, v := range sum {
			totals[j] += int64(v)
		}
	}
	return totals, nil
}

// split adds parts of a batch up at once.
func (s *summer) split(size int, batch []int32, add func(units []int32, sum []float64)) [][]float64 {
	parts := max(leastParts, (len(batch)+mostUnits-1)/mostUnits)
	sums := make([][]float64, parts)
	data.Parts(parts, func(part int) {
		sums[part] = make([]float64, size)
		add(batch[part*len(batch)/parts:(part+1)*len(batch)/parts], sums[part])
	})
	return sums
}

// one adds the gradients of units of one row, in steps of the lattice.
//
// Proof: claim: a unit adds whole steps, a vector of norm at most Unit. The gradient is a sum of outer products a r, one a layer, of what the layer reads and its residual: they are entries of their own, so the gradient's norm is the root of the sum of (|a| |r|)^2.
// (1) All residuals are scaled by one factor, so that this is at most Unit, less 2^-40 for rounding, and then cut towards zero to whole steps of clip/residualSteps (Gradient.Scale), which makes none larger. (2) What a layer reads lies on data.Step's grid, so each entry of a product is a whole number of both steps, which make Unit.
// (3) A residual that is no number, or not finite once scaled, counts as 0 (Whole), and so do all residuals of a row whose norm is no number. How exact the scores are does not matter: they are a function of the row and theta, and whatever residual they give is clipped.
func (s *summer) one(theta []float64, units []int32, sum []float64) {
	rows, within, together := s.table.Cursor(), 0.0, s.table.OnDisk() == 0
	defer rows.Close()
	g := s.learner.At(theta)
	single, _ := g.(*linearGradient)
	together = together && single != nil && single.single != nil
	between, left := data.Between(2*len(theta)), 0
	for len(units) > 0 {
		if left <= 0 {
			if left = between; !s.continueCheck.CanContinue() {
				return
			}
		}
		if n := kernel.Rows; together && len(units) >= n { // rows that are in memory stay where they are
			var xs [kernel.Rows][]float32
			var rs [kernel.Rows]float64
			for i, u := range units[:n] {
				xs[i] = rows.Row(int(u))
				within += s.clipped(g, xs[i], int(u))
				rs[i] = single.residuals[0]
			}
			kernel.AxpyRows(&rs, &xs, sum)
			units, left = units[n:], left-n
			continue
		}
		x := rows.Row(int(units[0]))
		within += s.clipped(g, x, int(units[0]))
		g.Add(x, sum)
		units, left = units[1:], left-1
	}
	for j := range sum {
		sum[j] /= data.Step // a power of 2: exact
	}
	s.counts(within, sum)
}

// clipped puts the clipped gradient of a row into g, in whole steps of residuals; 1 if it was within the clip.
func (s *summer) clipped(g Gradient, x []float32, i int) (within float64) {
	long := g.Row(x, s.table.Norm(i), s.table.Target(i)) / s.clip
	if math.IsNaN(long) { // of parameters that left all bounds: the row adds nothing
		g.Scale(0)
		return counted(0)
	}
	g.Scale(residualSteps / s.clip * s.factor(long)) // (1) no residual is larger than the clip's steps
	return counted(long)
}

// several adds the gradients of units of several rows, each unit's sum clipped once.
//
// Proof: the unit's gradient is summed up, scaled by at most clip/|g|, less 2^-40 for rounding, and cut towards zero to whole steps, which makes no entry larger. One that is no number, or not finite once scaled, counts as 0 (Whole). A unit that has one row adds what it adds in one.
func (s *summer) several(theta []float64, units []int32, sum []float64) {
	all, rows, within := make([]float64, len(theta)), s.table.Cursor(), 0.0
	defer rows.Close()
	g, ones := s.learner.At(theta), make([]float64, len(theta))
	between, left := data.Between(2*len(theta)), 0
	goOn := func() bool {
		if left--; left < 0 {
			left = between - 1
			return s.continueCheck.CanContinue()
		}
		return true
	}
	for _, u := range units {
		from, to := s.table.Unit(int(u))
		if to == from+1 {
			if !goOn() {
				return
			}
			x := rows.Row(from)
			within += s.clipped(g, x, from)
			g.Add(x, ones)
			continue
		}
		clear(all)
		for i := from; i < to; i++ {
			if !goOn() {
				return
			}
			x := rows.Row(i)
			g.Row(x, s.table.Norm(i), s.table.Target(i))
			g.Add(x, all)
		}
		long := math.Sqrt(kernel.Squares(all)) / s.clip
		if math.IsNaN(long) {
			within += counted(0)
			continue
		}
		Whole(all, Unit/s.clip*s.factor(long))
		within += counted(long)
		for j, v := range all {
			sum[j] += v
		}
	}
	for j, v := range ones {
		sum[j] += v / data.Step // a power of 2: exact
	}
	s.counts(within, sum)
}

// counts puts the count of units within the clip at the end of the sums, where it is asked for: a whole number of steps.
func (s *summer) counts(within float64, sum []float64) {
	if s.count > 0 {
		sum[len(sum)-1] = within * float64(s.count)
	}
}
