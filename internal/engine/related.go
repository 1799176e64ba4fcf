package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// What is computed from a stored release of another question: fewer measures, some of its public groups, or sums of them.

// mostRelated is how many stored releases are looked at for one question, the dearest first.
const mostRelated = 16

// maxReusableGroups is how many groups a release has at most that others are computed from: it is read as a whole.
const maxReusableGroups = 10_000

// reuseCandidate is what a stage's releases are related to; nil where they read others, or where no release can be computed from another.
func (p *stagedStatement) reuseCandidate(st *stage, args []sqltype.Value) *sensitivity.ReuseCandidate {
	if len(st.inputs) > 0 {
		return nil
	}
	k, ok := sensitivity.NewReuseCandidate(st.an, args)
	if !ok {
		return nil
	}
	return k
}

// family names a family among the stored releases of a policy and a time zone.
func (p *stagedStatement) family(text string) ledger.Hash {
	zone := ""
	if p.query.Zoned {
		zone = p.values.Zone.String()
	}
	return sha256.Sum256(fmt.Appendf(nil, "dpsql family 4\n%q %q\n%s", p.world.catalogs.Epoch(), zone, text))
}

// related puts into a release that will be stored what others need to be computed from it, and names its family, or that of its scale; zero: none.
func (r *run) related(a *stageRun) ledger.Hash {
	if a.release.IsOnDisk() || len(a.release.Groups) > maxReusableGroups {
		return ledger.Hash{}
	}
	k := r.reuseCandidate(a.stage, a.args)
	if k == nil {
		return r.scaleOf(a.stage, a.args)
	}
	a.release.Shape = k.Shape()
	return r.family(k.Family())
}

// relative is a stage's release, computed from a stored one of another question.
type relative struct {
	release *release.Release
	of      int64   // that one's reservation
	noise   float64 // logNoise
	paired  bool    // sums are computed from pairs: it is of another analysis than the stage's own, whose measures' errors cannot be compared with its
}

// relatives are the releases that are computed from those at good prices, those with the least noise first; after them those with sums from pairs.
//
// Proof: post-processing of releases that this analyst may be given (Ledger.Related), and whose columns they may read now; which of them, and in which order, follows from what is stored, for whom and when, and from scales, never from
// private rows.
func (p *stagedStatement) relatives(ctx context.Context, st *stage, args []sqltype.Value, good func(price float64) bool) (out []relative, err error) {
	k := p.reuseCandidate(st, args)
	if k == nil {
		return nil, nil
	}
	var families []ledger.Hash
	for _, text := range k.Families() {
		families = append(families, p.family(text))
	}
	list, err := p.session.engine.ledger.Related(ctx, families, p.session.analyst.Name, mostRelated)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, p.session.ledgerFailed(err)
	}
	if i := slices.IndexFunc(list, func(one ledger.Stored) bool { return !good(one.Price) }); i >= 0 {
		list = list[:i]
	}
	bytes := 0
	for _, one := range list {
		bytes += len(one.Payload)
	}
	if err := p.reading(ctx, bytes); err != nil {
		return nil, err
	}
	for _, one := range list {
		old, err := release.DecodeRelated(one.Payload)
		if err != nil {
			return nil, p.session.ledgerFailed(err)
		}
		if old == nil || !p.canRead(old.Shape.Reads) {
			continue
		}
		r, an := computedFrom(k, old)
		if r == nil || !hasPublicGroups(an, r) {
			continue
		}
		noise, err := logNoise(an, r)
		if err != nil {
			return nil, err
		}
		if noise < math.Inf(1) {
			out = append(out, relative{r, one.Reservation, noise, an != st.an})
		}
	}
	slices.SortStableFunc(out, func(a, b relative) int {
		if a.paired != b.paired {
			return map[bool]int{true: 1, false: -1}[a.paired]
		}
		return cmp.Compare(a.noise, b.noise)
	})
	return out, nil
}

