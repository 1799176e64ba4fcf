package release

import (
	"encoding/json"
	"math/bits"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity"
)

// What a stored release takes beside its groups: its plan, the noise that was run, what it is of.
const (
	headBytes = 4 << 10
	partBytes = 1 << 10 // a measure, a choice, a key
)

// A total is of fewer than 2^40 units, a node of a tree of fewer than 2^30, and their noise is less than what these change. Where that is wrong, the release itself is too large, after its charge.
const (
	totalBits = 40
	nodeBits  = 30
)

// PublicBytes bounds what is stored of a release of public groups, in bytes: in the ledger; or, of more groups than memory holds, or more bytes than a ledger stores in one piece, in its spool and in what is sorted on
// the way there (spooled). It follows from the analysis alone, so that too large a release is refused before it is charged.
func PublicBytes(a *sensitivity.Analysis, held uint64) (bytes uint64, spooled bool) {
	if a.Groups.Count <= held || a.NeedsOwnScan() {
		if bytes = publicBytes(a, false); bytes <= ledger.MaxRelease || a.NeedsOwnScan() {
			return bytes, false
		}
	}
	return publicBytes(a, true), true
}

func publicBytes(a *sensitivity.Analysis, spooled bool) uint64 {
	bytes := headBytes + partBytes*uint64(len(a.Measures)+len(a.Choices)+len(a.Keys))
	group := uint64(len(`{"k":[],"v":[]},`))
	if a.HasTrees() {
		group += uint64(len(`"t":[],"p":[],`) + len("null,null,")*len(a.Measures))
	}
	for _, m := range a.Measures {
		group += valueBytes(&m, totalBits) + leavesBytes(&m)
	}
	for _, s := range a.Groups.Sources {
		keys := uint64(0)
		for _, t := range s.Tuples {
			for i, k := range s.Keys {
				keys += keyBytes(t[i], a.Keys[k].Type, spooled)
			}
		}
		bytes += keys * (a.Groups.Count / max(1, uint64(len(s.Tuples))))
	}
	return bytes + group*a.Groups.Count
}

// keyBytes are those of a key: in JSON; on disk its bytes, which are no more than its text's, after at most 12 that say what it is.
func keyBytes(v sqltype.Value, t sqltype.Type, spooled bool) uint64 {
	if v == nil {
		return uint64(len("null,"))
	}
	text := sqltype.FormatText(v, t)
	if spooled {
		return 12 + uint64(len(text))
	}
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) })
	if plain {
		return uint64(len(text) + len(`"",`))
	}
	quoted, err := json.Marshal(text)
	if err != nil { // no text is without a form
		return 6*uint64(len(text)) + uint64(len(`"",`))
	}
	return uint64(len(quoted) + len(","))
}

// valueBytes are those of a measure's value.
func valueBytes(m *sensitivity.Measure, unitBits int) uint64 {
	digits := (bits.Len64(m.PerGroup)+unitBits)*3/10 + 2
	return max(9, uint64(digits+len("-,"))) //nolint:gosec // not negative
}

// leavesBytes are those of a group's tree, of which each quantile looks at four nodes a level, or of its picks.
func leavesBytes(m *sensitivity.Measure) (out uint64) {
	switch {
	case m.Tree != nil:
		nodes, most := uint64(1), 4*uint64(len(m.Tree.Quantiles))
		for _, fan := range m.Tree.Fans {
			children := uint64(max(fan, 0)) //nolint:gosec // not negative
			out += min(nodes, most) * (uint64(len(`{"l":12,"n":,"c":[]},`)+20) + children*valueBytes(m, nodeBits))
			nodes = min(nodes*children, most)
		}
	case m.Pick != nil:
		out = m.Pick.Most * uint64(len("10000,"))
	}
	return out
}
