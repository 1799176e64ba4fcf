package citustest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/bench/tpc"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

const tpchData = "../../../../shared/data/tpch-sf0.01"

// tpchTables says where TPC-H's tables lie.
var tpchTables = [][2]string{{"customer", "c_custkey"}, {"orders", "o_custkey"}, {"lineitem", "l_custkey"}, {"region", ""}, {"nation", ""}, {"supplier", ""}, {"part", ""}, {"partsupp", ""}}

// tpchKeys are its keys with the customer's column in each that distributed tables have.
var tpchKeys = []string{
	"region ADD PRIMARY KEY (r_regionkey)", "nation ADD PRIMARY KEY (n_nationkey)", "supplier ADD PRIMARY KEY (s_suppkey)", "part ADD PRIMARY KEY (p_partkey)", "partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey)",
	"customer ADD PRIMARY KEY (c_custkey)", "orders ADD PRIMARY KEY (o_custkey, o_orderkey)", "orders ADD CONSTRAINT of_customer FOREIGN KEY (o_custkey) REFERENCES customer",
	"lineitem ADD PRIMARY KEY (l_custkey, l_orderkey, l_linenumber)", "lineitem ADD CONSTRAINT of_order FOREIGN KEY (l_custkey, l_orderkey) REFERENCES orders",
}

// tpchSchema is the corpus's tables, lineitem with the customer's column.
func tpchSchema(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/corpus/tpch/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	create, _, _ := strings.Cut(string(text), "\nALTER TABLE")
	return strings.Replace(create, "l_comment varchar(44) NOT NULL", "l_comment varchar(44) NOT NULL, l_custkey integer NOT NULL", 1)
}

// fillTPCH loads the rows, adds keys and opens the database.
func fillTPCH(t testing.TB, s loader, db string) backend.Backend {
	t.Helper()
	columns := "l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment"
	err := s.Exec(db, "CREATE TABLE items AS SELECT "+columns+" FROM lineitem; CREATE TABLE buyers AS SELECT o_orderkey, o_custkey FROM orders")
	for _, table := range tpchTables {
		into := table[0]
		if into == "lineitem" {
			into = "items"
		}
		err = errors.Join(err, s.CopyFile(db, into, filepath.Join(tpchData, table[0]+".csv.gz")))
	}
	err = errors.Join(err, s.Exec(db, "INSERT INTO buyers SELECT o_orderkey, o_custkey FROM orders"),
		s.Exec(db, "INSERT INTO lineitem ("+columns+", l_custkey) SELECT i.*, b.o_custkey FROM items i JOIN buyers b ON b.o_orderkey = i.l_orderkey"), s.Exec(db, "DROP TABLE items, buyers"))
	for _, k := range tpchKeys {
		err = errors.Join(err, s.Exec(db, "ALTER TABLE "+k))
	}
	if err != nil {
		t.Fatal(err)
	}
	return asReader(t, s, db)
}

// tpchSession is the corpus's analyst, whose policy's path of lineitem names the customer.
func tpchSession(t testing.TB, b backend.Backend) *session.Session {
	t.Helper()
	verifier, err := tpc.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	text, err := tpc.Bench{Name: "tpch"}.Policy("postgres", "postgres://reader@127.0.0.1/tpch", verifier)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", []byte(strings.NewReplacer("unit: l_orderkey -> orders.o_orderkey", "unit: (l_custkey, l_orderkey) -> orders.(o_custkey, o_orderkey)",
		"      l_orderkey: {}", "      l_custkey: {}\n      l_orderkey: {}").Replace(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.NewSession(enginetest.OpenOn(t, p, b), t, "bench")
}

// TestTPCH: what becomes of each query of TPC-H where customers lie on two workers is what becomes of it on one server.
func TestTPCH(t *testing.T) {
	if _, err := os.Stat(tpchData); err != nil {
		t.Skip(err)
	}
	schema := tpchSchema(t)
	database(t, "tpch", []string{schema}, tpchTables, nil)
	one := enginetest.SharedServer(t)
	if err := errors.Join(one.CreateDB("tpch_citus"), one.Exec("tpch_citus", schema)); err != nil {
		t.Fatal(err)
	}
	kept := &recorder{Backend: fillTPCH(t, cluster(t), "tpch")}
	both := []*session.Session{tpchSession(t, kept), tpchSession(t, fillTPCH(t, one, "tpch_citus"))}
	queries, err := tpc.Bench{Name: "tpch"}.Queries()
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for i, q := range queries {
		var got [2]string
		for k, s := range both {
			got[k] = fate(enginetest.FixedNoise(s, uint64(i)), q.Text)
		}
		if got[0] != got[1] && !sameTotals(t, both, q.Text) {
			t.Errorf("%s\n cluster %.600s\n one     %.600s", q.Name, got[0], got[1])
		}
		if !strings.HasPrefix(got[0], "refused") {
			answered++
		}
		t.Logf("%s: %.100s", q.Name, got[0])
		for _, leak := range kept.leaks(t) {
			t.Errorf("%s: %s", q.Name, leak)
		}
	}
	if answered < 18 {
		t.Errorf("%d queries are answered", answered)
	}
}
