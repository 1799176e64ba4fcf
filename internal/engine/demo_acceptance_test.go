package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/testdata/demo"
)

// Both backends with the demo's data, started once.
var shared struct {
	duck   sync.Once
	start  sync.Once
	pg     sync.Once
	db     backend.Backend
	server *pgtest.Server
	real   backend.Backend
	stop   func()
}

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests runs a package's tests and ends what they share.
func runTests(m *testing.M) int {
	code := m.Run()
	if shared.db != nil {
		_ = shared.db.Close()
	}
	if shared.real != nil {
		_ = shared.real.Close()
	}
	if shared.stop != nil {
		shared.stop()
	}
	return code
}

func demoDuck(t testing.TB) backend.Backend {
	shared.duck.Do(func() {
		db, err := openFixed(context.Background(), demo.LoadDuckDB, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared.db = db
	})
	return shared.db
}

// sharedServer is the package's one PostgreSQL.
func sharedServer(t testing.TB) *pgtest.Server {
	shared.start.Do(func() {
		s, stop, err := pgtest.StartShared()
		if err != nil {
			t.Fatal(err)
		}
		shared.server, shared.stop = s, stop
	})
	return shared.server
}

func demoPostgres(t testing.TB) backend.Backend {
	shared.pg.Do(func() {
		s := sharedServer(t)
		if err := s.LoadDemo("demo"); err != nil {
			t.Fatal(err)
		}
		db, err := postgres.Open(context.Background(), s.ReaderURL("demo"), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared.real = db
	})
	return shared.real
}

// demoSession is a session of the demo's analyst before a backend, on an empty ledger.
func demoSession(t testing.TB, b backend.Backend, user string, changes ...func(*policy.Policy)) *session.Session {
	t.Helper()
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if b.Dialect() == funcs.Postgres { // the same policy, another database
		text = bytes.Replace(text, []byte("{duckdb: demo.duckdb}"), []byte(`{postgres: "postgres://reader@127.0.0.1/demo"}`), 1)
	}
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	fixedCap(p)
	for _, c := range changes {
		c(p)
	}
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s, err := session.NewSession(e, user, "psql")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prepare(s *session.Session, sql string, params ...sqltype.OID) (*prepared, error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	p, err := Prepare(context.Background(), s, st[0], params)
	if err != nil {
		return nil, err
	}
	return &prepared{Prepared: p}, nil
}

func ask(t testing.TB, s *session.Session, sql string) (*prepared, *answer.Answer) {
	t.Helper()
	p, err := prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	a, err := p.Run(context.Background(), nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p, a
}

// kept is a scan's rows, to be released more than once.
type kept struct {
	rows [][]secret.Value
	at   int
}

func (k *kept) Next() bool          { k.at++; return k.at <= len(k.rows) }
func (k *kept) Row() []secret.Value { return k.rows[k.at-1] }
func (k *kept) Err() error          { return nil }
func (k *kept) Close()              {}

// scan runs a statement's print once, before any noise.
func scan(t testing.TB, p *prepared) (*sqlgen.Statement, [][]secret.Value) {
	t.Helper()
	return scanStage(t, p.Statement, p.analysis(), nil)
}

func scanStage(t testing.TB, p *session.Statement, an *sensitivity.Analysis, params []sqltype.Value) (*sqlgen.Statement, [][]secret.Value) {
	t.Helper()
	st, err := sqlgen.Private(an, p.Session.Engine.Dialect, 7)
	if err != nil {
		t.Fatal(err)
	}
	return st, secretRows(t, p, st, params)
}

// secretRows runs a printed statement.
func secretRows(t testing.TB, p *session.Statement, st *sqlgen.Statement, params []sqltype.Value) [][]secret.Value {
	t.Helper()
	e := p.Session.Engine
	tx, err := e.Backend.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	args, want := server.BindArgs(st, params)
	rows, err := tx.Query(context.Background(), st.SQL, args, want)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out [][]secret.Value
	for rows.Next() {
		out = append(out, slices.Clone(rows.Row()))
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return out
}

// make1 is one release of rows that are kept.
func make1(p *prepared, mp *price.Quote, cols []sqlgen.Column, rows secret.Rows, src *noise.Source) (*release.Release, error) {
	m, err := release.New(p.analysis(), mp, src, 1_000_000)
	if err != nil {
		return nil, err
	}
	return m.Read(cols, rows)
}

// totals are a scan's integers by key text.
func totals(t testing.TB, p *prepared) map[string][]*big.Int {
	t.Helper()
	st, rows := scan(t, p)
	out := map[string][]*big.Int{}
	for _, r := range rows {
		var key []string
		vals := make([]*big.Int, len(p.analysis().Measures))
		for i, c := range st.Columns {
			v := secret.Open(r[i])
			switch c.Role {
			case sqlgen.RoleKey:
				if v == nil {
					v = "NULL"
				}
				key = append(key, fmt.Sprint(v))
			case sqlgen.RoleMeasure:
				switch v := v.(type) {
				case nil:
					vals[c.Index] = new(big.Int)
				case int64:
					vals[c.Index] = big.NewInt(v)
				case decimal.Decimal:
					vals[c.Index] = v.BigInt()
				}
			}
		}
		out[strings.Join(key, "|")] = vals
	}
	return out
}

const byReadmitted = "select readmitted, count(*), avg(days_in_hospital) from encounters group by 1 order by 2 desc"

// TestDoneWhenAccuracy: one scan, 200 fresh releases, each charged on its own empty ledger; in at least 190 every count is within 4% of the truth, and in at least 140 within 2%: a part of the price chooses the bound, and a part
// tells what it takes away. In a trial 173 were within 2%; with that probability fewer than 140 are 1e-9.
func TestDoneWhenAccuracy(t *testing.T) {
	want := map[string]float64{"NO": 54864, ">30": 35545, "<30": 11357}
	good, better := 0, 0
	var rows [][]secret.Value
	var st *sqlgen.Statement
	others := map[string][][]secret.Value{}
	for i := range 200 {
		s := demoSession(t, demoDuck(t), "analyst")
		p, err := prepare(s, byReadmitted)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			st, rows = scan(t, p)
		}
		p.Session.Engine.Backend = replay{s.Engine.Backend, rows, others}
		a, err := p.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Engine.Ledger.Balance(ledger.Payer{Analyst: "analyst", Quota: 1})
		if err != nil || b.Dataset.Statements != 1 || b.Dataset.Spent.Renyi < 0.28 {
			t.Fatalf("the release was not charged: %+v, %v", b, err)
		}
		off := 0.0
		for _, r := range a.Rows {
			n, ok := r[1].(int64)
			if !ok { // NULL: no interval would hold it
				off = math.Inf(1)
			}
			off = math.Max(off, math.Abs(float64(n)/want[r[0].(string)]-1))
		}
		if len(a.Rows) == 3 && off <= 0.04 {
			good++
			if off <= 0.02 {
				better++
			}
		}
	}
	t.Logf("%d of 200 within 4%%, %d within 2%%; %d columns", good, better, len(st.Columns))
	if good < 190 || better < 140 {
		t.Errorf("only %d of 200 releases have every count within 4%%, %d within 2%%", good, better)
	}
}

// replay answers a transaction's first query with kept rows, and others, which follow from what was released, with the backend's, read once.
type replay struct {
	backend.Backend
	rows   [][]secret.Value
	others map[string][][]secret.Value // by their text
}

type replayTx struct {
	replay
	asked bool
}

func (r replay) Begin(context.Context) (backend.Tx, error) { return &replayTx{replay: r}, nil }
func (r *replayTx) Query(ctx context.Context, sql string, args []backend.Arg, types []sqltype.Type) (secret.Rows, error) {
	if !r.asked {
		r.asked = true
		return &kept{rows: r.rows}, nil
	}
	text := fmt.Sprint(sql, args)
	if r.others[text] == nil {
		tx, err := r.Backend.Begin(ctx)
		if err != nil {
			return nil, err
		}
		defer tx.Close()
		rows, err := tx.Query(ctx, sql, args, types)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			r.others[text] = append(r.others[text], slices.Clone(rows.Row()))
		}
		if rows.Err() != nil {
			return nil, rows.Err()
		}
	}
	return &kept{rows: r.others[text]}, nil
}
func (*replayTx) Close() {}

var bothStatements = []string{
	byReadmitted,
	"select count(*), count(distinct patient_id), count(a1c) from encounters",
	"select gender, count(*) from public.patients group by gender order by gender",
	"select gender, avg(medications), sum(prior_inpatient), dp_error(count(*)) from patients join encounters using (patient_id) group by gender order by 1",
	"select age_band, avg(days_in_hospital), dp_error(avg(days_in_hospital)) from encounters where readmitted = '<30' group by age_band order by age_band",
	"select a1c, count(*) n from encounters group by a1c order by n desc",
	"select t.description, count(*) from prescriptions p join encounters e on e.encounter_id = p.encounter_id join admission_types t on t.id = e.admission_type_id group by t.description order by 1",
	"select race, count(distinct patient_id) from patients group by race order by 2 desc",
	"select diabetes_med, med_change, sum(medications), avg(medications) from encounters group by 1, 2 order by 1, 2",
	"select sum(case when readmitted = '<30' then 1 else 0 end) * 100.0 / count(*) from encounters where days_in_hospital between 2 and 5",
	"select s.d, count(*) from (select days_in_hospital + 1 as d, medications m from encounters) s where s.m > 10 group by s.d having count(*) > 100 order by 1",
	"select dose_change, count(*) from prescriptions where drug = 'insulin' group by dose_change order by dose_change",
	"select count(*) from encounters e left join prescriptions p on p.encounter_id = e.encounter_id where p.drug is null",
}

// TestDoneWhenPostgres: the same policy before a real PostgreSQL gives the same columns, types, groups, charge and error, and before
// any noise the same totals (where no cap by hash chooses groups); released values lie within 4 deviations of the un-noised
// ones. A noisy number is outside with probability 7e-5 (Gaussian) or 2e-2 (Laplace: e^-4); 10 of fewer than 150 outside has
// probability below 1e-9, as every noise here is Gaussian or the selection's.
func TestDoneWhenPostgres(t *testing.T) {
	duck, real := demoSession(t, demoDuck(t), "analyst"), demoSession(t, demoPostgres(t), "analyst")
	declared(t, duck)
	declared(t, real)
	numbers, outside := 0, 0
	for _, sql := range bothStatements {
		pd, ad := ask(t, duck, sql)
		pr, ar := ask(t, real, sql)
		if d, r := fmt.Sprint(pd.Columns()), fmt.Sprint(pr.Columns()); !sameColumns(pd.Columns(), pr.Columns()) {
			t.Errorf("%s: columns %s and %s", sql, d, r)
		}
		if d, r := keysOf(pd, ad), keysOf(pr, ar); d != r && pd.analysis().Groups.Public {
			t.Errorf("%s: groups %s and %s", sql, d, r)
		}
		if d, r := strings.Split(ad.Notice, "; 95%")[0], strings.Split(ar.Notice, "; 95%")[0]; d != r {
			t.Errorf("%s: charged %q and %q", sql, d, r)
		}
		dt, rt := totals(t, pd), totals(t, pr)
		if !pd.analysis().Limit.Capped {
			if len(dt) != len(rt) {
				t.Errorf("%s: %d and %d rows of totals", sql, len(dt), len(rt))
			}
			for k, dv := range dt {
				for i, v := range dv {
					if v != nil && (rt[k] == nil || rt[k][i].Cmp(v) != 0) {
						t.Errorf("%s: group %s, measure %d: the totals differ", sql, k, i)
					}
				}
			}
		}
		for _, p := range []*prepared{pd, pr} {
			n, o := deviations(t, p)
			numbers, outside = numbers+n, outside+o
		}
	}
	t.Logf("%d noisy numbers, %d beyond 4 deviations", numbers, outside)
	if outside >= 10 || numbers < 100 {
		t.Errorf("%d of %d noisy numbers are beyond 4 deviations", outside, numbers)
	}
}

// declared bounds rows instead of leaving it to a choice, which is tested elsewhere.
func declared(t testing.TB, s *session.Session) {
	t.Helper()
	if err := s.Set("dpsql.clip", []string{"10"}); err != nil {
		t.Fatal(err)
	}
}

// deviations releases a statement's totals once more and counts the noisy numbers beyond 4 deviations.
func deviations(t *testing.T, p *prepared) (numbers, outside int) {
	t.Helper()
	mp, err := priceOf(p.Session, p.analysis())
	if err != nil {
		t.Fatal(err)
	}
	st, rows := scan(t, p)
	r, err := make1(p, mp, st.Columns, &kept{rows: rows}, noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	truth := totals(t, p)
	for _, g := range r.Groups {
		var key []string
		for _, k := range g.Keys {
			if k == nil {
				key = append(key, "NULL")
			} else {
				key = append(key, fmt.Sprint(k))
			}
		}
		vals := truth[strings.Join(key, "|")]
		for i, v := range g.Values {
			ev := mp.Measures[i]
			if ev == nil {
				ev = mp.Selections[0]
			}
			d, err := noise.DistributionOf(ev)
			if err != nil {
				t.Fatal(err)
			}
			was := new(big.Int)
			if vals != nil {
				was = vals[i]
			}
			diff, _ := new(big.Float).SetInt(new(big.Int).Sub(v, was)).Float64()
			numbers++
			if math.Abs(diff) > 4*d.StdDev() {
				outside++
			}
		}
	}
	if _, err := finish.Shown(context.Background(), p.analysis(), r, 0, 1, nil); err != nil {
		t.Fatal(err)
	}
	return numbers, outside
}

func sameColumns(a, b []answer.Column) bool {
	return slices.EqualFunc(a, b, func(x, y answer.Column) bool { return x.Name == y.Name && x.Type == y.Type && x.Attr == y.Attr })
}

func keysOf(p *prepared, a *answer.Answer) string {
	var keys []string
	for _, r := range a.Rows {
		if len(p.analysis().Keys) > 0 {
			keys = append(keys, fmt.Sprint(r[0]))
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}
