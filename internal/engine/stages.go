package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// stage is what a statement releases at once.
type stage struct {
	an      *sensitivity.Analysis
	inputs  []sensitivity.Input
	as      int // the first stage of the same canonical text: the two are one release
	request price.Request
	priced  *price.Quote          // nil: not yet
	ways    *boundingMethods      // of joined rows whose bound is taken when it is asked (settled); nil: an is the one
	rival   *sensitivity.Analysis // the other one, once it is settled; nil: there is none
	again   bool                  // asked anew, though it could be topped up
	kept    *release.Release      // computed from another question's, and keeps the target; keptOf is that one's reservation
	keptOf  int64
	gaps    []sqlgen.Gap // of whatever may be printed for it
}

// price is the stage's plan: the one by which its bounding was decided, where that took one.
func (st *stage) price() (mp *price.Quote, err error) {
	if st.priced == nil {
		st.priced, err = price.New(st.an, st.request)
		err = price.Cheapest(st.an, st.request, err)
	}
	return st.priced, err
}

// isCharged: public groups without a measure are known, and of no group nothing is released.
//
// Proof: what is not charged reads no private row (stored). (1) Which stages these are follows from the analysis, that is from the statement, the policy and public tables. (2) The release has the public groups and no number: without measures, or without groups.
func (st *stage) isCharged() bool { return isCharged(st.an) }

func isCharged(a *sensitivity.Analysis) bool {
	return (len(a.Measures) > 0 || !a.Groups.Public) && !a.HasNoGroups() // (1)
}

// analyzeStages bounds a statement's stages and refuses, before anything is charged, what could not be printed.
func analyzeStages(ctx context.Context, s *Session, program *sensitivity.Program) ([]*stage, error) {
	out, texts, paid := make([]*stage, len(program.Stages)), map[string]int{}, 0
	for i := range out {
		ask := s.request().PerStage(len(program.Stages))
		st, err := boundStage(ctx, s, ask.Epsilon, func(opts sensitivity.Options) (*sensitivity.Analysis, error) { return program.Analyze(ctx, i, opts) })
		if err != nil {
			return nil, err
		}
		st.as, st.inputs, st.request = i, program.Stages[i].Inputs, ask
		if st.gaps, err = printable(s, st.an); err != nil {
			return nil, err
		}
		text := sensitivity.Canonical(st.an)
		if st.ways != nil { // the other, too, is to be one release
			if text, err = printableWays(s, st); err != nil {
				return nil, err
			}
		}
		if first, ok := texts[text]; ok && len(st.inputs) == 0 {
			st.as = first
		} else if texts[text] = i; st.isCharged() {
			paid++
		}
		out[i] = st
	}
	if paid > 0 && paid != len(out) {
		for _, st := range out {
			st.request, st.priced = s.request().PerStage(paid), nil
		}
	}
	return out, nil
}

// finishable refuses what could not be computed from the releases, and prints the public relations among what it is computed from. The answer, not what other stages read, may be
// computed by the database.
func finishable(s *Session, program *sensitivity.Program, shown *displayed) (map[plan.Rel]*sqlgen.Statement, *backendFinishing, error) {
	for _, sc := range scansOf(program.Query.Root) {
		if s.catalog.own(sc.Table) {
			return nil, nil, ownTableJoined(sc.Pos)
		}
	}
	var by *backendFinishing
	given, public := map[plan.Rel]bool{}, map[plan.Rel]*sqlgen.Statement{}
	computed := []sensitivity.Computed{program.Answer}
	for _, st := range program.Stages {
		for _, in := range st.Inputs {
			computed = append(computed, in.Computed)
		}
	}
	for i, c := range computed {
		for _, l := range c.Leaves {
			given[l.At] = true
		}
		if err := eval.Check(c.Root, func(n plan.Rel) bool { return given[n] }, program.Query); err != nil {
			if i > 0 || sqlerr.ID(err) != sqlerr.Unsupported.ID {
				return nil, nil, err
			}
			var failed error
			switch by, failed = finishedBy(s, program, shown); {
			case sqlerr.ID(failed) == sqlerr.TooComplex.ID:
				return nil, nil, failed
			case failed != nil:
				return nil, nil, err
			}
		}
	}
	for _, l := range program.PublicLeaves() {
		q := *program.Query
		q.Root, q.Outputs = l.At, nil
		for _, id := range l.Cols {
			q.Outputs = append(q.Outputs, plan.Output{Col: id, Type: q.Columns[id].Type})
		}
		st, err := sqlgen.PublicQuery(&q, s.engine.dialect)
		if err != nil {
			return nil, nil, err
		}
		public[l.At] = st
	}
	return public, by, nil
}

