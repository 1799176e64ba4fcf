package prooftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// The attacks of docs/threat-model.md, by their numbers. Each is one function that is played twice: against a careless variant, where it
// must learn something, since otherwise it proves nothing, and against the product, where it must not.

// seen is what an analyst sees of one statement.
type seen struct {
	rows [][]string // NULL is "NULL"
	err  string
}

// asker is the way in that an analyst has: a statement goes in, and something is seen.
type asker func(sql string) seen

// naive is the careless proxy that people write first: it sends the analyst's text to the database and shows rows, NULLs, keys and errors
// as they come. The noise that it would add to numbers is left out, and attacks on it look at anything but numbers.
func naive(t testing.TB, db string) asker {
	t.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, enginetest.SharedServer(t).URL(db))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return func(sql string) (out seen) {
		results, err := conn.Exec(ctx, sql).ReadAll()
		if err != nil {
			return seen{err: err.Error()}
		}
		for _, row := range results[len(results)-1].Rows {
			var texts []string
			for _, v := range row {
				if v == nil {
					texts = append(texts, "NULL")
				} else {
					texts = append(texts, string(v))
				}
			}
			out.rows = append(out.rows, texts)
		}
		return out
	}
}

// through is the product's asker.
func through(s *session.Session) asker {
	return func(sql string) (out seen) {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			return seen{err: everything(err)}
		}
		a, err := p.Run(context.Background(), nil)
		if err != nil {
			return seen{err: everything(err)}
		}
		for _, r := range a.Rows {
			var texts []string
			for i, v := range r {
				texts = append(texts, enginetest.Spelled(v, p.Columns()[i].Type))
			}
			out.rows = append(out.rows, texts)
		}
		return out
	}
}

// everything is all that a client is told of an error.
func everything(err error) string {
	var u *sqlerr.Error
	if !errors.As(err, &u) {
		return "no user error: " + err.Error()
	}
	return fmt.Sprintf("%s|%s|%s|%s|%d", u.Code, u.Message, u.Detail, u.Hint, u.Pos)
}

// shape is what is seen apart from numbers: the error, how many rows there are, and where NULLs stand.
func (s seen) shape() string {
	if s.err != "" {
		return "error " + s.err
	}
	var out []string
	for _, r := range s.rows {
		line := ""
		for _, v := range r {
			line += map[bool]string{true: "N", false: "x"}[v == "NULL"]
		}
		out = append(out, line)
	}
	return strings.Join(out, ",")
}

// tells asks two databases that differ in one person the same, and gives a statement whose shape differs.
func tells(with, without asker, statements ...string) string {
	for _, sql := range statements {
		if a, b := with(sql).shape(), without(sql).shape(); a != b {
			return fmt.Sprintf("%s: %s and %s", sql, a, b)
		}
	}
	return ""
}

// succeeds and fails judge what an attack on the careless variant and on the product has learned ("": nothing).
func succeeds(t testing.TB, learned string) {
	t.Helper()
	if learned == "" {
		t.Error("the attack learns nothing from the careless variant, so it proves nothing")
	}
}

func fails(t testing.TB, learned string) {
	t.Helper()
	if learned != "" {
		t.Errorf("the attack learns from dpsql: %s", learned)
	}
}

// naivePair and pair are both sides of an attack on person 1, of the careless proxy and of dpsql.
func naivePair(t testing.TB) (with, out asker) {
	enginetest.Wild.Open(t, funcs.Postgres)
	enginetest.WithoutOne.Open(t, funcs.Postgres)
	return naive(t, "clinic_"+enginetest.Wild.Name), naive(t, "clinic_"+enginetest.WithoutOne.Name)
}

func pair(t testing.TB, d dialect.Dialect) (with, out asker) {
	rich := []string{"epsilon: 20,", "epsilon: 1000,"}
	return through(enginetest.ClinicSession(t, enginetest.Wild, d, rich...)), through(enginetest.ClinicSession(t, enginetest.WithoutOne, d, rich...))
}

// attackPairs plays one attack on the careless proxy and on dpsql before both backends.
func attackPairs(t *testing.T, attack func(with, without asker) string) {
	t.Helper()
	succeeds(t, attack(naivePair(t)))
	for _, d := range enginetest.Dialects {
		fails(t, attack(pair(t, d)))
	}
}

// made is a PostgreSQL of its own: the tame clinic with a few statements more, and an engine's session before it.
func made(t testing.TB, name string, edits []string, statements ...string) (*session.Session, asker, error) {
	t.Helper()
	ctx, s := context.Background(), enginetest.SharedServer(t)
	all := slices.Concat(neighbour.ClinicCatalog().DDL(), neighbour.ClinicRows(neighbour.Inside), statements)
	if err := errors.Join(s.CreateDB(name), s.Exec(name, strings.Join(all, ";\n"))); err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(ctx, s.URL(name), postgres.Options{PoolSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	p := enginetest.ClinicPolicyFor(t, funcs.Postgres, edits...)
	e, err := openFor(t, p, b)
	if err != nil {
		return nil, naive(t, name), err
	}
	return enginetest.NewSession(e, t, "ann"), naive(t, name), nil
}

func openFor(t testing.TB, p *policy.Policy, b backend.Backend) (*server.Engine, error) {
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: t.TempDir() + "/ledger"})
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}
