package proxy

import (
	"context"
	"flag"
	"os"
	"testing"
)

// TestSettingsOf15: settings.tsv is pg_settings of PostgreSQL 15 as a user sees it, and the names of what only a superuser sees. -rewrite writes it.
func TestSettingsOf15(t *testing.T) {
	conn := dial(t, server15.URL("postgres"))
	results, err := conn.Exec(context.Background(), `begin; create role looks; set local role looks;
create temp table visible as select * from pg_settings; grant select on visible to public; reset role;
select string_agg(concat_ws(e'\t', s.name, coalesce(v.boot_val, ''), coalesce(v.unit, ''), regexp_replace(coalesce(v.short_desc, ''), '\s+', ' ', 'g'),
	case when v.name is null then 'hidden' else s.context end, s.vartype, coalesce(v.min_val, ''), coalesce(v.max_val, ''), coalesce(array_to_string(v.enumvals, ','), '')) || e'\n', '' order by lower(s.name) collate "C")
from pg_settings s left join visible v using (name) where s.name not like '%.%'; rollback`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := string(results[6].Rows[0][0])
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile("settings.tsv", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != settingsOf15 {
		t.Error("settings.tsv is not what PostgreSQL has; go test ./proxy -run TestSettingsOf15 -rewrite")
	}
}
