package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// What is computed from a stored release of another question: fewer measures, some of its public groups, or sums of them.

// mostRelated is how many stored releases are looked at for one question, the dearest first.
const mostRelated = 16

// mostKinGroups is how many groups a release has at most that others are computed from: it is read as a whole.
const mostKinGroups = 10_000

// kin is what a stage's releases are related to; nil where they read others, or have no kin.
func (p *Prepared) kin(st *stage, args []sqltype.Value) *sensitivity.Kin {
	if len(st.inputs) > 0 {
		return nil
	}
	k, ok := sensitivity.KinOf(st.an, args)
	if !ok {
		return nil
	}
	return k
}

// family names a family among the stored releases of a policy and a time zone.
func (p *Prepared) family(text string) ledger.Hash {
	zone := ""
	if p.query.Zoned {
		zone = p.values.Zone.String()
	}
	return sha256.Sum256(fmt.Appendf(nil, "dpsql family 1\n%q %q\n%s", p.world.catalogs.Epoch(), zone, text))
}

// related puts into a release that will be stored what others need to be computed from it, and names its family; zero: none.
func (r *run) related(a *asked) ledger.Hash {
	k := r.kin(a.stage, a.args)
	if k == nil || a.release.Many() || len(a.release.Groups) > mostKinGroups {
		return ledger.Hash{}
	}
	a.release.Shape = k.Shape()
	return r.family(k.Family())
}

// computed is a release that is computed from a stored one of another question: of those that were made at a price that the question asks for, that with the least noise; nil if there is none. exact is a
// release of the question itself, made at less, that has to err more; an error that was asked for has to be kept.
//
// Proof: post-processing of a release that this analyst may be given (Ledger.Related), and whose columns they may read now; which one follows from what is stored, for whom and when, and from scales, never from private rows.
func (p *Prepared) computed(ctx context.Context, a *asked, exact *release.Release) (out *release.Release, of int64, err error) {
	st, mp := a.stage, a.plan
	k := p.kin(st, a.args)
	if k == nil {
		return nil, 0, nil
	}
	var families []ledger.Hash
	for _, text := range k.Families() {
		families = append(families, p.family(text))
	}
	list, broken, err := p.session.engine.ledger.Related(ctx, families, p.session.analyst.Name, mostRelated)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, 0, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, 0, p.session.ledgerFailed(err)
	}
	for _, b := range broken { // others may answer, or the question is asked; who asks for that release itself is refused
		p.session.engine.log.Error("a stored release is broken: nothing is computed from it", "record", b.Seq, "error", b.Error())
	}
	least := math.Inf(1)
	for _, one := range list {
		if st.ask.WorthTopUp(one.Price) {
			break
		}
		old, err := release.DecodeRelated(one.Payload)
		if err != nil {
			return nil, 0, p.session.ledgerFailed(err)
		}
		if old == nil || !p.mayRead(old.Shape.Reads) {
			continue
		}
		r := computedFrom(k, st.an, old)
		if r == nil {
			continue
		}
		noise, err := logNoise(st.an, r)
		if err != nil {
			return nil, 0, err
		}
		enough, err := errsLess(st.an, r, mp, exact, a.aim != "")
		if err != nil {
			return nil, 0, err
		}
		if enough && noise < least {
			least, out, of = noise, r, one.Reservation
		}
	}
	return out, of, nil
}

// mayRead: the analyst sees these columns.
func (p *Prepared) mayRead(columns []string) bool {
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

// computedFrom computes a stage's release from another one; nil where that does not say it.
func computedFrom(k *sensitivity.Kin, a *sensitivity.Analysis, old *release.Release) *release.Release {
	made, ok := k.From(old.Shape)
	if !ok {
		return nil
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
		return nil
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
	r, err := old.Computed(a, c)
	if err != nil { // it does not say it, or an expression raises
		return nil
	}
	return r
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

// errsLess: no measure errs more than in a release of the question itself, or, where an error is aimed at, than it would when asked anew.
func errsLess(a *sensitivity.Analysis, r *release.Release, mp *measure.Plan, exact *release.Release, aimed bool) (bool, error) {
	if aimed && len(mp.Choices) > 0 {
		return false, nil
	}
	for i, m := range a.Measures {
		v, err := r.Variance(a, i)
		if err != nil {
			return false, err
		}
		for _, most := range []struct {
			there bool
			of    func() (float64, error)
		}{
			{exact != nil, func() (float64, error) { return exact.Variance(a, i) }},
			{aimed, func() (float64, error) { return mp.Run().VarianceInSteps(i, m.Fine) }},
		} {
			if !most.there {
				continue
			}
			limit, err := most.of()
			if err != nil || v > limit*(1+1e-9) {
				return false, err
			}
		}
	}
	return true, nil
}

// computedWords say of a release that it is computed from another one, and how to be asked anew.
func computedWords(r *release.Release) string {
	if r.Of == nil {
		return ""
	}
	words := "computed from a release of another question"
	if n := r.MostCells(); n > 1 {
		words += fmt.Sprintf(", as sums of up to %d of its groups", n)
	}
	return words + "; SET dpsql.fresh = on asks anew"
}
