package stage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// What is computed from a stored release of another question: fewer measures, some of its public groups, or sums of them.

// mostRelated is how many stored releases are looked at for one question, the dearest first.
const mostRelated = 16

// MaxReusableGroups is how many groups a release has at most that others are computed from: it is read as a whole.
const MaxReusableGroups = 10_000

// ReuseCandidate is what a stage's releases are related to; nil where they read others, or where no release can be computed from another.
func (p *Staged) ReuseCandidate(st *Stage, args []sqltype.Value) *reuse.Candidate {
	if len(st.Inputs) > 0 {
		return nil
	}
	k, ok := reuse.NewCandidate(st.An, args)
	if !ok {
		return nil
	}
	return k
}

// Family names a family among the stored releases of a policy and a time zone.
func (p *Staged) Family(text string) ledger.Hash {
	zone := ""
	if p.Query.Zoned {
		zone = p.Values.Zone.String()
	}
	return sha256.Sum256(fmt.Appendf(nil, "dpsql family 5\n%q %q\n%s", p.World.Catalogs.Epoch(), zone, text))
}

// RelatedRelease is a stage's release, computed from a stored one of another question.
type RelatedRelease struct {
	Release *release.Release
	Of      int64   // that one's reservation
	noise   float64 // LogNoise
	Paired  bool    // sums are computed from pairs: it is of another analysis than the stage's own, whose measures' errors cannot be compared with its
}

// Relatives are the releases that are computed from those at good prices, those with the least noise first; after them those with sums from pairs.
//
// Proof: post-processing of releases that this analyst may be given (Ledger.Related), and whose columns they may read now; which of them, and in which order, follows from what is stored, for whom and when, and from scales, never from
// private rows.
func (p *Staged) Relatives(ctx context.Context, st *Stage, args []sqltype.Value, good func(price float64) bool) (out []RelatedRelease, err error) {
	k := p.ReuseCandidate(st, args)
	if k == nil {
		return nil, nil
	}
	var families []ledger.Hash
	for _, text := range k.Families() {
		families = append(families, p.Family(text))
	}
	list, err := p.Session.Engine.Ledger.Related(ctx, families, p.Session.Analyst.Name, mostRelated)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.Session.Uncharged(ctx, err)
	case err != nil:
		return nil, p.Session.LedgerFailed(err)
	}
	if i := slices.IndexFunc(list, func(one ledger.Stored) bool { return !good(one.Price) }); i >= 0 {
		list = list[:i]
	}
	bytes := 0
	for _, one := range list {
		bytes += len(one.Payload)
	}
	if err := p.Reading(ctx, bytes); err != nil {
		return nil, err
	}
	for _, one := range list {
		old, err := release.DecodeRelated(one.Payload)
		if err != nil {
			return nil, p.Session.LedgerFailed(err)
		}
		if old == nil || !p.CanRead(old.Shape.Reads) {
			continue
		}
		r, an := ComputedFrom(k, old)
		if r == nil || !HasPublicGroups(an, r) {
			continue
		}
		noise, err := LogNoise(ctx, an, r)
		if err != nil {
			return nil, err
		}
		if noise < math.Inf(1) {
			out = append(out, RelatedRelease{r, one.Reservation, noise, an != st.An})
		}
	}
	slices.SortStableFunc(out, func(a, b RelatedRelease) int {
		if a.Paired != b.Paired {
			return map[bool]int{true: 1, false: -1}[a.Paired]
		}
		return cmp.Compare(a.noise, b.noise)
	})
	return out, nil
}

// CanRead says whether the analyst sees these columns.
func (p *Staged) CanRead(columns []reuse.TableColumn) bool {
	for _, col := range columns {
		t, ok := p.Session.Catalog.Table(col.Schema, col.Table)
		if !ok || !slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Visible && c.Name == col.Column }) {
			return false
		}
	}
	return true
}

// ComputedFrom computes a stage's release from another one, and gives the analysis that it is of; nil where that does not say it.
func ComputedFrom(k *reuse.Candidate, old *release.Release) (*release.Release, *sensitivity.Analysis) {
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

// LogNoise is the sum of the logarithms of the measures' widths.
func LogNoise(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (sum float64, err error) {
	widths, err := MeasureWidths(ctx, a, r)
	for _, w := range widths {
		sum += math.Log(w)
	}
	return sum, err
}

// unknownWidth is that of a measure of which nothing can be said: wider than all others.
const unknownWidth = 1e300

// MeasureWidths are the 95% half widths of a release's measures in the group where each is largest: noise, and what bounds may have taken away.
func MeasureWidths(ctx context.Context, a *sensitivity.Analysis, r *release.Release) ([]float64, error) {
	e, err := finish.Of(ctx, a, r)
	if err != nil {
		return nil, err
	}
	e = e.For(r, nil)
	out := make([]float64, len(a.Measures))
	for i := range out {
		if out[i] = e.Widest(i); e.IsUnknown(i) || math.IsNaN(out[i]) {
			out[i] = unknownWidth
		}
	}
	return out, nil
}

// Decoded is a stored release, whose spool is its own.
func Decoded(st *Stage, old *ledger.Stored) (*release.Release, error) {
	return release.Decode(st.An, old.Payload, old.Spool)
}

// Data names the state of the data, which does not change under that name: the owner's data_version, or the opening of a database that nobody
// writes to. "": the data may change at any time, and a release is named after its snapshot.
func (p *Staged) Data() string {
	if v := p.World.Policy.DataVersion; v != "" {
		return "version " + v
	}
	if b, ok := p.Session.Engine.Backend.(backend.Steady); ok {
		return "opening " + b.Opened()
	}
	return ""
}

// IsSameData says that a stored release is of the data that would be read now.
//
// Proof: claim: the mean of a release and of a new one is of one state of the data, so its stated error is that of its noise. Data that were read under one
// name do not differ: by the owner's word for data_version, and because the file of an open DuckDB is locked. Both names are public.
func (p *Staged) IsSameData(r *release.Release) bool {
	return r.Data != "" && r.Data == p.Data()
}

// NeedsFreshRelease says that a stored release is not measured again at a higher price: its bounds are of one snapshot, or it may be of other data.
func (p *Staged) NeedsFreshRelease(a *sensitivity.Analysis, r *release.Release) bool {
	return a.NeedsFreshRelease() || r != nil && !p.IsSameData(r)
}

// OwnRelease is the dearest stored release of a stage; nil: there is none.
func (p *Staged) OwnRelease(ctx context.Context, st *Stage, args []sqltype.Value) (*release.Release, error) {
	old, ok, err := p.Session.Engine.Ledger.Lookup(ctx, p.Key(st, args, nil), p.Session.Analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.Session.Uncharged(ctx, err)
	case err != nil:
		return nil, p.Session.LedgerFailed(err)
	case !ok:
		return nil, nil
	}
	if err := p.Reading(ctx, len(old.Payload)); err != nil {
		return nil, errors.Join(err, old.Spool.Close())
	}
	r, err := Decoded(st, old)
	if err != nil {
		return nil, p.Session.LedgerFailed(err)
	}
	return r, nil
}
