package proxy

import (
	"context"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestSettingsOf15: settings.tsv is pg_settings of PostgreSQL 15 as a user sees it, and the names of what only a superuser sees. -rewrite writes it.
func TestSettingsOf15(t *testing.T) {
	conn := dial(t, server15.URL("postgres"))
	results, err := conn.Exec(context.Background(), `begin; create role looks; set local role looks;
create temp table visible as select * from pg_settings; grant select on visible to public; reset role;
select string_agg(concat_ws(e'\t', s.name, coalesce(v.boot_val, ''), coalesce(v.unit, ''), regexp_replace(coalesce(v.short_desc, ''), '\s+', ' ', 'g'),
	case when v.name is null then 'hidden' else s.context end, s.vartype, coalesce(v.min_val, ''), coalesce(v.max_val, ''), coalesce(array_to_string(v.enumvals, ','), ''),
	s.category, regexp_replace(coalesce(v.extra_desc, ''), '\s+', ' ', 'g')) || e'\n', '' order by lower(s.name) collate "C")
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
	minor := regexp.MustCompile(`(?m)^(server_version|` + strings.Join(pgtest.LaterSettings, "|") + `).*\n`) // the machine's
	here, there := strings.Split(minor.ReplaceAllString(settingsOf15, ""), "\n"), strings.Split(minor.ReplaceAllString(got, ""), "\n")
	for _, line := range there {
		if !slices.Contains(here, line) {
			t.Errorf("settings.tsv has no %q; go test ./proxy -run TestSettingsOf15 -rewrite", line)
		}
	}
	if len(here) != len(there) {
		t.Errorf("settings.tsv has %d lines, PostgreSQL %d", len(here), len(there))
	}
}

// TestShowAll: SHOW ALL has PostgreSQL's names and words, in its order, and dpsql's settings among them.
func TestShowAll(t *testing.T) {
	show := func(url, before string) (out [][2]string) {
		results, err := dial(t, url).Exec(context.Background(), before+"show all").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range results[len(results)-1].Rows {
			if slices.Contains(pgtest.LaterSettings, string(row[0])) {
				continue
			}
			out = append(out, [2]string{string(row[0]), strings.Join(strings.Fields(string(row[2])), " ")})
		}
		return out
	}
	here := show(proxyURL(startProxy(t, newScripted(), Options{})), "")
	there := show(server15.URL("postgres"), "begin; create role looks; set local role looks; ")
	i := slices.IndexFunc(here, func(r [2]string) bool { return r[0] == "dpsql.price" })
	if i < 0 {
		t.Fatal("dpsql's own settings are not there")
	}
	if here = slices.Delete(here, i, i+1); !slices.Equal(here, there) {
		for k := range min(len(here), len(there)) {
			if here[k] != there[k] {
				t.Errorf("%q is %q in PostgreSQL", here[k], there[k])
			}
		}
		t.Errorf("%d settings, PostgreSQL has %d", len(here), len(there))
	}
}
