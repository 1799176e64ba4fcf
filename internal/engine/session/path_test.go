package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestSearchPath: names without a schema are looked for along search_path, of tables and of the catalogs, as in PostgreSQL; what is asked is the same question whatever the way to its tables.
func TestSearchPath(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		if _, err := enginetest.Try(s, "SELECT count(*) FROM patients"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ path, sql, want string }{
			{"", "SELECT current_schema, current_schemas(true)::text, 'patients'::regclass::text", "[[public {pg_catalog,public} patients]]"},
			{"pg_catalog", "SELECT current_schema, current_schemas(false)::text, 'public.patients'::regclass::text", "[[pg_catalog {pg_catalog} public.patients]]"},
			{"pg_catalog", "SELECT count(*) FROM patients", "does not exist"},
			{"pg_catalog", "SELECT count(*) FROM public.patients", "[["},
			{`""`, "SELECT current_schema, current_schemas(true)::text, pg_table_is_visible('public.patients'::regclass)", "[[<nil> {pg_catalog} false]]"},
			{`""`, "SELECT relname FROM pg_class WHERE oid = 'pg_type'::regclass", "[[pg_type]]"},
			{`""`, "SELECT 'patients'::regclass", "does not exist"},
			{"PUBLIC", "SELECT current_schemas(false)::text, 'patients'::regclass::text", "[[{public} patients]]"}, // of the start-up packet
			{`"public, pg_catalog"`, "SELECT current_schemas(false)::text", "[[{}]]"},
			{"dpsql", "SELECT count(*) > 0 FROM budget", "[[true]]"},
			{`dpsql, "$user", nothing, public`, "SELECT current_schema, current_schemas(false)::text", "[[dpsql {dpsql,public}]]"},
			{`"$user", public, dpsql`, "SELECT count(*) FROM patients", "[["},
			{"information_schema", "SELECT count(*) > 0 FROM tables WHERE table_name = 'patients'", "[[true]]"},
			{"information_schema", "SELECT count(*) FROM patients", "does not exist"},
		} {
			s.Values.Path = c.path
			rows, err := enginetest.Try(s, c.sql)
			if got := fmt.Sprint(rows); err != nil && !strings.Contains(err.Error(), c.want) || err == nil && !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %q: %s: %s, %v", d, c.path, c.sql, got, err)
			}
		}
		s.Values.Path = "pg_catalog"
		for _, sql := range []string{"SELECT count(*) FROM patients", "SELECT count(*) FROM patient"} {
			var e *sqlerr.Error
			if _, err := enginetest.Try(s, sql); !errors.As(err, &e) || e.Hint != `Perhaps you meant "public"."patients".` {
				t.Errorf("%s: %v", sql, err)
			}
		}
		s.Values.Path = ""
		p, err := enginetest.Prepare(s, "SELECT count(*) FROM patients")
		if err != nil {
			t.Fatal(err)
		}
		s.Values.Path = "pg_catalog"
		if _, err := p.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("prepared before: %v", err)
		}
		if n := len(enginetest.Charges(t, s.Engine)); n != 1 {
			t.Errorf("%s: %d charges", d, n)
		}
	}
}
