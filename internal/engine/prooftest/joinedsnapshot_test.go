package prooftest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// snapshots notes in which transaction private rows are read. Careless, each read has one of its own.
type snapshots struct {
	backend.Backend
	careless bool
	begun    int
	reads    []int
}

type snapshotTx struct {
	backend.Tx
	of *snapshots
	at int
}

func (s *snapshots) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := s.Backend.Begin(ctx)
	s.begun++
	return snapshotTx{tx, s, s.begun}, err
}

func (x snapshotTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if strings.Contains(sql, "encounters") {
		if x.of.careless {
			x.of.begun++
			x.at = x.of.begun
		}
		x.of.reads = append(x.of.reads, x.at)
	}
	return x.Tx.Query(ctx, sql, args, want)
}

// TestJoinedSnapshot: how often keys occur is measured in the transaction in which the totals are read, first: a snapshot, by the backends' conformance suite. Where units came between the two the bound would be one of other rows.
func TestJoinedSnapshot(t *testing.T) {
	look := func(careless bool) string {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AnyJoins...)
		spy := &snapshots{Backend: s.Engine.Backend, careless: careless}
		s.Engine.Backend = spy
		if _, err := enginetest.Try(s, "select count(*) from encounters a join encounters b on a.days = b.days"); err != nil {
			return err.Error()
		}
		if len(spy.reads) != 2 || spy.reads[0] != spy.reads[1] {
			return fmt.Sprintf("private rows are read in the transactions %v", spy.reads)
		}
		return ""
	}
	if found := look(false); found != "" {
		t.Error(found)
	}
	if look(true) == "" {
		t.Error("frequencies of another snapshot are not found")
	}
}
