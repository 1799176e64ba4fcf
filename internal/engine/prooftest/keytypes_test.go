package prooftest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// keyTypes are types of keys with a value for each of three customers; the child spells its value in another way, where one value has several.
var keyTypes = []struct {
	name, duck string // of the child; "": not on DuckDB
	values     [3]string
	child      [3]string
}{
	{"timestamptz", "timestamptz", [3]string{"2024-03-31 01:00:00+00", "2024-10-27 01:00:00+00", "2024-10-27 00:00:00+00"}, [3]string{"2024-03-31 03:00:00+02", "2024-10-27 02:00:00+01", "2024-10-27 02:00:00+02"}},
	{"timestamp", "timestamp", [3]string{"2024-01-01 00:00:00", "2024-01-01 00:00:00.000001", "infinity"}, [3]string{}},
	{"date", "date", [3]string{"2024-01-01", "0044-03-15", "9999-12-31"}, [3]string{}},
	{"time", "time", [3]string{"00:00:00", "24:00:00", "12:00:00"}, [3]string{}},
	{"timetz", "timetz", [3]string{"12:00:00+00", "13:00:00+01", "14:00:00+02"}, [3]string{}},
	{"boolean", "", [3]string{"true", "false", ""}, [3]string{}},
	{"numeric", "decimal(9,3)", [3]string{"1.0", "1.001", "2"}, [3]string{"1.00", "1.001", "2.000"}},
	{"char(4)", "", [3]string{"a", "b", " a"}, [3]string{"a ", "b", " a "}},
	{"varchar(8)", "varchar", [3]string{"a", "a ", "A"}, [3]string{}},
	{"uuid", "uuid", [3]string{"00000000-0000-0000-0000-000000000001", "a0000000-0000-0000-0000-000000000000", "ffffffff-0000-0000-0000-000000000000"}, [3]string{"00000000-0000-0000-0000-000000000001", "A0000000-0000-0000-0000-000000000000", "ffffffff-0000-0000-0000-000000000000"}},
	{"bytea", "blob", [3]string{"a", "b", ""}, [3]string{}},
	{"mood", "enum('sad', 'ok', 'happy')", [3]string{"sad", "ok", "happy"}, [3]string{}},
	{"inet", "", [3]string{"10.0.0.1", "10.0.0.1/24", "::1"}, [3]string{"10.0.0.1/32", "10.0.0.1/24", "::1/128"}},
	{"cidr", "", [3]string{"10.0.0.0/8", "10.0.0.0/16", "::/0"}, [3]string{}},
	{"macaddr", "", [3]string{"08:00:2b:01:02:03", "08:00:2b:01:02:04", "08:00:2b:01:02:05"}, [3]string{"08002b010203", "08-00-2b-01-02-04", "0800.2b01.0205"}},
	{"bit(3)", "", [3]string{"101", "110", "000"}, [3]string{}},
}

