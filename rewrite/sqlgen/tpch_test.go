package sqlgen_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// customers is TPC-H with the customer as the unit.
const customers = `
customer unit=c_custkey key=c_custkey m=1
  c_custkey int4 notnull
  c_name varchar(25) notnull
  c_address varchar(40) notnull
  c_nationkey int4 notnull
  c_phone char(15) notnull
  c_acctbal numeric(15,2) notnull
  c_mktsegment char(10) notnull
  c_comment varchar(117) notnull
orders unit=o_custkey key=o_orderkey path=o_custkey->customer.c_custkey
  o_orderkey int4 notnull
  o_custkey int4 notnull
  o_orderstatus char(1) notnull
  o_totalprice numeric(15,2) notnull
  o_orderdate date notnull
  o_orderpriority char(15) notnull
  o_clerk char(15) notnull
  o_shippriority int4 notnull
  o_comment varchar(79) notnull
lineitem key=l_orderkey,l_linenumber path=l_orderkey->orders.o_orderkey
  l_orderkey int4 notnull
  l_partkey int4 notnull
  l_suppkey int4 notnull
  l_linenumber int4 notnull
  l_quantity numeric(15,2) notnull
  l_extendedprice numeric(15,2) notnull
  l_discount numeric(15,2) notnull
  l_tax numeric(15,2) notnull
  l_returnflag char(1) notnull
  l_linestatus char(1) notnull
  l_shipdate date notnull
  l_commitdate date notnull
  l_receiptdate date notnull
  l_shipinstruct char(25) notnull
  l_shipmode char(10) notnull
  l_comment varchar(44) notnull
region public key=r_regionkey
  r_regionkey int4 notnull
  r_name char(25) notnull
  r_comment varchar(152)
nation public key=n_nationkey
  n_nationkey int4 notnull
  n_name char(25) notnull
  n_regionkey int4 notnull
  n_comment varchar(152)
supplier public key=s_suppkey
  s_suppkey int4 notnull
  s_name char(25) notnull
  s_address varchar(40) notnull
  s_nationkey int4 notnull
  s_phone char(15) notnull
  s_acctbal numeric(15,2) notnull
  s_comment varchar(101) notnull
part public key=p_partkey
  p_partkey int4 notnull
  p_name varchar(55) notnull
  p_mfgr char(25) notnull
  p_brand char(10) notnull
  p_type varchar(25) notnull
  p_size int4 notnull
  p_container char(10) notnull
  p_retailprice numeric(15,2) notnull
  p_comment varchar(23) notnull
partsupp public key=ps_partkey,ps_suppkey
  ps_partkey int4 notnull
  ps_suppkey int4 notnull
  ps_availqty int4 notnull
  ps_supplycost numeric(15,2) notnull
  ps_comment varchar(199) notnull
`

var updateTPCH = flag.Bool("update-tpch", false, "write the table anew")

// TestTPCH: what becomes of each query of TPC-H, as ../../testdata/corpus/tpch/answered.txt says.
func TestTPCH(t *testing.T) {
	cat, err := neighbour.ParseCatalog(customers)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../testdata/corpus/tpch/q*.sql")
	if err != nil || len(files) != 22 {
		t.Fatal(err, len(files))
	}
	var out bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s: %s\n", strings.TrimSuffix(filepath.Base(f), ".sql"), fate(t, string(text), cat))
	}
	if *updateTPCH {
		if err := os.WriteFile("../../testdata/corpus/tpch/answered.txt", out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("../../testdata/corpus/tpch/answered.txt")
	if err != nil || string(want) != out.String() {
		t.Errorf("%v; it is now\n%s", err, out.String())
	}
}

// TestTPCHHints: what is refused is answered as its hint says, with a row-returning answer by persons made statistics of them.
func TestTPCHHints(t *testing.T) {
	cat, err := neighbour.ParseCatalog(customers)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../testdata/corpus/tpch/hints.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range strings.Split(string(text), "-- ")[1:] {
		name, rewritten, _ := strings.Cut(hint, "\n")
		refused, err := os.ReadFile("../../testdata/corpus/tpch/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if got := fate(t, string(refused), cat); !strings.Contains(got, "refused") {
			t.Errorf("%s: %s", name, got)
		}
		if got := fate(t, rewritten, cat); strings.Contains(got, "refused") {
			t.Errorf("%s as its hint says: %s", name, got)
		}
	}
}

func fate(t *testing.T, text string, cat plan.Catalog) string {
	st, err := pgsyntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
	if err != nil {
		return "refused: " + err.Error()
	}
	opts := sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000}
	p, err := divide.Divide(context.Background(), q, opts)
	var stages []*sensitivity.Analysis
	for i := 0; err == nil && i < len(p.Stages); i++ {
		var a *sensitivity.Analysis
		a, err = p.Analyze(context.Background(), i, opts)
		stages = append(stages, a)
	}
	if err != nil {
		if e, ok := err.(*sqlerr.Error); ok && e.Hint != "" {
			return fmt.Sprintf("refused: %s; %s", e.Message, e.Hint)
		}
		return "refused: " + err.Error()
	}
	how := "private, "
	if p.Class == sensitivity.Public {
		how = "public, "
	} else if len(stages) > 1 {
		how = fmt.Sprintf("private, %d releases, ", len(stages))
	}
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		if p.Class == sensitivity.Public {
			_, err = sqlgen.PublicQuery(q, d)
		}
		for _, a := range stages {
			if err == nil {
				_, err = sqlgen.Private(a, d, 42)
			}
		}
		if err != nil {
			how += fmt.Sprintf("refused on %s: %v; ", d, err)
		}
	}
	return strings.TrimRight(how, ", ;")
}
