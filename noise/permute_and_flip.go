package noise

import (
	"errors"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// PermuteAndFlip runs permute-and-flip over numbers of rows of a fixed number of candidates. It is for one goroutine.
type PermuteAndFlip struct {
	event      dp.Picks
	source     *Source
	candidates int
	ahead      []flips
}

// flips are one pick's randomness: an order of the candidates, and how many rows fewer than the most each may have.
type flips struct{ order, reach []int64 }

// picksAhead are drawn at once.
const picksAhead = 4

// PermuteAndFlip makes the mechanism of an event, for that many candidates; its first randomness is drawn now.
func (s *Source) PermuteAndFlip(ev dp.Picks, candidates int) (*PermuteAndFlip, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if candidates < 1 {
		return nil, errors.New("noise: there is nothing to pick")
	}
	p := &PermuteAndFlip{event: ev, source: s, candidates: candidates}
	return p, p.draw()
}

func (p *PermuteAndFlip) draw() error {
	for range picksAhead {
		f := flips{make([]int64, p.candidates), make([]int64, p.candidates)}
		for i := range f.order {
			f.order[i] = int64(i)
		}
		at := make([]int64, 1)
		for i := p.candidates - 1; i > 0; i-- { // Fisher-Yates
			if err := p.source.fill(uniformLaw{n: uint64(i) + 1}, at); err != nil {
				return err
			}
			f.order[i], f.order[at[0]] = f.order[at[0]], f.order[i]
		}
		if err := p.source.fill(geometricLaw{newLaplace(p.event.Scale)}, f.reach); err != nil {
			return err
		}
		p.ahead = append(p.ahead, f)
	}
	return nil
}

// Most gives the indexes of k candidates, one pick after the other, each among those that were not picked before.
//
// Proof: claim: each pick is PerGroup/b-DP, b the Scale, where one unit more raises each number by at most PerGroup and lowers none; k of them are k PerGroup/b-DP by composition. Permute-and-flip (McKenna, Sheldon,
// "Permute-and-Flip: a new mechanism for differentially private selection", NeurIPS 2020) goes through the candidates in a random order and takes the first, r, for which an event of probability exp(-(m - q_r)/b) happens, m the
// largest number. (1) The order is uniform (Fisher-Yates over exact uniform numbers). (2) The event is reach_r >= m - q_r for an independent reach with P(reach >= n) = exp(-n/b), whole n >= 0. The candidate with m is
// always taken when it is reached, so one is. (3) What was picked before is left out of the order and of m: a function of released values. (4) The law is that of the largest of q_r + z_r with independent exponential z_r of mean b (Ding,
// Kifer, Saghaian, Steinke, Wang, Xiao, Zhang, "The permute-and-flip mechanism is identical to report-noisy-max with exponential noise", 2021). Given all other z, r is the largest where z_r >= t for t the largest of the others less q_r. With one unit more q_r does not fall and the
// others rise by PerGroup at most, so t rises by PerGroup at most; with one less the same holds, as q_r falls by PerGroup at most and the others do not rise. P(z >= t + d) >= exp(-d/b) P(z >= t) for every t and d >= 0, so
// P(r) falls by a factor of exp(-PerGroup/b) at most: monotone numbers need no factor 2. (5) Nothing else of the numbers leaves. The randomness of picks is drawn ahead and used once.
func (p *PermuteAndFlip) Most(rows []int64, k int) ([]int, error) {
	if p == nil || p.source == nil || len(rows) != p.candidates || k < 1 || k > p.candidates {
		return nil, errors.New("noise: a pick has other candidates")
	}
	for _, n := range rows {
		if n < 0 {
			return nil, errors.New("noise: fewer than no rows")
		}
	}
	gone := make([]bool, len(rows))
	var out []int
	for range k {
		if len(p.ahead) == 0 {
			if err := p.draw(); err != nil {
				return nil, err
			}
		}
		f := p.ahead[len(p.ahead)-1]
		p.ahead = p.ahead[:len(p.ahead)-1]
		most := int64(-1)
		for i, n := range rows {
			if !gone[i] {
				most = max(most, n)
			}
		}
		found := -1
		for _, r := range f.order { // all of them: the time does not tell which one is taken
			if found < 0 && !gone[r] && f.reach[r] >= most-rows[r] {
				found = int(r)
			}
		}
		gone[found] = true
		out = append(out, found)
	}
	return out, nil
}

// Event is what is run, for the ledger.
func (p *PermuteAndFlip) Event() dp.Picks { return p.event }
