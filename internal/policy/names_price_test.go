package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestPriceNames: query.price and max_query_price are read under their older names too, and a policy with both names is refused with both lines.
func TestPriceNames(t *testing.T) {
	text := func(query, most string) string {
		return fmt.Sprintf("dataset: d\nunit: t.id\ntables: {t: {columns: {id: {}}}}\nbackend: {duckdb: d.duckdb}\nbudget: {epsilon: 10, delta: 1e-7}\nquery:\n%sanalysts:\n  ann:\n    password: %q\n%s", query, testVerifier, most)
	}
	const price, epsilon, most, mostEpsilon = "  price: 0.3\n", "  epsilon: 0.3\n", "    max_query_price: 2\n", "    max_query_epsilon: 2\n"
	for _, given := range []string{text(price, most), text(epsilon, mostEpsilon)} {
		p, err := parse("p.yaml", []byte(given), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if p.Query.Epsilon != 0.3 || p.Analysts[0].MaxQueryEpsilon != 2 {
			t.Errorf("%s: %+v", given, p.Query)
		}
	}
	_, err := parse("p.yaml", []byte(text(epsilon+price, mostEpsilon+most)), testEnv)
	if err == nil {
		t.Fatal("both names are accepted")
	}
	for _, want := range []string{"query: epsilon on line 7 and price on line 8 are one key", "analysts.ann: max_query_epsilon on line 12 and max_query_price on line 13 are one key", "leave out epsilon"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