// keyTypesSchema is a database with keys of all types; without leaves one customer's rows out.
func keyTypesSchema(d dialect.Dialect, without int) (ddl []string, tables string) {
	pg := d == funcs.Postgres
	only := func(s string) string {
		if pg {
			return s
		}
		return ""
	}
	add := func(s string) { ddl = append(ddl, s) }
	add("CREATE TABLE customers (customer_id int PRIMARY KEY)")
	// Times are part of the key, as partitions need it: two orders have one number.
	add("CREATE TABLE orders (id bigint, ordered_at timestamptz, customer_id int NOT NULL REFERENCES customers (customer_id), amount int, PRIMARY KEY (id, ordered_at))" + only(" PARTITION BY RANGE (ordered_at)"))
	add("CREATE TABLE items (order_id bigint, ordered_at timestamptz, qty int, FOREIGN KEY (order_id, ordered_at) REFERENCES orders (id, ordered_at))" + only(" PARTITION BY RANGE (ordered_at)"))
	add("CREATE TABLE shipments (customer_id int REFERENCES customers (customer_id), order_id bigint, ordered_at timestamptz, FOREIGN KEY (order_id, ordered_at) REFERENCES orders (id, ordered_at))")
	if pg {
		for _, t := range []string{"orders", "items"} {
			add(fmt.Sprintf("CREATE TABLE %s_2023 PARTITION OF %[1]s FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')", t))
			add(fmt.Sprintf("CREATE TABLE %s_2024 PARTITION OF %[1]s FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')", t))
		}
		add("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
	}
	tables = `
tables:
  customers: {columns: {customer_id: {}}}
  orders: {unit: customer_id -> customers.customer_id, max_rows_per_unit: 4, columns: {id: {}, ordered_at: {}, customer_id: {}, amount: {range: [0, 9]}}}
  items: {unit: "(order_id, ordered_at) -> orders.(id, ordered_at)", max_rows_per_unit: 4, columns: {order_id: {}, ordered_at: {}, qty: {range: [0, 9]}}}
  shipments: {unit: SHIPMENTS, columns: {order_id: {}}}
`
	for c := 1; c <= 3; c++ {
		if c == without {
			continue
		}
		add(fmt.Sprintf("INSERT INTO customers VALUES (%d)", c))
		at := fmt.Sprintf("%d-06-01 12:00:00+00", 2022+min(c, 2))
		if c < 3 { // with one number
			add(fmt.Sprintf("INSERT INTO orders VALUES (1, '%s', %d, 5)", at, c))
			add(fmt.Sprintf("INSERT INTO items SELECT 1, '%s', 9 FROM generate_series(1, 3)", at))
			add(fmt.Sprintf("INSERT INTO shipments VALUES (%d, 1, '%s')", c, at))
		}
	}
	for i, k := range keyTypes {
		typ := k.name
		if !pg {
			typ = k.duck
		}
		if typ == "" {
			continue
		}
		add(fmt.Sprintf("CREATE TABLE p%d (k %s PRIMARY KEY, customer_id int NOT NULL REFERENCES customers (customer_id))", i, typ))
		add(fmt.Sprintf("CREATE TABLE c%d (k %s REFERENCES p%[1]d (k), n int)", i, typ))
		tables += fmt.Sprintf("  p%d: {unit: customer_id -> customers.customer_id, max_rows_per_unit: 1, columns: {customer_id: {}}}\n  c%[1]d: {unit: k -> p%[1]d.k, max_rows_per_unit: 4, columns: {n: {range: [0, 9]}}}\n", i)
		for c, v := range k.values {
			if v == "" && k.name == "boolean" || c+1 == without {
				continue
			}
			child := v
			if k.child[c] != "" {
				child = k.child[c]
			}
			add(fmt.Sprintf("INSERT INTO p%d VALUES ('%s', %d)", i, v, c+1))
			add(fmt.Sprintf("INSERT INTO c%d SELECT CAST('%s' AS %s), 9 FROM generate_series(1, 3)", i, child, typ))
		}
	}
	return ddl, tables
}

// keyTypesOn makes the database, without one customer.
func keyTypesOn(t *testing.T, d dialect.Dialect, without int) backend.Backend {
	t.Helper()
	ctx := context.Background()
	ddl, _ := keyTypesSchema(d, without)
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(ctx, func(ctx context.Context, c *sql.Conn) error {
			for _, s := range ddl {
				if _, err := c.ExecContext(ctx, s); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		name := fmt.Sprintf("keytypes%d", without)
		if err = enginetest.SharedServer(t).CreateDB(name); err == nil {
			err = enginetest.SharedServer(t).Exec(name, strings.Join(ddl, ";\n"))
		}
		if err == nil {
			b, err = postgres.Open(ctx, enginetest.SharedServer(t).URL(name), postgres.Options{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// keyTypesPolicy is its policy, in which shipments have the given way.
func keyTypesPolicy(t *testing.T, d dialect.Dialect, shipments string) *policy.Policy {
	t.Helper()
	_, tables := keyTypesSchema(d, 0)
	text := "dataset: keys\nbackend: BACKEND\nunit: customers.customer_id\npopulation: 1000\nbudget: {epsilon: 1000, delta: 1e-6}\n" + tables +
		"analysts: {ann: {password: env:KEYS_VERIFIER, may: [customers, orders, items, shipments, ALL], max_query_price: 10}}\n"
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^  ([pc]\d+):`).FindAllStringSubmatch(tables, -1) {
		all = append(all, m[1])
	}
	url := "{duckdb: keys.duckdb}"
	if d == funcs.Postgres {
		url = `{postgres: "postgres://reader@127.0.0.1/keys"}`
	}
	text = strings.NewReplacer("BACKEND", url, "SHIPMENTS", shipments, "ALL", strings.Join(all, ", ")).Replace(text)
	t.Setenv("KEYS_VERIFIER", "SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA=")
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// TestKeyTypes: keys of every type whose equality is exact lead to a person, on partitioned tables too: rows belong to one person, without whom no total
// changes by more than is claimed. A join along such a key that lacks its time is refused, with a condition that passes; so is a second way, with one that does.
func TestKeyTypes(t *testing.T) {
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			dbs := map[string]backend.Backend{}
			for c := 1; c <= 2; c++ { // who have all types' keys
				dbs[fmt.Sprintf("without %d", c)] = keyTypesOn(t, d, c)
			}
			all := keyTypesOn(t, d, 0)
			_, err := server.Open(context.Background(), server.Options{Policy: keyTypesPolicy(t, d, "customer_id -> customers.customer_id"), Backend: all, LedgerPath: t.TempDir() + "/ledger"})
			var refused *policy.Error
			if !errors.As(err, &refused) || len(refused.Problems) != 1 {
				t.Fatalf("a second way: %v", err)
			}
			m := regexp.MustCompile(`unit: ("[^"]*")`).FindStringSubmatch(refused.Problems[0].Hint)
			if m == nil {
				t.Fatalf("no way in %q", refused.Problems[0].Hint)
			}
			s := enginetest.NewSession(enginetest.EngineOn(t, keyTypesPolicy(t, d, m[1]), all), t, "ann")
			statements := []string{"select count(*), sum(qty) from items", "select count(*) from shipments", "select count(*), sum(amount) from orders where ordered_at >= '2024-01-01'",
				"select count(*) from orders a join orders b on a.id = b.id and a.ordered_at = b.ordered_at and a.customer_id = b.customer_id"}
			_, err = enginetest.Try(s, "select count(*) from items i join orders o on i.order_id = o.id where o.amount > 1")
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.ID != sqlerr.JoinOffUnit.ID {
				t.Fatalf("a join without the time: %v", err)
			}
			cond := regexp.MustCompile(`^Add the join condition (.*?)(, or .*)?(;.*)?\.$`).FindStringSubmatch(e.Hint)
			if cond == nil {
				t.Fatalf("no condition in %q", e.Hint)
			}
			statements = append(statements, "select count(*), sum(i.qty) from items i join orders o on "+cond[1]+" where o.amount > 1")
			for i, k := range keyTypes {
				if d == funcs.Postgres || k.duck != "" {
					statements = append(statements, fmt.Sprintf("select count(*), sum(n) from c%d", i))
				}
			}
			for i, text := range statements {
				p, err := enginetest.Prepare(s, text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
				if err != nil {
					t.Fatal(err)
				}
				share, err := enginetest.Holds(p.Analysis(), st, all, dbs, nil)
				if err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if share == 0 {
					t.Errorf("%s: nothing changes\n%s", text, st.SQL)
				}
				if i < 5 {
					if _, err := enginetest.Try(s, text); err != nil {
						t.Errorf("%s: %v", text, err)
					}
				}
				if text == statements[0] { // two people's orders have one number
					bug := *st
					bug.SQL = regexp.MustCompile(`"t\d"\."(?:c_)?ordered_at" = "t\d"\."(?:c_)?ordered_at"`).ReplaceAllString(st.SQL, "TRUE")
					if bug.SQL == st.SQL {
						t.Fatalf("no equality of times in %s", st.SQL)
					}
					if _, err := enginetest.Holds(p.Analysis(), &bug, all, dbs, nil); err == nil {
						t.Errorf("without the time's equality nothing is noticed: %s", bug.SQL)
					}
				}
			}
		})
	}
	for _, typ := range []sqltype.Type{sqltype.Float8, sqltype.IntervalType, sqltype.JSONBType, {OID: 600, Typmod: -1}} {
		if typ.IsKey() {
			t.Errorf("keys of %s", typ)
		}
	}
}