// computed is a release that is computed from a stored one of another question: of those that were made at a price that the question asks for, that with the least noise; nil if there is none. exact is a
// release of the question itself, made at less, that has to err more. Where an error was asked for there is none: solveForTargetError has looked.
func (p *run) computed(ctx context.Context, a *stageRun, exact *release.Release) (*release.Release, int64, error) {
	if a.targetNote != "" {
		return nil, 0, nil
	}
	list, err := p.relatives(ctx, a.stage, a.args, func(price float64) bool { return !a.request.IsWorthTopUp(price) })
	if err != nil {
		return nil, 0, err
	}
	for _, one := range list {
		if one.paired {
			if exact != nil {
				continue
			}
			return one.release, one.of, nil
		}
		enough, err := errsLess(a.an, one.release, exact)
		if err != nil {
			return nil, 0, err
		}
		if enough {
			return one.release, one.of, nil
		}
	}
	return nil, 0, nil
}

// canRead: the analyst sees these columns.
func (p *stagedStatement) canRead(columns []string) bool {
	for _, name := range columns {
		parts := strings.SplitN(name, ".", 3)
		if len(parts) != 3 {
			return false
		}
		t, ok := p.session.catalog.Table(parts[0], parts[1])
		if !ok {
			return false
		}
		seen := false
		for _, c := range t.Columns {
			seen = seen || c.Visible && c.Name == parts[2]
		}
		if !seen {
			return false
		}
	}
	return true
}

// computedFrom computes a stage's release from another one, and gives the analysis that it is of; nil where that does not say it.
func computedFrom(k *sensitivity.ReuseCandidate, old *release.Release) (*release.Release, *sensitivity.Analysis) {
	made, ok := k.From(old.Shape)
	if !ok {
		return nil, nil
	}
	cols := make([]plan.ColID, len(old.Shape.Keys))
	for i := range cols {
		cols[i] = plan.ColID(i + 1)
	}
	compile := func(list []plan.Scalar) ([]func([]sqltype.Value) (sqltype.Value, error), bool) {
		var out []func([]sqltype.Value) (sqltype.Value, error)
		for _, x := range list {
			f, err := eval.Compile(x, cols)
			if err != nil {
				return nil, false
			}
			out = append(out, f)
		}
		return out, true
	}
	keys, ok := compile(made.Keys)
	conds, known := compile(made.Conds)
	if !ok || !known { // the proxy cannot compute it
		return nil, nil
	}
	c := &release.Computation{Made: made}
	c.Key = func(i int, row []sqltype.Value) (sqltype.Value, error) { return keys[i](row) }
	c.Keep = func(row []sqltype.Value) (bool, error) {
		for _, f := range conds {
			if v, err := f(row); err != nil || v != true {
				return false, err
			}
		}
		return true, nil
	}
	r, err := old.Computed(made.Analysis, c)
	if err != nil { // it does not say it, or an expression raises
		return nil, nil
	}
	return r, made.Analysis
}

// inForm gives a stage whose release was computed from another one, and those that share it, the analysis that it is of.
func (r *run) inForm(of int) {
	from := r.stageRuns[of].release
	if from == nil || from.Of == nil {
		return
	}
	for _, a := range r.stageRuns {
		if a.as != of {
			continue
		}
		if made, ok := r.reuseCandidate(a.stage, a.args).From(from.Of.Shape); ok {
			st := *a.stage
			st.an, a.stage = made.Analysis, &st
		}
	}
}

// logNoise is the sum of the logarithms of the measures' variances.
func logNoise(a *sensitivity.Analysis, r *release.Release) (sum float64, err error) {
	for i := range a.Measures {
		v, err := r.Variance(a, i)
		if err != nil {
			return 0, err
		}
		sum += math.Log(v)
	}
	return sum, nil
}

// errsLess: no measure errs more than in a release of the question itself.
func errsLess(a *sensitivity.Analysis, r, exact *release.Release) (bool, error) {
	for i := range a.Measures {
		if exact == nil {
			break
		}
		v, err := r.Variance(a, i)
		if err != nil {
			return false, err
		}
		limit, err := exact.Variance(a, i)
		if err != nil || v > limit*(1+1e-9) {
			return false, err
		}
	}
	return true, nil
}

// computedNote says of a release that it is computed from another one, and how to be asked anew.
func computedNote(r *release.Release) string {
	if r.Of == nil {
		return ""
	}
	words := "computed from a release of another question"
	if n := r.MostCells(); n > 1 {
		words += fmt.Sprintf(", as sums of up to %d of its groups", n)
	}
	return words + "; SET dpsql.fresh = on asks anew"
}
