package enginetest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// WithoutOne is the clinic without its heaviest person, the one whom attacks are after.
var WithoutOne = Without[0]

// Emptied takes all rows but those of the patients away.
const Emptied = `DELETE FROM "public"."labs"; DELETE FROM "public"."prescriptions"; DELETE FROM "public"."visits"; DELETE FROM "public"."encounters"`

// Visits inserts n units from first on, each with rows of a value.
func Visits(first, n, rows int64, minutes any) string {
	return fmt.Sprintf(`INSERT INTO "public"."visits" SELECT %d + u.i, %v FROM range(%d) u(i), range(%d) r(i)`, first, minutes, n, rows)
}

// ClinicPolicy is package neighbour's clinic as an owner would publish it. The password of all is "demo".
const ClinicPolicy = `
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

// Verifier is what a policy says of the password "demo".
const Verifier = `"SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA="`

// ClinicPolicyFor reads the clinic's policy for a backend; edits are pairs of old and new text.
func ClinicPolicyFor(t testing.TB, d dialect.Dialect, edits ...string) *policy.Policy {
	t.Helper()
	text := strings.ReplaceAll(ClinicPolicy, "VERIFIER", Verifier)
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

// Clinic names one database: its data, and what was changed in it.
type Clinic struct {
	Name   string
	Data   neighbour.Data
	Change []string
}

// The clinic whose data breaks every declaration, and its neighbours.
var (
	Wild    = Clinic{Name: "wild", Data: neighbour.Outside}
	Tame    = Clinic{Name: "tame", Data: neighbour.Inside}
	Without = []Clinic{Lacking(neighbour.Heavy), Lacking(neighbour.Plain), Lacking(neighbour.Nulls)}
	Owned   = Clinic{Name: "owned", Data: neighbour.Outside, Change: neighbour.ClinicCatalog().DeleteOwnerless()}
	Mixed   = Clinic{Name: "mixed", Data: neighbour.Outside, Change: shuffled()}
)

// Lacking is the wild clinic without one unit.
func Lacking(unit int) Clinic {
	return Clinic{Name: fmt.Sprintf("without_%d", unit), Data: neighbour.Outside, Change: neighbour.ClinicCatalog().DeleteUnit(unit)}
}

// shuffled puts all tables' rows into another physical order.
func shuffled() []string {
	var out []string
	for _, t := range neighbour.ClinicCatalog().Tables {
		out = append(out, neighbour.Shuffle(t)...)
	}
	return out
}

// Statements make the clinic.
func (c Clinic) Statements() []string {
	out := append(neighbour.ClinicCatalog().DDL(), neighbour.ClinicRows(c.Data)...)
	return append(out, c.Change...)
}

// Opened keeps the clinics of a test binary: each is made once a backend.
var (
	Opened  = map[string]backend.Backend{}
	opening sync.Mutex
)

// Open opens the clinic in a backend.
func (c Clinic) Open(t testing.TB, d dialect.Dialect) backend.Backend {
	t.Helper()
	opening.Lock()
	defer opening.Unlock()
	key := d.String() + c.Name
	if b, ok := Opened[key]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = openFixed(context.Background(), c.fillDuck, duckdb.Options{Threads: 1})
	} else {
		b, err = c.OpenPostgres(SharedServer(t), "clinic_"+c.Name)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	Opened[key] = b
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

func (c Clinic) fillDuck(ctx context.Context, conn *sql.Conn) error {
	for _, s := range c.Statements() {
		if _, err := conn.ExecContext(ctx, strings.ReplaceAll(s, `"public".`, `"main".`)); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return nil
}

// OpenPostgres makes the clinic as a database of a server, and opens it.
func (c Clinic) OpenPostgres(s *pgtest.Server, name string) (backend.Backend, error) {
	if err := s.CreateDB(name); err != nil {
		return nil, err
	}
	if err := s.Exec(name, strings.Join(c.Statements(), ";\n")); err != nil {
		return nil, err
	}
	return postgres.Open(context.Background(), s.URL(name), postgres.Options{PoolSize: 3})
}

// EngineOn opens an engine on an empty ledger.
func EngineOn(t testing.TB, p *policy.Policy, b backend.Backend) *server.Engine {
	t.Helper()
	fixedCap(p)
	return OpenOn(t, p, b)
}

// OpenOn opens an engine on an empty ledger, with the policy's defaults.
func OpenOn(t testing.TB, p *policy.Policy, b backend.Backend) *server.Engine {
	t.Helper()
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// fixedCap bounds each of a person's groups, of which 4 count, where a policy leaves that to each statement: most tests look at one scan whose sensitivity is known beforehand. The defaults have tests of their own (TestDefaultsDropNoGroup).
func fixedCap(p *policy.Policy) {
	if p.Query.Bounding == "auto" {
		p.Query.Bounding = "linf"
	}
	if p.Query.MaxGroups == 0 {
		p.Query.MaxGroups = 4
	}
}

// NewSession is a session of an analyst of the clinic.
func NewSession(e *server.Engine, t testing.TB, user string) *session.Session {
	t.Helper()
	s, err := session.NewSession(e, user, "test")
	if err != nil {
		t.Fatal(err)
	}
	s.Start.Rounding, s.Now.Rounding = session.RoundOff, session.RoundOff // tests compare what was released
	return s
}

// FixedNoise makes the session's engine draw the same noise in each run, so that a test of drawn numbers fails always or never.
func FixedNoise(s *session.Session, seed uint64) *session.Session {
	s.Engine.Noise = audit.Source(seed)
	return s
}

// ClinicSession is a session of ann before a clinic, on an empty ledger.
func ClinicSession(t testing.TB, c Clinic, d dialect.Dialect, edits ...string) *session.Session {
	t.Helper()
	return NewSession(EngineOn(t, ClinicPolicyFor(t, d, edits...), c.Open(t, d)), t, "ann")
}

// AnyJoins is the clinic's policy with joins off the unit.
var AnyJoins = []string{"query:  {price: 0.5}", "query:  {price: 0.5, joins: any}"}

// SessionOver is ann's session over what statements make, in a new database.
func SessionOver(t *testing.T, d dialect.Dialect, name string, statements []string, pol *policy.Policy) *session.Session {
	t.Helper()
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, strings.Join(statements, ";\n"))
			return err
		}, duckdb.Options{Threads: 1})
		b = Keeping(b)
	} else {
		s := SharedServer(t)
		if err = s.CreateDB(name); err == nil {
			if err = s.Exec(name, strings.Join(statements, ";\n")); err == nil {
				b, err = postgres.Open(context.Background(), s.URL(name), postgres.Options{PoolSize: 4})
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return NewSession(EngineOn(t, pol, b), t, "ann")
}

// Dialects are those of the backends.
var Dialects = []dialect.Dialect{funcs.DuckDB, funcs.Postgres}

// Roomy lets every row and group of the tame clinic in, so that nothing is cut.
var Roomy = []string{"max_rows_per_unit: 4", "max_rows_per_unit: 1000", "max_rows_per_unit: 6", "max_rows_per_unit: 1000", "max_rows_per_unit: 3", "max_rows_per_unit: 1000"}

// AutoEdits leave the bounds of encounters and of visits' minutes to each statement, and give room for many statements.
var AutoEdits = []string{"    max_rows_per_unit: 4\n", "    max_rows_per_unit: auto\n", "minutes:    {range: [0, 600]}", "minutes:    {range: auto}", "epsilon: 20,", "epsilon: 1000,"}

// DeclaredKeys is the clinic's policy with joins off the unit and frequencies of keys, which the wild clinic exceeds.
var DeclaredKeys = append(AnyJoins[:2:2],
	"  patients:\n    columns:\n", "  patients:\n    max_frequency: {city_id: 5, race: 4}\n    columns:\n",
	"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {diag: 7, kind_id: 9, days: 3, free: 60, \"(readmitted, diag)\": 4, ratio: 2}\n    columns:\n      encounter_id: {}\n",
	"    max_rows_per_unit: 6\n    columns:\n", "    max_rows_per_unit: 6\n    max_frequency: {drug: 8}\n    columns:\n",
	"  rates:  {public: true}", "  rates:  {public: true, max_frequency: {kind_id: 1}}",
)
