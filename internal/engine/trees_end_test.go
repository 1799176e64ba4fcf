package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// endingAt is a backend with whose n-th statement's last row something ends.
type endingAt struct {
	backend.Backend
	at  int
	end func()
}

type endingTx struct {
	backend.Tx
	of *endingAt
}

type endingRows struct {
	session.NoRows
	rows [][]secret.Value
	at   int
	end  func()
}

func (b *endingAt) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := b.Backend.Begin(ctx)
	return endingTx{tx, b}, err
}

func (x endingTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	rows, err := x.Tx.Query(ctx, sql, args, want)
	if x.of.at--; x.of.at != 0 || err != nil {
		return rows, err
	}
	out := &endingRows{end: x.of.end}
	for rows.Next() {
		out.rows = append(out.rows, append([]secret.Value(nil), rows.Row()...))
	}
	rows.Close()
	return out, rows.Err()
}

func (r *endingRows) Next() bool {
	if r.at++; r.at > len(r.rows) {
		r.end()
		return false
	}
	return true
}

func (r *endingRows) Row() []secret.Value { return r.rows[r.at-1] }

// TestTreesEnd: where time ends, or the client cancels, while order statistics are read off what the backend gave, the statement fails as for any other resource: one error, the charge stays, nothing is stored.
func TestTreesEnd(t *testing.T) {
	for _, c := range []struct {
		sql   string
		at    int // the statement that the leaves come with
		cause error
		want  string
	}{
		{"select readmitted, median(days), count(*) from encounters group by 1", 2, session.ErrTimeout, sqlerr.ResourceFailure.ID},
		{"select readmitted, median(days), count(*) from encounters group by 1", 2, errors.New("the client"), sqlerr.QueryCanceled.ID},
		{"select readmitted, mode() within group (order by kind_id) from encounters group by 1", 1, session.ErrTimeout, sqlerr.ResourceFailure.ID},
		{"select readmitted, count(distinct diag), count(*) from encounters group by 1", 2, session.ErrTimeout, sqlerr.ResourceFailure.ID},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		s.Engine.Backend = &endingAt{s.Engine.Backend, c.at, func() { cancel(c.cause) }}
		if _, err := p.Run(ctx, nil); sqlerr.ID(err) != c.want || context.Cause(ctx) != c.cause {
			t.Errorf("%s: %v, not %s", c.sql, err, c.want)
		}
		failures := map[string]int{sqlerr.ResourceFailure.ID: 1}[c.want]
		if n := len(enginetest.Charges(t, s.Engine)); n != 1 || enginetest.Blamed(t, s.Engine) != failures {
			t.Errorf("%s: %d charges, %d failures", c.sql, n, enginetest.Blamed(t, s.Engine))
		}
		if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, c.sql) }); n != 1 {
			t.Errorf("%s: asked again it is charged %d times", c.sql, n)
		}
	}
}
