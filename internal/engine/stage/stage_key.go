package stage

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Key names everything that determines a stage's release but its noise: canonical plan, parameters, bounds, time zone, policy, and the values that its groups
// have by public tables. Where these change, it is another question: no release of the old groups answers it, or is topped up.
func (p *Staged) Key(st *Stage, args []sqltype.Value, given [][][]sqltype.Value) ledger.Hash {
	h := sha256.New()
	write := func(text string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	write("dpsql release 6") // another number, and no release made before is used: 6 tells lost mass in the classes of sensitivity.LostSteps
	write(p.World.Catalogs.Epoch())
	zone := ""
	if p.Query.Zoned {
		zone = p.Values.Zone.String()
	}
	write(zone)
	canonical, whole := reuse.CanonicalOf(st.An, args)
	write(canonical)
	for _, text := range publicValuesOf(st.An) {
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
		t := st.An.Query.Params[i]
		write(fmt.Sprintf("$%d %s", i+1, t))
		write(sqltype.FormatText(v, t))
	}
	of := 0
	for _, in := range st.Inputs {
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

// HasPublicGroups: a release that was computed from another one has the groups that this analysis has by public tables.
func HasPublicGroups(a *sensitivity.Analysis, r *release.Release) bool {
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
