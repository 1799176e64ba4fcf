package engine

import (
	"context"
	"runtime"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// stagedStatement is a private statement that is analysed, bounded and printed, but not priced for good: earlier releases may change that.
type stagedStatement struct {
	*statement
	program   *divide.Program
	stages    []*stage
	public    map[plan.Rel]*sqlgen.Statement // the public relations that its answer is computed from
	inBackend *backendFinishing              // set where its answer is computed by the database, from given rows
	shown     *displayed                     // how its values are shown; nil: as they are
	outer     []string                       // warnings of limits that no value meets, and of conditions outside of the groups that they are on
	read      func()                         // gives back the turn that its run has for stored releases (reading); nil: it has none
}

// hasPublicInputs says that groups or bounds follow from public tables, which were read when it was analysed.
func (p *stagedStatement) hasPublicInputs() bool {
	return slices.ContainsFunc(p.stages, func(st *stage) bool {
		return len(st.an.Multiplicities) > 0 || slices.ContainsFunc(st.an.Groups.Sources, func(s sensitivity.Source) bool { return s.Table != nil })
	})
}

// within are the limits of finishing.
func (p *stagedStatement) within() eval.Limits {
	l := p.world.policy.Limits
	return eval.Limits{Held: int(l.FinishingMemory), Sort: p.onDisk()}
}

// sortMemory is what one sort holds before it writes.
const sortMemory = 16 << 20

// onDisk are the limits of a file without a name.
func (p *stagedStatement) onDisk() spool.Limits {
	return spool.Limits{Dir: p.session.engine.ledger.Scratch(), Memory: sortMemory, File: p.world.policy.Limits.ReleaseBytes}
}

// spooling are those of a stage's release of many groups, or of more bytes than the ledger stores in one piece.
func (p *stagedStatement) spooling(st *stage) spool.Limits {
	l := p.onDisk()
	l.Items = int(p.world.policy.Limits.SpoolGroups)
	if g := st.an.Groups; g.Public && g.Count > 1 {
		if _, spooled := release.PublicBytes(st.an, uint64(l.Items)); spooled { //nolint:gosec // not negative
			l.Items = min(l.Items, int(g.Count-1)) //nolint:gosec // at most limits.release_groups
		}
	}
	return l
}

// releaseGroups limits a release, which is held in memory.
func (p *stagedStatement) releaseGroups() int { return int(p.world.policy.Limits.ReleaseGroups) }

// smallPayload is the length up to which a stored release is decoded at once: about a thousand groups.
const smallPayload = 64 << 10

// reading takes a turn for a run that is about to decode so many bytes of stored releases, which memory then holds ten times over: of one analyst as many at once as read the database, or as there are
// cores. Who holds one may wait for a turn at the database, whose holders wait for none of these, and for no other run: it is given back before (releaseTurn).
func (p *stagedStatement) reading(ctx context.Context, bytes int) (err error) {
	if bytes <= smallPayload || p.read != nil {
		return nil
	}
	s := p.session
	most := max(int(s.world.policy.Limits.StatementsAtOnce), runtime.GOMAXPROCS(0))
	if p.read, err = s.engine.decoding.take(ctx, s.analyst.Name, most); err != nil {
		return s.uncharged(ctx, err)
	}
	return nil
}

// releaseTurn ends it.
func (p *stagedStatement) releaseTurn() {
	if p.read != nil {
		p.read()
		p.read = nil
	}
}

// merged adds gaps that are not listed yet.
func merged(list, more []sqlgen.Gap) []sqlgen.Gap {
	for _, g := range more {
		if !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// gaps are what the statement's total forms leave out.
func (p *stagedStatement) gaps() (list []sqlgen.Gap) {
	for _, st := range p.stages {
		list = merged(list, st.gaps)
	}
	return list
}

// analyses are those of all releases.
func (p *stagedStatement) analyses() []*sensitivity.Analysis {
	list := make([]*sensitivity.Analysis, len(p.stages))
	for i, st := range p.stages {
		list[i] = st.an
	}
	return list
}

// hasNoisyRowChoice reports an answer in which noisy numbers choose what is shown: as the statement says, or dpsql.on_low_count.
func (p *stagedStatement) hasNoisyRowChoice() bool {
	return p.canHideLow() || p.program.HasNoisyRowChoice()
}

// canHideLow: dpsql.on_low_count hides some of the answer's values.
func (p *stagedStatement) canHideLow() bool {
	return p.shown != nil && p.shown.low != lowKeep && slices.ContainsFunc(p.shown.marks, func(m displayColumn) bool { return m.of != 0 })
}

// averaged is the measure whose range an average has; nil where it has none, and of other aggregates.
func (p *stagedStatement) averaged(agg plan.ColID) *sensitivity.Measure {
	for _, st := range p.stages {
		for _, f := range st.an.Formulas {
			if f.Agg == agg && f.Kind == sensitivity.IsAvg {
				return &st.an.Measures[f.Sum]
			}
		}
	}
	return nil
}

func (p *stagedStatement) simultaneousRows(list ...*release.Release) int {
	if !p.session.now.simultaneous && !p.hasNoisyRowChoice() {
		return 1
	}
	n := 0
	for _, r := range list {
		n += r.Len()
	}
	if k, ok := p.candidates(list); ok {
		n = min(n, k)
	}
	return max(1, n)
}

// candidates is in how many rows intervals shall hold at once where those that are first by an aggregate are shown; false where more than that chooses rows.
func (p *stagedStatement) candidates(list []*release.Release) (int, bool) {
	if p.session.now.simultaneous || p.canHideLow() || p.world.policy.Query.MinPeople > 0 || len(list) != 1 || len(p.stages) != 1 {
		return 0, false
	}
	first, ok := p.program.NoisyRowChoice()
	if !ok {
		return 0, false
	}
	k, err := finish.Candidates(context.Background(), p.stages[0].an, list[0], first)
	return k, err == nil
}
