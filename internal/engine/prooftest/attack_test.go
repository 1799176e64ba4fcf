package prooftest

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestLikeIsLinear: a pattern that makes a backtracking LIKE try 2^60 ways on one person's text is answered like any other. Were it
// not, the test would not end.
func TestLikeIsLinear(t *testing.T) {
	for _, b := range []backend.Backend{enginetest.DemoDuck(t), enginetest.DemoPostgres(t)} {
		s := enginetest.DemoSession(t, b, "analyst")
		pattern := strings.Repeat("%_", 60) + "%$"
		enginetest.Ask(t, s, "select count(*) from patients where case when patient_id = 1 then race||race||race||race||race||race||race||race like '"+pattern+"' else false end")
	}
}

// TestNestingIsNotExponential: analysis works a column out once, however often its definition is named.
func TestNestingIsNotExponential(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	for _, wrap := range []string{"x in (x, x)", "x and x", "case when x then x else x end"} {
		q := "select med_change as x from encounters"
		for range 60 {
			q = "select " + wrap + " as x from (" + q + ") t"
		}
		if _, err := enginetest.Prepare(s, "select x, count(*) from ("+q+") t group by 1"); sqlerr.ID(err) == "" {
			t.Errorf("%s: %v", wrap, err)
		}
	}
}

// TestSetBetweenPrepareAndRun: the statement is bounded and priced by the settings under which it is run.
func TestSetBetweenPrepareAndRun(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	p, err := enginetest.Prepare(s, "select admission_type_id, count(*) from encounters group by 1")
	if err != nil || p.Analysis().Limit.PerUnit != 4 {
		t.Fatal(err, p.Analysis().Limit)
	}
	if err := s.Set("dpsql.max_groups", []string{"2"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("dpsql.price", []string{"0.25"}); err != nil {
		t.Fatal(err)
	}
	a, err := p.Run(context.Background(), nil)
	if err != nil || p.Analysis().Limit.PerUnit != 2 || !strings.Contains(a.Notice, "price 0.25") {
		t.Errorf("%v, %+v, %s", err, p.Analysis().Limit, a.Notice)
	}
}

// TestEpsilonFloor: an almost free statement is refused.
func TestEpsilonFloor(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	for _, tiny := range []string{"1e-12", "0x1p-1074", "0.000499"} {
		if err := s.Set("dpsql.price", []string{tiny}); sqlerr.ID(err) != "invalid_parameter" {
			t.Errorf("epsilon %s: %v", tiny, err)
		}
	}
	if err := s.Set("dpsql.price", []string{"0.0005"}); err != nil {
		t.Error(err)
	}
}

// late cancels the client's context when the rows have all been read: the release is finished, and paid.
type late struct {
	backend.Backend
	cancel context.CancelFunc
}

type lateTx struct {
	backend.Tx
	cancel context.CancelFunc
}

func (l late) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := l.Backend.Begin(ctx)
	return lateTx{tx, l.cancel}, err
}

func (l lateTx) Close() { l.Tx.Close(); l.cancel() }

// TestCancelAfterRelease: a cancel that comes when the release is made does not lose it; the next asker has it free.
func TestCancelAfterRelease(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	p, err := enginetest.Prepare(s, "select count(*) from encounters where diagnoses > 7")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.Engine.Backend = late{s.Engine.Backend, cancel}
	if _, err := p.Run(ctx, nil); err != nil && sqlerr.ID(err) != "query_canceled" {
		t.Errorf("%v", err)
	}
	a, err := p.Run(context.Background(), nil)
	if err != nil || !strings.Contains(a.Notice, "spent: nothing") {
		t.Errorf("the paid release was lost: %v, %+v", err, a)
	}
}
