package console

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestDeltaSpent: who has no delta left is told so, and that statements without one are answered; they are.
func TestDeltaSpent(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	b.run("SET dpsql.price = 0.01")
	b.run("SELECT days, count(*) FROM encounters WHERE days + 0 > 100 GROUP BY days") // it takes a thousandth of delta, and less of epsilon
	again := enginetest.Charges(t, s.engine)[0].Reservation
	for range 2000 {
		if _, err := s.engine.Ledger.ReserveAll(t.Context(), []ledger.Reservation{again}); err != nil {
			break
		}
	}
	refused := of(b.run("SELECT days, count(*) FROM encounters WHERE days + 0 > 101 GROUP BY days"), "error")
	if len(refused) != 1 || !strings.Contains(refused[0], "Its delta does not fit: 0") || !strings.Contains(refused[0], "% of its epsilon. Statements over unknown groups and with Gaussian noise need a delta; others are answered.") {
		t.Errorf("refused: %s", refused)
	}
	if left := b.ask("budget", ""); !strings.Contains(left, "99.9 % of the delta of your budget (epsilon 20) is spent") {
		t.Errorf("left: %s", left)
	}
	if list := b.run("SELECT count(*) FROM encounters"); len(of(list, "done")) != 1 {
		t.Errorf("%v", list)
	}
}
