package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// clinicPolicy is package neighbour's clinic as an owner would publish it. The password of all is "demo".
const clinicPolicy = `
dataset: clinic
data_version: "1"
backend: BACKEND
unit: patients.patient_id
tables:
  patients:
    columns:
      patient_id: {}
      gender:     {values: [Female, Male]}
      race:       {}
      active:     {}
      smoker:     {}
      city_id:    {}
      weight:     {range: [0, 300]}
      account:    {range: [-1000, 1000]}
      ward:       {values: [A, B, null]}
  encounters:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 4
    columns:
      encounter_id: {}
      patient_id:   {}
      kind_id:      {values: {from: kinds.id}}
      days:         {range: [1, 14]}
      medications:  {range: [0, 100]}
      score:        {range: [-1, 1]}
      cost:         {range: [0, 500]}
      ratio:        {range: [0, 10]}
      diag:         {}
      readmitted:   {values: ["NO", "<30", ">30"]}
      big:          {range: [-1000000000000, 1000000000000]}
      level:        {range: [0, 10], step: 0.25}
      free:         {}
  prescriptions:
    unit: encounter_id -> encounters.encounter_id
    max_rows_per_unit: 6
    columns:
      encounter_id: {}
      drug:         {}
      dose:         {range: [0, 20]}
      change:       {values: [up, down, steady]}
  labs:
    unit: (patient_id, encounter_id) -> encounters.(patient_id, encounter_id)
    max_rows_per_unit: 3
    columns:
      patient_id:   {}
      encounter_id: {}
      value:        {range: [0, 1000]}
  visits:
    unit: patient_id -> patients.patient_id
    columns:
      patient_id: {}
      minutes:    {range: [0, 600]}
  stays:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 4
    columns:
      patient_id: {}
      admitted:   {range: [2018-03-01, 2020-12-31]}
      discharged: {range: [2018-03-01, 2021-06-30]}
      came:       {range: ["2018-03-01 00:00:00", "2020-12-31 23:59:59"]}
      went:       {range: ["2018-03-01 00:00:00", "2021-06-30 23:59:59"]}
  cities: {public: true}
  kinds:  {public: true}
  rates:  {public: true}
budget: {epsilon: 20, delta: 1e-6}
query:  {price: 0.5}
statement_timeout: 20s
analysts:
  ann:   {password: VERIFIER, may: [patients, encounters, prescriptions, labs, visits, stays, cities, kinds, rates], max_query_price: 5}
  bob:   {password: VERIFIER, may: [patients, encounters, prescriptions, labs, visits, stays, cities, kinds, rates]}
  guest: {password: VERIFIER, may: [patients, encounters, prescriptions, labs, visits, stays, cities, kinds, rates], budget: {epsilon: 0.2}}
  clerk: {password: VERIFIER, may: [patients.gender, patients.patient_id, cities]}
  nobody: {password: VERIFIER}
`

const verifier = `"SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA="`

