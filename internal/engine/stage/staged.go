package stage

import (
	"context"
	"runtime"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Staged is a private statement that is analysed, bounded and printed, but not priced for good: earlier releases may change that.
type Staged struct {
	*session.Statement
	Program          *divide.Program
	Stages           []*Stage
	PublicStatements map[plan.Rel]*sqlgen.Statement // the public relations that its answer is computed from
	InBackend        *BackendFinishing              // set where its answer is computed by the database, from given rows
	Shown            *Displayed                     // how its values are shown; nil: as they are
	Outer            []string                       // warnings of limits that no value meets, and of conditions outside of the groups that they are on
	PublicBy         []string                       // of totals over groups that may not be shown: conditions of WHERE that make the groups public; nil: none does
	read             func()                         // gives back the turn that its run has for stored releases (reading); nil: it has none
}

// HasPublicInputs says that groups or bounds follow from public tables, which were read when it was analysed.
func (p *Staged) HasPublicInputs() bool {
	return slices.ContainsFunc(p.Stages, func(st *Stage) bool {
		return len(st.An.Multiplicities) > 0 || slices.ContainsFunc(st.An.Measures, func(m sensitivity.Measure) bool { return m.ValuesOf != nil }) || slices.ContainsFunc(st.An.Groups.Sources, func(s sensitivity.Source) bool { return s.Table != nil })
	})
}

// Within are the limits of finishing.
func (p *Staged) Within() eval.Limits {
	l := p.World.Policy.Limits
	return eval.Limits{Held: int(l.FinishingMemory), Sort: p.onDisk()}
}

// sortMemory is what one sort holds before it writes.
const sortMemory = 16 << 20

// onDisk are the limits of a file without a name.
func (p *Staged) onDisk() spool.Limits {
	return spool.Limits{Dir: p.Session.Engine.Ledger.Scratch(), Memory: sortMemory, File: p.World.Policy.Limits.ReleaseBytes}
}

// Spooling are those of a stage's release of many groups, or of more bytes than the ledger stores in one piece.
func (p *Staged) Spooling(st *Stage) spool.Limits {
	l := p.onDisk()
	l.Items = int(p.World.Policy.Limits.SpoolGroups)
	if g := st.An.Groups; g.Public && g.Count > 1 {
		if _, spooled := release.PublicBytes(st.An, uint64(l.Items)); spooled { //nolint:gosec // not negative
			l.Items = min(l.Items, int(g.Count-1)) //nolint:gosec // at most limits.release_groups
		}
	}
	return l
}

// ReleaseGroups limits a release, which is held in memory.
func (p *Staged) ReleaseGroups() int { return int(p.World.Policy.Limits.ReleaseGroups) }

// smallPayload is the length up to which a stored release is decoded at once: about a thousand groups.
const smallPayload = 64 << 10

// Reading takes a turn for a run that is about to decode so many bytes of stored releases, which memory then holds ten times over: of one analyst as many at once as read the database, or as there are
// cores. Who holds one may wait for a turn at the database, whose holders wait for none of these, and for no other run: it is given back before (ReleaseTurn).
func (p *Staged) Reading(ctx context.Context, bytes int) (err error) {
	if bytes <= smallPayload || p.read != nil {
		return nil
	}
	s := p.Session
	most := max(int(s.World.Policy.Limits.StatementsAtOnce), runtime.GOMAXPROCS(0))
	if p.read, err = s.Engine.Queues.Decoding.Take(ctx, s.Analyst.Name, most); err != nil {
		return s.Uncharged(ctx, err)
	}
	return nil
}

// ReleaseTurn ends it.
func (p *Staged) ReleaseTurn() {
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

// Gaps are what the statement's total forms leave out.
func (p *Staged) Gaps() (list []sqlgen.Gap) {
	for _, st := range p.Stages {
		list = merged(list, st.gaps)
	}
	return list
}

// Analyses are those of all releases.
func (p *Staged) Analyses() []*sensitivity.Analysis {
	list := make([]*sensitivity.Analysis, len(p.Stages))
	for i, st := range p.Stages {
		list[i] = st.An
	}
	return list
}

// HasNoisyRowChoice reports an answer in which noisy numbers choose what is shown: as the statement says, or dpsql.on_low_count.
func (p *Staged) HasNoisyRowChoice() bool {
	return p.canHideLow() || p.Program.HasNoisyRowChoice()
}

// canHideLow: dpsql.on_low_count hides some of the answer's values.
func (p *Staged) canHideLow() bool {
	return p.Shown != nil && p.Shown.Low != session.LowKeep && slices.ContainsFunc(p.Shown.Marks, func(m DisplayColumn) bool { return m.Of != 0 })
}

// Averaged is the measure whose range an average has; nil where it has none, and of other aggregates.
func (p *Staged) Averaged(agg plan.ColID) *sensitivity.Measure {
	for _, st := range p.Stages {
		for _, f := range st.An.Formulas {
			if f.Agg == agg && f.Kind == sensitivity.IsAvg {
				return &st.An.Measures[f.Sum]
			}
		}
	}
	return nil
}

// SimultaneousRows is in how many rows the intervals of an answer of these releases hold at once.
func (p *Staged) SimultaneousRows(list ...*release.Release) int {
	if !p.Session.Now.Simultaneous && !p.HasNoisyRowChoice() {
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

// ExpectedRows is SimultaneousRows of a stage's release that is still to be made, and of those of the answer's other stages: as many as an earlier one has, else as there are public groups; none are added where neither is known.
func (p *Staged) ExpectedRows(a *sensitivity.Analysis, old *release.Release) int {
	if !p.Session.Now.Simultaneous && !p.HasNoisyRowChoice() {
		return 1
	}
	public := func(a *sensitivity.Analysis) int {
		if a.Groups.Public {
			return int(a.Groups.Count)
		}
		return 0
	}
	n := public(a)
	if old != nil {
		n = p.SimultaneousRows(old)
	}
	if of := p.answering(); len(of) > 1 {
		for _, st := range of {
			if st.An != a {
				n += public(st.An)
			}
		}
	}
	return max(1, n)
}

// answering are the stages that the answer is computed from, one of each release.
func (p *Staged) answering() (list []*Stage) {
	for _, l := range p.Program.Answer.Leaves {
		for _, of := range l.Parts {
			if st := p.Stages[p.Stages[of.Stage].As]; !slices.Contains(list, st) {
				list = append(list, st)
			}
		}
	}
	return list
}

// candidates is in how many rows intervals shall hold at once where those that are first by an aggregate are shown; false where more than that chooses rows.
func (p *Staged) candidates(list []*release.Release) (int, bool) {
	if p.Session.Now.Simultaneous || p.canHideLow() || p.World.Policy.Query.MinPeople > 0 || len(list) != 1 || len(p.Stages) != 1 {
		return 0, false
	}
	first, ok := p.Program.NoisyRowChoice()
	if !ok {
		return 0, false
	}
	k, err := finish.Candidates(context.Background(), p.Stages[0].An, list[0], first)
	return k, err == nil
}
