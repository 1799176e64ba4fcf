package prooftest

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
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/generate"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/nested"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
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
query:  {price: 5, max_groups: 1, joins: any}
analysts:
  ann: {password: VERIFIER, may: [persons, events], max_query_price: 5}
`

// composed is a generator of statements before databases of one backend whose rows have nothing in common.
type composed struct {
	t      *testing.T
	d      dialect.Dialect
	make   func(draw generate.Source, turn int) composedStatement
	worlds []composedWorld
	calls  int                 // rows of the registry
	rows   int                 // of all answers
	mangle func(string) string // plants a bug in prints, after renew; nil: none
}

type composedStatement struct {
	text   string
	params []nested.Param
}

// args are the values of its parameters.
func (st composedStatement) args() ([]sqltype.Value, error) {
	var out []sqltype.Value
	for _, p := range st.params {
		v, err := sqltype.ParseText(p.Text, sqltype.Type{OID: p.Type, Typmod: -1})
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

type composedWorld struct {
	name string
	of   backend.Backend
	*session.Session
}

func newComposed(t *testing.T, d dialect.Dialect) *composed {
	t.Helper()
	cat, err := nested.Catalog(d)
	if err != nil {
		t.Fatal(err)
	}
	c := &composed{t: t, d: d, make: func(draw generate.Source, turn int) composedStatement {
		g := nested.New(cat, d, nested.Source(draw)).WithParams()
		text := g.Statement(turn)
		return composedStatement{text, g.Params}
	}, calls: nested.New(cat, d, nil).Rows()}
	for _, w := range []struct {
		name string
		rows []string
	}{{"hostile", append(nested.Rows(cat, d, rand.New(rand.NewPCG(7, 7)).IntN), neighbour.Captures(cat.Tables, d == funcs.DuckDB, func(*plan.Table) string { return "patient_id % 3 = 0" })...)}, {"empty", nil}, {"nulls", nested.Nulls()}} {
		c.worlds = append(c.worlds, composedWorld{w.name, openComposed(t, d, w.name, append(cat.DDL(), w.rows...)), nil})
	}
	c.renew()
	return c
}

// renew gives each world a new budget.
func (c *composed) renew() {
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: composed.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/composed"}`}[c.d]
	text := strings.NewReplacer("VERIFIER", enginetest.Verifier, "BACKEND", uri, "COLUMNS", nested.PolicyColumns()).Replace(composedPolicy)
	for i := range c.worlds {
		w := &c.worlds[i]
		if w.Session != nil {
			_ = w.Engine.Close()
		}
		p, err := policy.Parse("composed.yaml", []byte(text))
		if err != nil {
			c.t.Fatal(err)
		}
		w.Session = enginetest.NewSession(enginetest.EngineOn(c.t, p, readable{w.of, c.mangle}), c.t, "ann")
		enginetest.Set(c.t, w.Session, "dpsql.fresh", "on") // each statement is read
	}
}

func openComposed(t *testing.T, d dialect.Dialect, name string, statements []string) backend.Backend {
	t.Helper()
	name = "composed_" + name
	if b, ok := enginetest.Opened[d.String()+name]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range statements {
				if _, err := conn.ExecContext(ctx, strings.NewReplacer(`"public".`, `"main".`, "INTO public.", "INTO main.").Replace(s)); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		s := enginetest.SharedServer(t)
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
	enginetest.Opened[d.String()+name] = b
	return b
}

// readable is a backend that fails at a value that no Go value of its type holds: prints of private statements give none.
type readable struct {
	backend.Backend
	mangle func(string) string // plants a bug in what is asked; nil: none
}

func (b readable) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := b.Backend.Begin(ctx)
	return readableTx{tx, b.mangle}, err
}

type readableTx struct {
	backend.Tx
	mangle func(string) string
}