// clinicPolicyFor reads the clinic's policy for a backend; edits are pairs of old and new text.
func clinicPolicyFor(t testing.TB, d dialect.Dialect, edits ...string) *policy.Policy {
	t.Helper()
	text := strings.ReplaceAll(clinicPolicy, "VERIFIER", verifier)
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: clinic.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/clinic"}`}[d]
	text = strings.ReplaceAll(text, "BACKEND", uri)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the policy has no %q", edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	p, err := policy.Parse("clinic.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// clinic names one database: its data, and what was changed in it.
type clinic struct {
	name   string
	data   neighbour.Data
	change []string
}

// The clinic whose data breaks every declaration, and its neighbours.
var (
	wild    = clinic{name: "wild", data: neighbour.Outside}
	tame    = clinic{name: "tame", data: neighbour.Inside}
	without = []clinic{lacking(neighbour.Heavy), lacking(neighbour.Plain), lacking(neighbour.Nulls)}
	owned   = clinic{name: "owned", data: neighbour.Outside, change: neighbour.ClinicCatalog().DeleteOwnerless()}
	mixed   = clinic{name: "mixed", data: neighbour.Outside, change: shuffled()}
)

func lacking(unit int) clinic {
	return clinic{name: fmt.Sprintf("without_%d", unit), data: neighbour.Outside, change: neighbour.ClinicCatalog().DeleteUnit(unit)}
}

// shuffled puts all tables' rows into another physical order.
func shuffled() []string {
	var out []string
	for _, t := range neighbour.ClinicCatalog().Tables {
		out = append(out, neighbour.Shuffle(t)...)
	}
	return out
}

func (c clinic) statements() []string {
	out := append(neighbour.ClinicCatalog().DDL(), neighbour.ClinicRows(c.data)...)
	return append(out, c.change...)
}

// opened keeps the clinics of the package: each is made once a backend.
var (
	opened  = map[string]backend.Backend{}
	opening sync.Mutex
)

func (c clinic) open(t testing.TB, d dialect.Dialect) backend.Backend {
	t.Helper()
	opening.Lock()
	defer opening.Unlock()
	key := d.String() + c.name
	if b, ok := opened[key]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = openFixed(context.Background(), c.fillDuck, duckdb.Options{Threads: 1})
	} else {
		b, err = c.openPostgres(sharedServer(t), "clinic_"+c.name)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	opened[key] = b
	return b
}

// fixedDuck is a DuckDB in memory whose tables nothing changes: its catalog is read once for all engines of the tests, which is most of what opening one takes.
type fixedDuck struct {
	*duckdb.DB
	mu   sync.Mutex
	seen map[string][]sqltype.Relation
}

func openFixed(ctx context.Context, load func(context.Context, *sql.Conn) error, o duckdb.Options) (backend.Backend, error) {
	db, err := duckdb.OpenMemory(ctx, load, o)
	if err != nil {
		return nil, err
	}
	return &fixedDuck{DB: db, seen: map[string][]sqltype.Relation{}}, nil
}

// Describe implements backend.Backend.
func (d *fixedDuck) Describe(ctx context.Context, names []backend.RelationName) ([]sqltype.Relation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := fmt.Sprint(names)
	if _, ok := d.seen[key]; !ok {
		rels, err := d.DB.Describe(ctx, names)
		if err != nil {
			return nil, err
		}
		d.seen[key] = rels
	}
	out := slices.Clone(d.seen[key])
	for i := range out {
		out[i].Columns = slices.Clone(out[i].Columns)
	}
	return out, nil
}

func (c clinic) fillDuck(ctx context.Context, conn *sql.Conn) error {
	for _, s := range c.statements() {
		if _, err := conn.ExecContext(ctx, strings.ReplaceAll(s, `"public".`, `"main".`)); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return nil
}

func (c clinic) openPostgres(s *pgtest.Server, name string) (backend.Backend, error) {
	if err := s.CreateDB(name); err != nil {
		return nil, err
	}
	if err := s.Exec(name, strings.Join(c.statements(), ";\n")); err != nil {
		return nil, err
	}
	return postgres.Open(context.Background(), s.URL(name), postgres.Options{PoolSize: 3})
}

// engineOn opens an engine on an empty ledger.
func engineOn(t testing.TB, p *policy.Policy, b backend.Backend) *server.Engine {
	t.Helper()
	fixedCap(p)
	return openOn(t, p, b)
}

// openOn opens an engine on an empty ledger, with the policy's defaults.
func openOn(t testing.TB, p *policy.Policy, b backend.Backend) *server.Engine {
	t.Helper()
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// fixedCap bounds each of a person's groups, of which 4 count, where a policy leaves that to each statement: most tests look at one scan whose sensitivity is known beforehand. The defaults have tests of their own (defaults_test.go).
func fixedCap(p *policy.Policy) {
	if p.Query.Bounding == "auto" {
		p.Query.Bounding = "linf"
	}
	if p.Query.MaxGroups == 0 {
		p.Query.MaxGroups = 4
	}
}

// session is a session of an analyst of the clinic.
func newSession(e *server.Engine, t testing.TB, user string) *session.Session {
	t.Helper()
	s, err := session.NewSession(e, user, "test")
	if err != nil {
		t.Fatal(err)
	}
	s.Start.Rounding, s.Now.Rounding = session.RoundOff, session.RoundOff // tests compare what was released
	return s
}

// fixedNoise makes the session's engine draw the same noise in each run, so that a test of drawn numbers fails always or never.
func fixedNoise(s *session.Session, seed uint64) *session.Session {
	s.Engine.Noise = audit.Source(seed)
	return s
}

// clinicSession is a session of ann before a clinic, on an empty ledger.
func clinicSession(t testing.TB, c clinic, d dialect.Dialect, edits ...string) *session.Session {
	t.Helper()
	return newSession(engineOn(t, clinicPolicyFor(t, d, edits...), c.open(t, d)), t, "ann")
}

// try prepares and runs a statement.
func try(s *session.Session, sql string, args ...sqltype.Value) ([][]sqltype.Value, error) {
	p, err := prepare(s, sql)
	if err != nil {
		return nil, err
	}
	a, err := p.Run(context.Background(), args)
	if err != nil {
		return nil, err
	}
	return a.All(context.Background())
}

// besideLost are warnings but that of encounters without a patient, which nearly every statement of the clinic has.
func besideLost(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		return strings.HasSuffix(w, " is a value that the policy does not list are in no group") || w == "rows in which encounters.patient_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
	})
}

func set(t testing.TB, s *session.Session, name, value string) {
	t.Helper()
	if err := s.Set(name, []string{value}); err != nil {
		t.Fatal(err)
	}
}

// uncovered is a backend as package neighbour wants it: printed statements in, rows out of their cover.
type uncovered struct{ backend.Backend }

// Exec refuses: a backend runs printed statements only.
func (uncovered) Exec(context.Context, string) error { return errors.ErrUnsupported }

// Query gives a printed statement's rows.
func (u uncovered) Query(ctx context.Context, st *sqlgen.Statement) (out [][]sqltype.Value, err error) {
	e := &server.Engine{Backend: u.Backend}
	err = e.InSnapshot(ctx, &server.World{}, st, nil, func(rows secret.Rows) error {
		for rows.Next() {
			var row []sqltype.Value
			for _, v := range rows.Row() {
				row = append(row, secret.Open(v))
			}
			out = append(out, row)
		}
		return rows.Err()
	})
	var failed *backend.Error
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%w: %w", err, failed.Unwrap())
	}
	return out, err
}
