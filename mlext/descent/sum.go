// Package descent trains by noisy gradients: the sum of clipped gradients of a Poisson sample of units, plus normal noise, step after step.
package descent

import (
	"math"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
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
	table *data.Table
	loss  *loss.Loss
	clip  float64
	noise adder
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
// Proof: the gradient is the outer product of the row x and the residual r, so its norm is |x| |r|. r is scaled by at most clip/(|x| |r|), less 2^-40 for rounding, and cut towards zero to whole steps of clip/residualSteps:
// the product's norm is at most residualSteps |x| |r'|/clip in residual steps, that is Unit in steps of both; and x lies on data.Step's grid, so each entry is a whole number. A residual that is no number, or not finite once scaled, counts as 0 (whole). How exact the scores are does not matter: they are a function of the row and theta, and whatever residual they give is clipped.
func (s *summer) one(theta []float64, units []int32, sum []float64) {
	rows, within, together := s.table.Cursor(), 0.0, s.table.OnDisk() == 0
	defer rows.Close()
	c := s.clipper(theta)
	between, left := data.Between(2*len(theta)), 0
	for len(units) > 0 {
		if left <= 0 {
			if left = between; !s.continueCheck.CanContinue() {
				return
			}
		}
		if n := kernel.Rows; together && c.k == 1 && len(units) >= n { // rows that are in memory stay where they are
			var xs [kernel.Rows][]float32
			var rs [kernel.Rows]float64
			for i, u := range units[:n] {
				xs[i] = rows.Row(int(u))
				within += c.row(xs[i], int(u))
				rs[i] = c.z[0]
			}
			kernel.AxpyRows(&rs, &xs, sum)
			units, left = units[n:], left-n
			continue
		}
		x := rows.Row(int(units[0]))
		within += c.row(x, int(units[0]))
		c.add(x, sum)
		units, left = units[1:], left-1
	}
	for j := range sum {
		sum[j] /= data.Step // a power of 2: exact
	}
	s.counts(within, sum)
}

// clipper makes rows' residuals, clipped.
type clipper struct {
	s      *summer
	theta  []float64
	single []float32 // theta
	k      int
	z      []float64
}

func (s *summer) clipper(theta []float64) *clipper {
	c := &clipper{s: s, theta: theta, k: s.loss.Outputs, z: make([]float64, s.loss.Outputs)}
	if c.k == 1 {
		c.single = make([]float32, len(theta))
		for j, v := range theta {
			c.single[j] = float32(v)
		}
	}
	return c
}

// row puts the clipped residuals of a row into z, in whole steps; 1 if it was within the clip.
func (c *clipper) row(x []float32, i int) (within float64) {
	s, y := c.s, c.s.table.Target(i)
	norm := 0.0
	if c.k == 1 {
		c.z[0] = s.loss.Residual(kernel.DotSingle(x, c.single), y)
		norm = math.Abs(c.z[0])
	} else {
		kernel.Scores(x, c.theta, c.z)
		s.loss.Residuals(c.z, y)
		for _, r := range c.z {
			norm += r * r
		}
		norm = math.Sqrt(norm)
	}
	long := norm * s.table.Norm(i) / s.clip
	if math.IsNaN(long) { // of parameters that left all bounds: the row adds nothing
		clear(c.z)
		return counted(0)
	}
	by := residualSteps / s.clip * s.factor(long)
	for j, r := range c.z {
		c.z[j] = whole(r * by)
	}
	return counted(long)
}

// whole cuts a scaled entry towards zero to whole steps. One that is not finite becomes 0, which is within any bound: as it is it would end the training, for the sake of its row.
func whole(v float64) float64 {
	if !(math.Abs(v) <= math.MaxFloat64) {
		return 0
	}
	return math.Trunc(v)
}

// add adds the product of a row and z.
func (c *clipper) add(x []float32, sum []float64) {
	if c.k == 1 {
		kernel.Axpy(c.z[0], x, sum)
	} else {
		kernel.Outer(x, c.z, sum)
	}
}

// several adds the gradients of units of several rows, each unit's sum clipped once.
//
// Proof: the unit's gradient is summed up, scaled by at most clip/|g|, less 2^-40 for rounding, and cut towards zero to whole steps, which makes no entry larger. One that is no number, or not finite once scaled, counts as 0 (whole). A unit that has one row adds what it adds in one.
func (s *summer) several(theta []float64, units []int32, sum []float64) {
	k := s.loss.Outputs
	z, g, rows, within := make([]float64, k), make([]float64, len(theta)), s.table.Cursor(), 0.0
	defer rows.Close()
	c, ones := s.clipper(theta), make([]float64, len(theta))
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
			within += c.row(x, from)
			c.add(x, ones)
			continue
		}
		clear(g)
		for i := from; i < to; i++ {
			if !goOn() {
				return
			}
			x := rows.Row(i)
			kernel.Scores(x, theta, z)
			s.loss.Residuals(z, s.table.Target(i))
			kernel.Outer(x, z, g)
		}
		norm2 := 0.0
		for _, v := range g {
			norm2 += v * v
		}
		long := math.Sqrt(norm2) / s.clip
		if math.IsNaN(long) {
			within += counted(0)
			continue
		}
		by := Unit / s.clip * s.factor(long)
		within += counted(long)
		for j, v := range g {
			sum[j] += whole(v * by)
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