func (tx readableTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if tx.mangle != nil {
		sql = tx.mangle(sql)
	}
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
func (w composedWorld) ask(st composedStatement) (outcome string, rows int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	charges := func() int64 {
		b, err := w.Engine.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
		if err != nil {
			panic(err)
		}
		return b.Dataset.Statements
	}
	p, err := enginetest.Prepare(w.Session, st.text)
	if err != nil {
		return "refused " + sqlerr.ID(err), 0, refusedWell(err)
	}
	args, err := st.args()
	if err != nil { // the client's own mistake
		return "no parameter", 0, nil
	}
	before := charges()
	a, err := p.Run(context.Background(), args)
	if err == nil {
		var out [][]sqltype.Value
		out, err = a.All(context.Background())
		rows = len(out)
	}
	switch {
	case err == nil:
		return "answered", rows, nil
	case charges() != before:
		if err := w.Engine.Unfreeze(context.Background(), "ann", "owner"); err != nil {
			panic(err)
		}
		return "", 0, fmt.Errorf("failed after its charge: %w", cause(err))
	}
	if id := sqlerr.ID(err); id == sqlerr.BudgetExhausted.ID {
		return "", 0, err // nothing that follows would be tried
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

// try says what is wrong with a statement: it is refused in all worlds alike, or answered. In a short run one of the worlds without values is asked; on DuckDB, which
// takes three times as long, for every second statement.
func (c *composed) try(st composedStatement, turn int) (outcome string, err error) {
	other := 1 + turn%2
	if c.d == funcs.DuckDB {
		other = []int{1, 0, 2, 0}[turn%4]
	}
	for i, w := range c.worlds {
		if i > 0 && i != other && os.Getenv("DPSQL_LONG") == "" {
			continue
		}
		if err := w.use(turn); err != nil {
			return "", err
		}
		one, rows, err := w.ask(st)
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

// composedStatements are asked in each run, of one seed: twice as many as the registry has rows, or more.
var composedStatements = map[dialect.Dialect]int{funcs.Postgres: 1400, funcs.DuckDB: 1120}

const (
	composedSeed   = uint64(1)
	composedBudget = 1000 // statements before one budget
)

// TestComposed: statements of calls nested in one another, with extreme constants and columns, in every place that a statement has for an expression, are refused before they are charged, or answered: whatever the tables hold.
// COMPOSED_STATEMENTS and COMPOSED_SEED say how many and from which seed; DPSQL_LONG means many new ones.
func TestComposed(t *testing.T) {
	many, seed := composedStatements, composedSeed
	if os.Getenv("DPSQL_LONG") != "" {
		many, seed = map[dialect.Dialect]int{funcs.Postgres: 70000, funcs.DuckDB: 30000}, rand.Uint64()
	}
	if n, err := strconv.Atoi(os.Getenv("COMPOSED_STATEMENTS")); err == nil {
		many = map[dialect.Dialect]int{funcs.Postgres: n, funcs.DuckDB: n}
	}
	if n, err := strconv.ParseUint(os.Getenv("COMPOSED_SEED"), 10, 64); err == nil {
		seed = n
	}
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			c, count, failed, statements := newComposed(t, d), map[string]int{}, map[string]bool{}, many[d]
			for i := range uint64(statements) {
				if i%composedBudget == composedBudget-1 {
					c.renew()
				}
				if i%5000 == 4999 {
					t.Logf("%d of %d statements", i+1, statements)
				}
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

// TestComposedOnce: what composed statements once found.
func TestComposedOnce(t *testing.T) {
	for _, d := range enginetest.Dialects {
		c := newComposed(t, d)
		for i, text := range []string{
			// It had 20 places and 29 digits before the point.
			"select sum(greatest(least((- (cast(cast('0' as numeric) as numeric(38,20)) + floor(n1))), cast(1 as numeric)), cast(0 as numeric))) from persons",
			"select sum(greatest(least(0.00000000000000000000 + floor(n1), cast(1 as numeric)), cast(0 as numeric))) from persons",
			// DuckDB lost the name of a struct's field that is a macro.
			"select count(*) from (select patient_id, replace(least(cast(b1 as text), x1), x1, reverse(x1)) x from persons) p where x in (select cast('' as text) from events e where e.patient_id = p.patient_id)",
			// A value that has no room at the places of the end that it is compared with was cast to them.
			"select min(trunc(case when i1 = 3 then 900000000000000000000000000000000000::numeric else cast(patient_id as numeric(38,0)) end)) from persons",
			"select min(trunc(n4)), max(round(n4, 0)) from persons",
			"select min(round(l1::numeric * l1, 0)) from persons",
			"select count(*) from persons where n1 < cast('1.8e308' as numeric)",
			"select max(round(factorial(33) + i1, 0)) from persons",
		} {
			if outcome, err := c.try(composedStatement{text: text}, i); err != nil || outcome != "answered" {
				t.Errorf("%s\n%s, %v", text, outcome, err)
			}
		}
	}
}

// TestDeepExpressions: calls nested in one another are as long for the database as they are many, and too many of them are refused before the charge. With DuckDB's nullif, which is a macro, ten took minutes, which nothing could stop.
func TestDeepExpressions(t *testing.T) {
	nest := func(n int, before, x, after string) string {
		return strings.Repeat(before, n) + x + strings.Repeat(after, n)
	}
	for _, d := range enginetest.Dialects {
		c := newComposed(t, d)
		for i, of := range []struct{ x, outcome string }{
			{"i1" + strings.Repeat(" + i1", 100), "answered"}, {nest(100, "abs(", "i1", ")"), "answered"}, {nest(60, "gcd(", "l1", ", 6)"), "answered"}, {nest(60, "(", "i1", ")::int8::float8::int4"), "answered"},
			{nest(50, "-(1 - ", "i1", " % 3)"), "answered"}, {nest(30, "factorial((", "i1", ")::int4 % 5)"), "answered"}, {"i1" + strings.Repeat(" + i1", 150), "answered"}, {"l1" + strings.Repeat(" * l1 / 2", 60), "answered"},
			{nest(14, "round(", "f1", ")"), "answered"}, {nest(8, "nullif(", "i1", ", 1)"), "answered"}, {nest(3, "(", "i1", " between symmetric 0 and 1)::int"), "answered"},
			{nest(26, "nullif(", "i1", ", 1)"), ""}, {nest(12, "(", "i1", " between symmetric 0 and 1)::int"), ""}, {nest(20, "((", "i1", ", i1) < (1, 2))::int"), ""}, {nest(20, "case ", "i1", " when 1 then 2 when 3 then 4 end"), ""},
			{nest(20, "(", "i1", " between 0 and 1)::int"), ""}, {"length(" + nest(14, "reverse(", "x1", ")") + ")", "answered"},
			{nest(990, "abs(", "i1", ")"), ""}, {"i1" + strings.Repeat(" + i1", 900), ""},
		} {
			text := "select count(*) from persons where " + of.x + " > 5"
			outcome, err := c.try(composedStatement{text: text}, i)
			if err != nil || of.outcome == "answered" && outcome != of.outcome || of.outcome == "" && !strings.Contains(outcome, sqlerr.TooComplex.ID) {
				t.Errorf("%s: %.80s\n%s, %v", d, text, outcome, err)
			}
		}
	}
}

// least is the smallest statement found that fails in the same way, and how.
func (c *composed) least(choices []int, turn int, kind string) string {
	c.renew() // it asks much
	fails := func(tape *generate.Tape) bool {
		_, err := c.try(c.make(tape.Draw, turn), turn)
		return err != nil && failure(err) == kind
	}
	st := c.make((&generate.Tape{Choices: generate.Shrink(choices, 300, fails)}).Draw, turn)
	_, err := c.try(st, turn)
	return fmt.Sprintf("%v\n%v", st, err)
}
