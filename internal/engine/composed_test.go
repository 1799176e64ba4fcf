package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/neighbour/generate"
	"github.com/dpsql/dpsql/internal/neighbour/nested"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// composedPolicy publishes package nested's tables.
const composedPolicy = `
dataset: composed
backend: BACKEND
unit: persons.patient_id
tables:
  persons: {columns: COLUMNS}
  events: {unit: patient_id -> persons.patient_id, max_rows_per_unit: 3, columns: COLUMNS}
budget: {epsilon: 10000, delta: 1e-6}
query:  {epsilon: 1, max_groups: 1}
analysts:
  ann: {password: VERIFIER, may: [persons, events], max_query_epsilon: 5}
`

// composed is a generator of statements before databases of one backend whose rows have nothing in common.
type composed struct {
	t      *testing.T
	d      backend.Dialect
	make   func(draw generate.Source, turn int) string
	worlds []composedWorld
	calls  int // rows of the registry
	rows   int // of all answers
}

type composedWorld struct {
	name string
	*Session
}

func newComposed(t *testing.T, d backend.Dialect) *composed {
	t.Helper()
	cat, err := nested.Catalog(funcs.Dialect(d))
	if err != nil {
		t.Fatal(err)
	}
	c := &composed{t: t, d: d, make: func(draw generate.Source, turn int) string {
		return nested.New(cat, funcs.Dialect(d), nested.Source(draw)).Statement(turn)
	}}
	c.calls = nested.New(cat, funcs.Dialect(d), nil).Rows()
	uri := map[backend.Dialect]string{backend.DuckDB: "{duckdb: composed.duckdb}", backend.Postgres: `{postgres: "postgres://reader@127.0.0.1/composed"}`}[d]
	text := strings.NewReplacer("VERIFIER", verifier, "BACKEND", uri, "COLUMNS", nested.PolicyColumns()).Replace(composedPolicy)
	for _, w := range []struct {
		name string
		rows []string
	}{{"hostile", nested.Rows(cat, funcs.Dialect(d), rand.New(rand.NewPCG(7, 7)).IntN)}, {"empty", nil}, {"nulls", nested.Nulls()}} {
		p, err := policy.Parse("composed.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b := openComposed(t, d, w.name, append(cat.DDL(), w.rows...))
		s := engineOn(t, p, readable{b}).session(t, "ann")
		set(t, s, "dpsql.fresh", "on") // each statement is read
		c.worlds = append(c.worlds, composedWorld{w.name, s})
	}
	return c
}

func openComposed(t *testing.T, d backend.Dialect, name string, statements []string) backend.Backend {
	t.Helper()
	name = "composed_" + name
	if b, ok := opened[string(d)+name]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == backend.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range statements {
				if _, err := conn.ExecContext(ctx, strings.NewReplacer(`"public".`, `"main".`, "INTO public.", "INTO main.").Replace(s)); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		s := server(t)
		if err = s.CreateDB(name); err == nil {
			err = s.Exec(name, strings.Join(statements, ";\n"))
		}
		if err == nil {
			b, err = postgres.Open(context.Background(), s.URL(name), postgres.Options{PoolSize: 2})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	opened[string(d)+name] = b
	return b
}

// readable is a backend that fails at a value that no Go value of its type holds: prints of private statements give none.
type readable struct{ backend.Backend }

func (b readable) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := b.Backend.Begin(ctx)
	return readableTx{tx}, err
}

type readableTx struct{ backend.Tx }

func (tx readableTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	rows, err := tx.Tx.Query(ctx, sql, args, want)
	return &readableRows{Rows: rows}, err
}

type readableRows struct {
	secret.Rows
	err error
}

func (r *readableRows) Next() bool {
	if !r.Rows.Next() {
		return false
	}
	for i, v := range r.Row() {
		if secret.IsUnreadable(secret.Open(v)) {
			r.err = backend.NewError(backend.FailOther, "type", fmt.Errorf("column %d is unreadable", i+1))
			return false
		}
	}
	return true
}

func (r *readableRows) Err() error { return errors.Join(r.err, r.Rows.Err()) }

// ask is how a statement ends: answered, or refused by a code. What failed after its charge is an error, as is what nobody should see.
func (w composedWorld) ask(sql string) (outcome string, rows int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	charges := func() int64 {
		b, err := w.engine.ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
		if err != nil {
			panic(err)
		}
		return b.Dataset.Statements
	}
	p, err := prepare(w.Session, sql)
	if err != nil {
		return "refused " + sqlerr.ID(err), 0, refusedWell(err)
	}
	before := charges()
	a, err := p.Run(context.Background(), nil)
	if err == nil {
		var out [][]sqltype.Value
		out, err = a.All(context.Background())
		rows = len(out)
	}
	switch {
	case err == nil:
		return "answered", rows, nil
	case charges() != before:
		if err := w.engine.Unfreeze(context.Background(), "ann", "owner"); err != nil {
			panic(err)
		}
		return "", 0, fmt.Errorf("failed after its charge: %w", cause(err))
	}
	return "refused when run " + sqlerr.ID(err), 0, refusedWell(err)
}

// cause is what a backend said.
func cause(err error) error {
	var e *sqlerr.Error
	var failed *backend.Error
	switch {
	case errors.As(err, &failed) && failed.Unwrap() != nil:
		return failed.Unwrap()
	case errors.As(err, &e) && e.Unwrap() != nil:
		return e.Unwrap()
	}
	return err
}

// composedSettings are those that statements are printed by, turn by turn, with the first for what others do not say.
var composedSettings = []map[string]string{
	{"dpsql.max_groups": "1", "dpsql.clip": "auto", "dpsql.mechanism": "auto", "dpsql.bounding": "auto"},
	{"dpsql.max_groups": "auto", "dpsql.clip": "1"},
	{"dpsql.mechanism": "gaussian", "dpsql.bounding": "l2"},
	{"dpsql.clip": "2", "dpsql.bounding": "linf"},
}

// use gives a session the settings of a turn, in another time zone every third one.
func (w composedWorld) use(turn int) error {
	var zone *sqltype.Zone
	if turn%3 == 2 {
		zone, _ = sqltype.LookupZone("America/New_York")
	}
	w.Use(sqltype.Settings{Zone: zone})
	for _, settings := range []map[string]string{composedSettings[0], composedSettings[turn%len(composedSettings)]} {
		for name, value := range settings {
			if err := w.Set(name, []string{value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// try says what is wrong with a statement: it is refused in all worlds alike, or answered. In a short run one of the worlds without values is asked.
func (c *composed) try(sql string, turn int) (outcome string, err error) {
	for i, w := range c.worlds {
		if i > 0 && i-1 != turn%2 && os.Getenv("DPSQL_LONG") == "" {
			continue
		}
		if err := w.use(turn); err != nil {
			return "", err
		}
		one, rows, err := w.ask(sql)
		if err != nil {
			return "", fmt.Errorf("%s, %s: %w", c.d, w.name, err)
		}
		if i > 0 && one != outcome {
			return "", fmt.Errorf("%s: %s is %s, %s is %s", c.d, c.worlds[0].name, outcome, w.name, one)
		}
		outcome = one
		c.rows += rows
	}
	return outcome, nil
}

// composedStatements are asked in each run, of one seed: twice as many as the registry has rows, or more. DuckDB takes three times as long.
var composedStatements = map[backend.Dialect]int{backend.Postgres: 2000, backend.DuckDB: 1120}

const composedSeed = uint64(1)

// TestComposed: statements of calls nested in one another, with extreme constants and columns, in every place that a statement has for an expression, are refused before they are charged, or answered: whatever the tables hold.
// COMPOSED_STATEMENTS and COMPOSED_SEED say how many and from which seed; DPSQL_LONG means many new ones.
func TestComposed(t *testing.T) {
	InOneThread(t)
	many, seed := composedStatements, composedSeed
	if os.Getenv("DPSQL_LONG") != "" {
		many, seed = map[backend.Dialect]int{backend.Postgres: 70000, backend.DuckDB: 30000}, rand.Uint64()
	}
	if n, err := strconv.Atoi(os.Getenv("COMPOSED_STATEMENTS")); err == nil {
		many = map[backend.Dialect]int{backend.Postgres: n, backend.DuckDB: n}
	}
	if n, err := strconv.ParseUint(os.Getenv("COMPOSED_SEED"), 10, 64); err == nil {
		seed = n
	}
	for _, d := range dialects {
		t.Run(string(d), func(t *testing.T) {
			c, count, failed, statements := newComposed(t, d), map[string]int{}, map[string]bool{}, many[d]
			for _, w := range c.worlds {
				set(t, w.Session, "dpsql.epsilon", fmt.Sprint(min(5, 5000/float64(statements)))) // the budget is for all of them
			}
			for i := range uint64(statements) {
				tape := generate.Record(rand.New(rand.NewPCG(seed, i)).IntN)
				outcome, err := c.try(c.make(tape.Draw, int(i)), int(i))
				if count[outcome]++; err == nil {
					continue
				}
				kind := failure(err)
				if failed[kind] || len(failed) >= 25 {
					continue
				}
				failed[kind] = true
				t.Errorf("seed %d, statement %d: %s", seed, i, c.least(tape.Choices, int(i), kind))
			}
			t.Logf("seed %d: %d rows of the registry, %d of answers; %s", seed, c.calls, c.rows, counted(count))
			if os.Getenv("COMPOSED_STATEMENTS") == "" && statements < 2*c.calls {
				t.Errorf("%d statements do not call all of %d rows", statements, c.calls)
			}
			if statements >= 500 && count["answered"] < statements/2 {
				t.Errorf("only %d of %d statements were answered", count["answered"], statements)
			}
		})
	}
}

// least is the smallest statement found that fails in the same way, and how.
func (c *composed) least(choices []int, turn int, kind string) string {
	fails := func(tape *generate.Tape) bool {
		_, err := c.try(c.make(tape.Draw, turn), turn)
		return err != nil && failure(err) == kind
	}
	text := c.make((&generate.Tape{Choices: generate.Shrink(choices, 300, fails)}).Draw, turn)
	_, err := c.try(text, turn)
	return fmt.Sprintf("%s\n%v", text, err)
}
