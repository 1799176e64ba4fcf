package prooftest

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/testdata/demo"
	"github.com/dpsql/dpsql/testdata/sakila"
)

// joinedSite is a database of real shape: its policy, and the tables that have the unit's column.
type joinedSite struct {
	name, unit string
	policy     func(t testing.TB, d dialect.Dialect) *policy.Policy
	open       func(t testing.TB, d dialect.Dialect) backend.Backend
	tables     []string // or table.column, where that has another name
	heavy      string   // gives units, those with most rows first
	statements []string
	declared   []string // joined by keys of which the policy declares how often values occur, less often than they do
}

const sakilaPolicy = `
dataset: sakila
backend: BACKEND
unit: customer.customer_id
tables:
  customer: {max_frequency: {active: 300}, columns: {customer_id: {}, store_id: {values: [1, 2]}, active: {range: [0, 1]}, create_date: {}}}
  rental:
    unit: customer_id -> customer.customer_id
    max_rows_per_unit: 30
    max_frequency: {inventory_id: 2}
    columns: {rental_id: {}, customer_id: {}, inventory_id: {}, staff_id: {values: [1, 2]}, rental_date: {}}
  payment:
    unit: customer_id -> customer.customer_id
    max_rows_per_unit: 30
    columns: {payment_id: {}, customer_id: {}, rental_id: {unprotected: true}, amount: {range: [0, 12]}, payment_date: {}}
  inventory: {public: true}
  film:      {public: true, columns: {film_id: {}, rating: {}}}
budget: {epsilon: 20, delta: 1e-6}
query:  {price: 0.5, joins: any}
analysts: {ann: {password: VERIFIER, may: [customer, rental, payment, inventory, film]}}
`

