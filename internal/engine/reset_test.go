package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestResetComesBackToStart: RESET and SET ... TO DEFAULT give each setting of dpsql the value of the connection's options, by either name of the price, and of SET LOCAL only until COMMIT.
func TestResetComesBackToStart(t *testing.T) {
	s := newSite(t).serve(t, Place{On: "clinic", As: "ann"})
	for _, c := range []struct{ option, name, other string }{
		{"dpsql.price=0.25", "dpsql.price", "0.125"}, {"dpsql.epsilon=0.25", "dpsql.epsilon", "0.125"}, {"dpsql.epsilon=0.25", "dpsql.price", "0.125"}, {"dpsql.price=0.25", "dpsql.epsilon", "0.125"},
		{"dpsql.mechanism=laplace", "dpsql.mechanism", "gaussian"}, {"dpsql.max_groups=3", "dpsql.max_groups", "auto"}, {"dpsql.clip=4", "dpsql.clip", "auto"}, {"dpsql.bounding=l2", "dpsql.bounding", "linf"},
		{"dpsql.target_error=5%", "dpsql.target_error", "off"}, {"dpsql.expected_size=100", "dpsql.expected_size", "unknown"}, {"dpsql.fresh=on", "dpsql.fresh", "off"}, {"dpsql.on_low_count=null", "dpsql.on_low_count", "keep"},
		{"dpsql.rounding=error", "dpsql.rounding", "off"}, {"dpsql.simultaneous=on", "dpsql.simultaneous", "off"}, {"dpsql.notices=full", "dpsql.notices", "off"},
	} {
		cfg, err := pgconn.ParseConfig(fmt.Sprintf("postgres://ann:demo@%s/%s?sslmode=disable", s.addr, s.name))
		if err != nil {
			t.Fatal(err)
		}
		cfg.RuntimeParams["options"] = "-c " + c.option
		conn, err := pgconn.ConnectConfig(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		show := func(statements string) string {
			results, err := conn.Exec(context.Background(), statements+"; SHOW "+c.name).ReadAll()
			if err != nil {
				t.Fatalf("%s: %s: %v", c.option, statements, err)
			}
			return string(results[len(results)-1].Rows[0][0])
		}
		start, set := show("SELECT 1"), fmt.Sprintf("SET %s = '%s'", c.name, c.other)
		for _, back := range []string{"RESET " + c.name, "RESET ALL", "SET " + c.name + " TO DEFAULT"} {
			if other := show(set); other == start {
				t.Errorf("%s: %s changes nothing", c.option, set)
			}
			if got := show(back); got != start {
				t.Errorf("%s: %q after %s, not %q", c.option, got, back, start)
			}
		}
		other := show(set)
		if got := show("BEGIN; SET LOCAL " + c.name + " TO DEFAULT"); got != start {
			t.Errorf("%s: %q in the transaction, not %q", c.option, got, start)
		}
		if got := show("COMMIT"); got != other {
			t.Errorf("%s: %q after the transaction, not %q", c.option, got, other)
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	conn, err := s.dial("ann", "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	results, err := conn.Exec(context.Background(), "SET dpsql.price = 0.25; BEGIN; SET LOCAL dpsql.epsilon TO DEFAULT; SHOW dpsql.price; COMMIT; SHOW dpsql.price").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if in, after := string(results[3].Rows[0][0]), string(results[5].Rows[0][0]); in == "0.25" || after != "0.25" {
		t.Errorf("the default is for the transaction: %s in it, %s after it", in, after)
	}
}