// key names everything that determines a stage's release but its noise: canonical plan, parameters, bounds, time zone, policy, and the values that its groups
// have by public tables. Where these change, it is another question: no release of the old groups answers it, or is topped up.
func (p *stagedStatement) key(st *stage, args []sqltype.Value, given [][][]sqltype.Value) ledger.Hash {
	h := sha256.New()
	write := func(text string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	write("dpsql release 6") // another number, and no release made before is used: 6 tells lost mass in the classes of sensitivity.LostSteps
	write(p.world.catalogs.Epoch())
	zone := ""
	if p.query.Zoned {
		zone = p.values.Zone.String()
	}
	write(zone)
	canonical, whole := sensitivity.CanonicalOf(st.an, args)
	write(canonical)
	for _, text := range publicValuesOf(st.an) {
		write(text)
	}
	for i, v := range args {
		if whole {
			break
		}
		if v == nil {
			write(fmt.Sprintf("$%d NULL", i+1))
			continue
		}
		t := st.an.Query.Params[i]
		write(fmt.Sprintf("$%d %s", i+1, t))
		write(sqltype.FormatText(v, t))
	}
	of := 0
	for _, in := range st.inputs {
		if in.Rows == nil || given == nil {
			continue
		}
		write(fmt.Sprintf("%d rows", len(given[of])))
		for _, row := range given[of] {
			for i, v := range row {
				if v == nil {
					write("NULL")
				} else {
					write("= " + sqltype.FormatText(v, in.Rows.Columns[i].Type))
				}
			}
		}
		of++
	}
	return ledger.Hash(h.Sum(nil))
}

// publicValuesOf are digests of the values that keys have by public tables, however the statement orders its keys.
func publicValuesOf(a *sensitivity.Analysis) (out []string) {
	for _, src := range a.Groups.Sources {
		if src.Table == nil {
			continue
		}
		tuples := make([]string, len(src.Tuples))
		for i, tuple := range src.Tuples {
			cells := make([]string, len(tuple))
			for k, v := range tuple {
				text := "NULL"
				if v != nil {
					text = "= " + sqltype.FormatText(v, a.Keys[src.Keys[k]].Type)
				}
				cells[k] = fmt.Sprintf("%d %q", src.Columns[k], text)
			}
			slices.Sort(cells)
			tuples[i] = strings.Join(cells, " ")
		}
		slices.Sort(tuples)
		h := sha256.New()
		for _, text := range tuples {
			_, _ = fmt.Fprintln(h, text)
		}
		out = append(out, fmt.Sprintf("%q.%q %x", src.Table.Schema, src.Table.Name, h.Sum(nil)))
	}
	slices.Sort(out)
	return out
}

// hasPublicGroups: a release that was computed from another one has the groups that this analysis has by public tables.
func hasPublicGroups(a *sensitivity.Analysis, r *release.Release) bool {
	if !a.Groups.Public || !slices.ContainsFunc(a.Groups.Sources, func(s sensitivity.Source) bool { return s.Table != nil }) {
		return true
	}
	if uint64(len(r.Groups)) != a.Groups.Count {
		return false
	}
	for _, src := range a.Groups.Sources {
		known := map[string]bool{}
		text := func(values func(k int) sqltype.Value) string {
			var b strings.Builder
			for k, key := range src.Keys {
				if v := values(k); v == nil {
					b.WriteString(" NULL")
				} else {
					fmt.Fprintf(&b, " %q", sqltype.FormatText(v, a.Keys[key].Type))
				}
			}
			return b.String()
		}
		for _, tuple := range src.Tuples {
			known[text(func(k int) sqltype.Value { return tuple[k] })] = true
		}
		for _, g := range r.Groups {
			if !known[text(func(k int) sqltype.Value { return g.Keys[src.Keys[k]] })] {
				return false
			}
		}
	}
	return true
}
