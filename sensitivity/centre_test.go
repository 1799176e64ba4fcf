package sensitivity

import (
	"testing"

	"github.com/dpsql/dpsql/sensitivity/relation"
	"pgregory.net/rapid"
)

// TestTwice: of a sum with a bound of its own no value counts for more than it does without a range, whatever the range is. The middle of the range would break that, so the test has power; about it a row counts for half of the range.
func TestTwice(t *testing.T) {
	broken := 0
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64Range(-1<<53, 1<<53))
		lo, hi := end.Draw(t, "lo"), end.Draw(t, "hi")
		m := Measure{Kind: CentredSum, ContributionChoice: ContributionChoice{HasOwnChoice: true}, ValueRange: ValueRange{RowLo: min(lo, hi), RowHi: max(lo, hi)}}
		x := rapid.OneOf(rapid.Just(m.RowLo), rapid.Just(m.RowHi), rapid.Int64Range(m.RowLo, m.RowHi)).Draw(t, "x")
		if d := relation.Magnitude(2*x - m.DoubledCentre()); d > 2*relation.Magnitude(x) || d > m.MostOfRow() {
			t.Fatalf("[%d, %d]: %d counts for %d halves, about %d halves; a row for at most %d", m.RowLo, m.RowHi, x, d, m.DoubledCentre(), m.MostOfRow())
		}
		if m.DoubledCentre() < 0 && m.RowHi >= 0 || m.DoubledCentre() > 0 && m.RowLo <= 0 {
			t.Fatalf("[%d, %d]: about %d halves", m.RowLo, m.RowHi, m.DoubledCentre())
		}
		whole := m
		whole.HasOwnChoice = false
		if most := whole.MostOfRow(); most != uint64(m.RowHi-m.RowLo) {
			t.Fatalf("[%d, %d]: about its middle a row counts for %d halves", m.RowLo, m.RowHi, most)
		}
		if middle := whole.DoubledCentre(); relation.Magnitude(2*x-middle) > 2*relation.Magnitude(x) {
			broken++
		}
		if relation.Magnitude(whole.DoubledCentre()) < relation.Magnitude(m.DoubledCentre()) {
			t.Fatalf("[%d, %d]: about %d halves, beyond the middle", m.RowLo, m.RowHi, m.DoubledCentre())
		}
	})
	if broken < 10 {
		t.Errorf("the middle breaks the claim %d times", broken)
	}
}
