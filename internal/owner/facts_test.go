package owner

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestFactsOfDatabases: what real databases keep of enums, CHECK constraints, domains and views is proposed, and check takes it. What PostgreSQL has not checked is no fact.
func TestFactsOfDatabases(t *testing.T) {
	t.Setenv("ANALYST_VERIFIER", verifier)
	ctx := context.Background()
	both := []string{
		"CREATE TABLE customers (customer_id int PRIMARY KEY, active boolean, paid boolean NOT NULL, income int CHECK (income BETWEEN 0 AND 50000))",
		"CREATE TABLE zones (zone_id int PRIMARY KEY, borough text, zone_name text)",
		`CREATE TABLE reviews (review_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers (customer_id), pickup int REFERENCES zones (zone_id), dropoff int REFERENCES zones (zone_id), mood MOOD,
			rating int CHECK (rating BETWEEN 1 AND 5), stars smallint NOT NULL CHECK (stars >= 1 AND 3 >= stars), score double precision CHECK (score > 0 AND score <= 1.5),
			status varchar(20) CHECK (status IN ('new', 'it''s done')), "Odd Plan" text NOT NULL CHECK ("Odd Plan" IN ('free', 'paid')), size int CHECK (size IN (1, 2, -3)),
			born date CHECK (born BETWEEN '1900-01-01' AND '2030-12-31'), grade text CHECK (grade IS NULL OR grade = 'a' OR grade = 'b'), amount int CHECK (amount BETWEEN 0 AND 1000000), huge int CHECK (huge >= 0 AND huge <= 200000000), half int CHECK (half >= 0))`,
	}
	lines := []string{
		"active: {values: [true, false, null]}", "paid: {values: [true, false]}", "# zones: {public: true}", "mood: {values: [sad, ok, null]}", "rating: {range: [1, 5], values: [1, 2, 3, 4, 5, null]}",
		"stars: {range: [1, 3], values: [1, 2, 3]}", "score: {range: [0, 1.5]}", "status: {values: [new, \"it's done\", null]}", `"Odd Plan": {values: [free, paid]}`, "size: {values: [1, 2, -3, null]}",
		"born: {range: [1900-01-01, 2030-12-31]}", "grade: {values: [a, b, null]}", "amount: {range: [0, 1000000]}", "range: [0, 200000000] is what the database allows, and ends the intervals of MIN and MAX", "range: [0, 50000] is what the database allows",
		"the database allows nothing below 0; range: [0, ] with the highest value that makes sense ends the intervals of MIN and MAX",
	}
	proposed := func(t *testing.T, b backend.Backend, kind, url string, lines ...string) {
		t.Helper()
		rels, err := b.(backend.Surveyor).Survey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Init(rels, InitOptions{Dataset: "facts", Backend: kind, URL: url})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(out), `'it''s done'`, `"it's done"`)
		for _, l := range lines {
			if !strings.Contains(text, l) {
				t.Errorf("no %s in\n%s", l, text)
			}
		}
		p, err := policy.Parse("policy.yaml", out)
		if err == nil {
			_, err = p.Bind(rels)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		s := pgtest.Start(t)
		more := []string{
			"CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE DOMAIN level AS int CHECK (VALUE > 0 AND VALUE < 4)", "CREATE DOMAIN low_level AS level CHECK (VALUE <> 1)", both[0], both[1], both[2],
			"ALTER TABLE reviews ADD COLUMN level low_level, ADD COLUMN late int, ADD CONSTRAINT late CHECK (late IN (1, 2)) NOT VALID",
			"CREATE VIEW fresh_reviews AS SELECT review_id, customer_id, rating FROM reviews WHERE status = 'new'",
		}
		if err := s.CreateDB("facts"); err != nil {
			t.Fatal(err)
		}
		if err := s.Exec("facts", strings.Join(more, ";\n")); err != nil {
			t.Fatal(err)
		}
		b, err := postgres.Open(ctx, s.URL("facts"), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		proposed(t, b, "postgres", "postgres://reader@db/facts", append(lines, "level: {range: [1, 3], values: [1, 2, 3, null]}", "late: {} ",
			"# fresh_reviews:  # a view of one table, reviews: remove the # of these lines", "#   unit: customer_id -> customers.customer_id")...)
	})
	t.Run("duckdb", func(t *testing.T) {
		b, err := duckdb.OpenMemory(ctx, func(ctx context.Context, c *sql.Conn) error {
			for _, s := range append([]string{"CREATE TYPE mood AS ENUM ('sad', 'ok')"}, both...) {
				if _, err := c.ExecContext(ctx, s); err != nil {
					return err
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		proposed(t, b, "duckdb", "facts.duckdb", lines...)
	})
}
