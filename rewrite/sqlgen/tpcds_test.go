package sqlgen_test

import (
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

// shoppers is a part of TPC-DS with the customer as the unit.
const shoppers = `
customer unit=c_customer_sk key=c_customer_sk m=1
  c_customer_sk int4 notnull
  c_first_name varchar(20)
  c_last_name varchar(30)
store_sales unit=ss_customer_sk path=ss_customer_sk->customer.c_customer_sk m=100
  ss_customer_sk int4
  ss_sold_date_sk int4
catalog_sales unit=cs_bill_customer_sk path=cs_bill_customer_sk->customer.c_customer_sk m=100
  cs_bill_customer_sk int4
  cs_sold_date_sk int4
web_sales unit=ws_bill_customer_sk path=ws_bill_customer_sk->customer.c_customer_sk m=100
  ws_bill_customer_sk int4
  ws_sold_date_sk int4
date_dim public key=d_date_sk
  d_date_sk int4 notnull
  d_date date
  d_month_seq int4
`

// TestTPCDSSets: set operations of names, which are nobody's key, are counted.
func TestTPCDSSets(t *testing.T) {
	cat, err := neighbour.ParseCatalog(shoppers)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"q38", "q87"} {
		text, err := os.ReadFile("../../testdata/corpus/tpcds/" + q + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if got := fate(t, string(text), cat); got != "private" {
			t.Errorf("%s: %s", q, got)
		}
	}
}
