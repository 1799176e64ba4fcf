package postgres_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// A database has one name for every role, and another one has another.
func TestName(t *testing.T) {
	name := func(d *postgres.DB) string {
		t.Helper()
		n, err := d.Name(t.Context())
		if err != nil {
			t.Fatal(backendtest.Cause(err))
		}
		return n
	}
	database(t, "named")
	database(t, "named_other")
	if err := server.Exec("named", "CREATE ROLE plain LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec("named_other", "DROP ROLE plain"); err != nil {
			t.Error(err)
		}
	})
	own, plain := name(open(t, "named", postgres.Options{})), name(openAs(t, "plain", "named"))
	if own != plain || !strings.HasPrefix(own, "PostgreSQL ") {
		t.Errorf("%q for the owner, %q for another role", own, plain)
	}
	if other := name(open(t, "named_other", postgres.Options{})); other == own {
		t.Errorf("both are %q", own)
	}
	if err := server.Exec("named", "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_control_system() FROM PUBLIC"); err != nil { // in this database alone
		t.Fatal(err)
	}
	if got := name(openAs(t, "plain", "named")); !strings.HasSuffix(got, "/named") {
		t.Errorf("without the right to the cluster's identifier: %q", got)
	}
}
