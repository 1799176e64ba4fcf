package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// fullDisk is a ledger on a disk that fills up, for each kind of write by itself, and is emptied again.
type fullDisk struct {
	ledger.Ledger
	reserve, commit, fail bool
}

var errFull = errors.New("database or disk is full")

func (l *fullDisk) ReserveAll(ctx context.Context, list []ledger.Reservation) ([]int64, error) {
	if l.reserve {
		return nil, errFull
	}
	return l.Ledger.ReserveAll(ctx, list)
}

func (l *fullDisk) Commit(ctx context.Context, id int64, r ledger.Release) error {
	if l.commit {
		return errFull
	}
	return l.Ledger.Commit(ctx, id, r)
}

func (l *fullDisk) Fail(ctx context.Context, id int64, class string) error {
	if l.fail {
		return errFull
	}
	return l.Ledger.Fail(ctx, id, class)
}

// TestFullDisk: where the ledger cannot write, nothing is answered that it does not hold; what it holds is; once it can write all goes
// on, and a charge whose end could not be written stays.
func TestFullDisk(t *testing.T) {
	for _, d := range enginetest.Dialects {
		b := enginetest.Tame.Open(t, d)
		p := &patient{Engine: enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, d, "budget: {epsilon: 20,", "budget: {epsilon: 1000,"), b), t: t}
		l := &fullDisk{Ledger: p.Ledger}
		p.Ledger = l
		refused := func() {
			rows, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "ann"), p.fresh())
			if rows != nil || sqlerr.ID(err) != "ledger_unavailable" || strings.Contains(err.Error(), "disk") {
				t.Errorf("%v, %v", rows, err)
			}
			if _, err := enginetest.Try(enginetest.NewSession(p.Engine, t, "bob"), "select big, count(*) from encounters where days > -1 group by 1"); err != nil {
				t.Errorf("what was released is not given: %v", err)
			}
		}
		p.answers("ann")
		l.reserve = true
		f := &enginetest.Failing{Backend: b}
		p.Backend = f
		refused()
		if f.Private != 0 {
			t.Errorf("%s: the data was asked without a reservation", d)
		}
		p.asked-- // it is not on the ledger
		p.charged()
		l.reserve, l.commit = false, true
		refused()
		p.charged()
		l.commit, l.fail = false, true
		f.Query = enginetest.ErrBackend
		p.fails("ann")
		l.fail, f.Query = false, nil
		p.well()
	}
}