func replaced(t testing.TB, d dialect.Dialect, text string) *policy.Policy {
	t.Helper()
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: x.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/x"}`}[d]
	p, err := policy.Parse("x.yaml", []byte(strings.NewReplacer("VERIFIER", enginetest.Verifier, "BACKEND", uri).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var sakilaDBs struct {
	once [2]sync.Once
	db   [2]backend.Backend
	err  [2]error
}

// openSakila opens Sakila, made once a backend.
func openSakila(t testing.TB, d dialect.Dialect) backend.Backend {
	t.Helper()
	at := slices.Index(enginetest.Dialects, d)
	sakilaDBs.once[at].Do(func() {
		ctx := context.Background()
		if d == funcs.Postgres {
			if sakilaDBs.err[at] = enginetest.SharedServer(t).LoadSakila("joined_sakila"); sakilaDBs.err[at] == nil {
				sakilaDBs.db[at], sakilaDBs.err[at] = postgres.Open(ctx, enginetest.SharedServer(t).URL("joined_sakila"), postgres.Options{PoolSize: 2})
			}
			return
		}
		sakilaDBs.db[at], sakilaDBs.err[at] = duckdb.OpenMemory(ctx, func(ctx context.Context, c *sql.Conn) error {
			schema, err := fs.ReadFile(sakila.FS, "schema.sql")
			if err != nil {
				return err
			}
			for _, s := range strings.Split(string(schema), ";\n") {
				name := regexp.MustCompile(`CREATE TABLE (\w+)`).FindStringSubmatch(s)
				if name == nil || !slices.Contains([]string{"customer", "rental", "payment", "inventory", "film"}, name[1]) {
					continue
				}
				s = regexp.MustCompile(`,\s+special_features text\[\]`).ReplaceAllString(s, "")
				file, err := filepath.Abs("../../../testdata/sakila/" + name[1] + ".csv.gz")
				if err != nil {
					return err
				}
				for _, do := range []string{s, fmt.Sprintf("INSERT INTO %s BY NAME SELECT *%s FROM read_csv('%s', header = true, all_varchar = true, nullstr = '')", name[1], map[bool]string{true: " EXCLUDE (special_features)", false: ""}[name[1] == "film"], file)} {
					if _, err := c.ExecContext(ctx, do); err != nil {
						return fmt.Errorf("%w\n%s", err, do)
					}
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	})
	if err := sakilaDBs.err[at]; err != nil {
		t.Fatal(err)
	}
	return sakilaDBs.db[at]
}

// demoAny is the demo's policy with joins off the unit and declared rows.
func demoAny(t testing.TB, d dialect.Dialect) *policy.Policy {
	t.Helper()
	file, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), "max_rows_per_unit: auto", "max_rows_per_unit: 8", 1)
	text = strings.Replace(text, "max_rows_per_unit: 8", "max_rows_per_unit: 8\n    max_frequency: {diag_1: 40}", 1)
	text = strings.Replace(text, "query:  {price: 0.5}", "query:  {price: 0.5, joins: any}", 1)
	if d == funcs.Postgres {
		text = strings.Replace(text, "backend: {duckdb: demo.duckdb}", `backend: {postgres: "postgres://reader@127.0.0.1/demo"}`, 1)
	}
	p, err := policy.Parse("demo.yaml", []byte(text))
	if err != nil || p.Query.Joins != policy.JoinsAny {
		t.Fatal(err)
	}
	return p
}

const tpchPolicy = `
dataset: tpch
backend: BACKEND
unit: customer.c_custkey
tables:
  customer: {columns: {c_custkey: {}, c_mktsegment: {}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    max_rows_per_unit: 20
    max_frequency: {o_orderdate: 1}
    columns: {o_orderkey: {}, o_custkey: {}, o_orderdate: {}, o_totalprice: {range: [0, 600000]}, o_orderpriority: {values: ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    max_rows_per_unit: 60
    max_frequency: {l_partkey: 2}
    columns: {l_orderkey: {}, l_partkey: {}, l_suppkey: {}, l_quantity: {range: [0, 50]}}
  part:     {public: true}
  supplier: {public: true}
budget: {epsilon: 20, delta: 1e-6}
query:  {price: 0.5, joins: any}
analysts: {ann: {password: VERIFIER, may: [customer, orders, lineitem, part, supplier]}}
`

var joinedSites = []joinedSite{
	{"tpch", "c_custkey", func(t testing.TB, d dialect.Dialect) *policy.Policy { return replaced(t, d, tpchPolicy) }, openTPCH, []string{"customer", "orders.o_custkey"},
		"SELECT o_custkey FROM SCHEMA.orders GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2", []string{
			"select count(*) from lineitem a join lineitem b on a.l_partkey = b.l_partkey",
			"select a.o_orderpriority, count(*), sum(b.o_totalprice), avg(b.o_totalprice) from orders a join orders b on a.o_orderdate = b.o_orderdate group by 1",
			"select count(*), count(distinct a.l_partkey) from lineitem a join part p on p.p_partkey = a.l_partkey join lineitem b on b.l_partkey = p.p_partkey and b.l_suppkey = a.l_suppkey",
		}, []string{
			"select count(*) from lineitem a join lineitem b on a.l_partkey = b.l_partkey",
			"select a.o_orderpriority, count(*), sum(b.o_totalprice) from orders a join orders b on a.o_orderdate = b.o_orderdate group by 1",
		}},
	{"sakila", "customer_id", func(t testing.TB, d dialect.Dialect) *policy.Policy { return replaced(t, d, sakilaPolicy) }, openSakila, []string{"customer", "rental", "payment"},
		"SELECT customer_id FROM SCHEMA.rental GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2", []string{
			"select count(*) from rental a join rental b on a.inventory_id = b.inventory_id",
			"select c.store_id, count(*), count(distinct d.create_date) from customer c join customer d on c.active = d.active group by 1",
			"select f.rating, count(*) from rental a join inventory i on i.inventory_id = a.inventory_id join inventory j on j.film_id = i.film_id join film f on f.film_id = j.film_id join rental b on b.inventory_id = j.inventory_id where a.rental_date < date '2005-06-10' group by 1",
			"select r.staff_id, sum(p.amount), avg(p.amount) from rental r join rental s on s.inventory_id = r.inventory_id and s.staff_id = r.staff_id join payment p on p.rental_id = s.rental_id and p.customer_id = s.customer_id group by 1",
		}, []string{
			"select a.staff_id, count(*) from rental a join rental b on a.inventory_id = b.inventory_id group by 1",
			"select d.store_id, count(*) from customer c join customer d on c.active = d.active group by 1",
		}},
	{"diabetes", "patient_id", demoAny, func(t testing.TB, d dialect.Dialect) backend.Backend {
		if d == funcs.DuckDB {
			return enginetest.DemoDuck(t)
		}
		return enginetest.DemoPostgres(t)
	}, []string{"patients", "encounters"}, "SELECT patient_id FROM SCHEMA.encounters WHERE age_band = '20-30' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2", []string{
		"select a.readmitted, count(*), sum(b.medications) from encounters a join encounters b on a.diag_1 = b.diag_1 and a.lab_procedures = b.lab_procedures where a.age_band = '20-30' and b.age_band = '20-30' group by 1",
		"select count(*) from patients p join encounters e on e.patient_id = p.patient_id join encounters f on f.medical_specialty = e.medical_specialty and f.days_in_hospital = e.days_in_hospital where e.age_band = '10-20' and f.age_band = '20-30'",
	}, []string{"select a.readmitted, count(*), sum(b.medications) from encounters a join encounters b on a.diag_1 = b.diag_1 where a.age_band = '20-30' and b.age_band = '20-30' group by 1"}},
}

// lackingUnits is a printed statement over the tables without some units' rows.
func (s joinedSite) lackingUnits(st *sqlgen.Statement, units []int64) *sqlgen.Statement {
	out := *st
	for _, table := range s.tables {
		table, column, named := strings.Cut(table, ".")
		if !named {
			column = s.unit
		}
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(units), " ", ", "), "[]")
		out.SQL = regexp.MustCompile(`"(public|main)"\."`+table+`" AS`).ReplaceAllString(out.SQL, fmt.Sprintf(`(SELECT * FROM "$1".%q WHERE %q NOT IN (-1%s)) AS`, table, column, strings.TrimSuffix(", "+list, ", ")))
	}
	return &out
}

// TestJoinedNeighbours: over real data, units with most rows go one after the other. Each changes the totals of a measure, in sum over groups, by at most the formula at the frequencies of either database, and of the first one at that distance, times the largest integer of a row; and the logarithm of the smooth bound by at most beta.
// Where frequencies are declared, and cut, each unit changes them by at most what is claimed beforehand.
func TestJoinedNeighbours(t *testing.T) {
	for _, site := range joinedSites {
		for _, d := range enginetest.Dialects {
			t.Run(site.name+" "+d.String(), func(t *testing.T) {
				db := site.open(t, d)
				s := enginetest.NewSession(enginetest.EngineOn(t, site.policy(t, d), db), t, map[bool]string{false: "ann", true: "analyst"}[site.name == "diabetes"])
				enginetest.Set(t, s, "dpsql.bounding", "elastic")
				schema := map[dialect.Dialect]string{funcs.DuckDB: "main", funcs.Postgres: "public"}[d]
				var units []int64
				for _, r := range enginetest.PrintedRows(t, db, &sqlgen.Statement{SQL: strings.ReplaceAll(site.heavy, "SCHEMA", schema), Columns: []sqlgen.Column{{Role: sqlgen.RoleOutput, Type: sqltype.Int4}}}) {
					units = append(units, r[0].(int64))
				}
				for _, text := range site.statements {
					p, totals, often := joinedScans(t, s, text)
					f := p.Analysis().Joined.Formula
					var first, was []uint64
					var before map[string]*big.Int
					some := false
					for k := range len(units) + 1 {
						now, values := joinedTotals(t, db, site.lackingUnits(totals, units[:k])), measured(t, db, site.lackingUnits(often, units[:k]))
						if k == 0 {
							first, was, before = values, values, now
							continue
						}
						most := min(f.At(was, 0), f.At(values, 0), f.At(first, uint64(k-1)))
						for i, m := range p.Analysis().Measures {
							by := changedTotals(before, now, i)
							if by.Cmp(new(big.Int).Mul(new(big.Int).SetUint64(most), new(big.Int).SetUint64(m.Factor))) > 0 {
								t.Errorf("%s: unit %d changes measure %d by %s, claimed are %d times %d", text, units[k-1], i, by, most, m.Factor)
							}
							for _, beta := range []float64{0.005, 0.2} { // and of one that is k units away
								smooth, err := f.Smooth(first, beta, nil)
								if b, _ := new(big.Float).SetInt(by).Float64(); err != nil || b > math.Exp(beta*float64(k-1))*smooth*float64(m.Factor)*(1+1e-9) {
									t.Errorf("%s: %d units away one changes measure %d by %s, the smooth bound is %g, beta %g: %v", text, k-1, i, by, smooth, beta, err)
								}
							}
							some = some || by.Sign() > 0
						}
						for _, beta := range []float64{0.005, 0.2} {
							a, err := f.Smooth(was, beta, nil)
							if err != nil {
								t.Fatal(err)
							}
							b, err := f.Smooth(values, beta, nil)
							if err != nil {
								t.Fatal(err)
							}
							if moved := math.Abs(math.Log(a) - math.Log(b)); moved > beta+1e-8 {
								t.Errorf("%s: unit %d moves the logarithm of the smooth bound by %g, beta is %g", text, units[k-1], moved, beta)
							}
						}
						was, before = values, now
					}
					if !some {
						t.Errorf("%s: no unit changes anything", text)
					}
				}
				for _, text := range site.declared {
					_, whole, _ := joinedScans(t, s, text)
					a, st := truncated(t, s, text)
					before := joinedTotals(t, db, st)
					if changedTotals(before, joinedTotals(t, db, whole), 0).Sign() == 0 {
						t.Errorf("%s: no row is left out", text)
					}
					enginetest.Set(t, s, "dpsql.bounding", "elastic")
					some := false
					for k := range units {
						now := joinedTotals(t, db, site.lackingUnits(st, units[:k+1]))
						for i, m := range a.Measures {
							if by := changedTotals(before, now, i); by.Cmp(new(big.Int).SetUint64(m.PerGroup)) > 0 {
								t.Errorf("%s: unit %d changes measure %d by %s, claimed are %d", text, units[k], i, by, m.PerGroup)
							} else if by.Sign() > 0 {
								some = true
							}
						}
						before = now
					}
					if !some {
						t.Errorf("%s: no unit changes anything", text)
					}
				}
			})
		}
	}
}

// changedTotals is how much a measure's totals differ, in sum over groups.
func changedTotals(a, b map[string]*big.Int, measure int) *big.Int {
	sum := new(big.Int)
	of := fmt.Sprintf(" %d", measure)
	for g, x := range a {
		if y := b[g]; strings.HasSuffix(g, of) {
			if y == nil {
				y = new(big.Int)
			}
			sum.Add(sum, new(big.Int).Abs(new(big.Int).Sub(x, y)))
		}
	}
	for g, y := range b {
		if strings.HasSuffix(g, of) && a[g] == nil {
			sum.Add(sum, new(big.Int).Abs(y))
		}
	}
	return sum
}
