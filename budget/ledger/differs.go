package ledger

import (
	"fmt"
	"maps"
	"slices"
)

// differs says in what two states differ that were made of the same records, or "".
func (s *state) differs(t *state) string {
	if s.seq != t.seq || s.last != t.last || len(s.datasets) != len(t.datasets) {
		return fmt.Sprintf("the file ends here, the process is at record %d", t.seq)
	}
	sameAccount := func(a, b *account) bool { return *a == *b }
	for i, d := range s.datasets {
		e := t.datasets[i]
		if *d.head.Filter != *e.head.Filter || (d.began == nil) != (e.began == nil) || d.began != nil && *d.began != *e.began || d.windows != e.windows || !d.start.Equal(e.start) || d.all != e.all || d.epoch != e.epoch || !maps.EqualFunc(d.accounts, e.accounts, sameAccount) ||
			!maps.EqualFunc(d.grants, e.grants, func(a, b granted) bool { return a.start.Equal(b.start) && a.epsilon == b.epsilon }) ||
			!maps.EqualFunc(d.failed, e.failed, func(a, b failed) bool { return a.start.Equal(b.start) && a.n == b.n }) {
			return fmt.Sprintf("data set %q's balance is another in the process", d.head.Dataset)
		}
	}
	if !maps.EqualFunc(s.frozen, t.frozen, func(a, b FrozenAnalyst) bool { return a.By == b.By && a.Since.Equal(b.Since) }) {
		return "the freezes are others in the process"
	}
	if !slices.EqualFunc(s.stops(), t.stops(), func(a, b StoppedAnalyst) bool {
		return a.Analyst == b.Analyst && a.Dataset == b.Dataset && a.Since.Equal(b.Since)
	}) {
		return "the analysts who are stopped are others in the process"
	}
	return ""
}
