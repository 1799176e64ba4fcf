package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestAttack37Storage: what an analyst has stored is limited. Public groups that might be too much are refused before the charge, and so is whatever follows a release of chosen groups or a model that was too much; what is stored is answered, others go on, and what is dropped makes room.
func TestAttack37Storage(t *testing.T) {
	var limit *int64
	s := enginetest.Limited(t, func(p *policy.Policy) { limit = &p.Limits.StoredBytes }, "max_query_price: 5", "max_query_price: 20")
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	const stored = "select kind_id, readmitted, count(*), sum(days), sum(medications) from encounters group by 1, 2"
	enginetest.MustTry(t, s, stored)
	held := s.Engine.Ledger.StoredBytes("ann")
	if held < 1000 || held > 10_000 {
		t.Fatal(held)
	}
	*limit = held + 5200 // more than bob's count may take
	enginetest.Refused(t, s, "select kind_id, readmitted, count(*), sum(days), sum(cost) from encounters group by 1, 2", sqlerr.DiskFull, 0)
	enginetest.MustTry(t, s, stored)
	enginetest.MustTry(t, enginetest.NewSession(s.Engine, t, "bob"), "select count(*) from patients")
	*limit = held + 1
	enginetest.MustTry(t, s, "select city_id, count(*) from patients group by 1") // chosen groups
	enginetest.Refused(t, s, "select ward, count(*) from patients group by 1", sqlerr.DiskFull, 0)
	*limit = s.Engine.Ledger.StoredBytes("ann") + 1000
	enginetest.MustTry(t, s, "train dp model m using logistic_regression target y with (epsilon = 0.1) as select days, readmitted = 'NO' as y from encounters")
	const more = "train dp model n using logistic_regression target y with (epsilon = 0.1) as select days, readmitted = 'NO' as y from encounters"
	enginetest.Refused(t, s, more, sqlerr.DiskFull, 0)
	enginetest.MustTry(t, s, "drop dp model m")
	enginetest.MustTry(t, s, more)
}

// fullLedger is one whose disk has no room.
type fullLedger struct{ ledger.Ledger }

func (fullLedger) Room(int64) error { return errors.New("4711 bytes are free") }

// TestAttack37Disk: where the ledger's disk is nearly full nothing is charged, and what is stored is answered.
func TestAttack37Disk(t *testing.T) {
	s := enginetest.Limited(t, func(*policy.Policy) {})
	enginetest.MustTry(t, s, "select count(*) from encounters")
	s.Engine.Ledger = fullLedger{s.Engine.Ledger}
	enginetest.Refused(t, s, "select count(*) from patients", sqlerr.DiskFull, 0)
	enginetest.Refused(t, s, "train dp model m using logistic_regression target y with (epsilon = 0.1) as select days, readmitted = 'NO' as y from encounters", sqlerr.DiskFull, 0)
	if _, err := enginetest.Try(s, "select count(*) from patients"); err == nil || strings.Contains(err.Error(), "4711") {
		t.Error(err)
	}
	enginetest.MustTry(t, s, "select count(*) from encounters")
}
