package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestPGSettings: pg_settings' rows are PostgreSQL's: numbers in their units, bounds, words, descriptions; the values where PostgreSQL's are those of no configuration, and the first values where dpsql has no word in them.
func TestPGSettings(t *testing.T) {
	computed := map[string]bool{"archive_command": true, "max_stack_depth": true, "shared_memory_size": true, "shared_memory_size_in_huge_pages": true, "tcp_keepalives_count": true,
		"tcp_keepalives_idle": true, "tcp_keepalives_interval": true, "wal_buffers": true} // by PostgreSQL, of its machine
	minor := map[string]bool{"server_version": true, "server_version_num": true}
	for _, name := range pgtest.LaterSettings {
		minor[name] = true
	}
	results, err := dial(t, server15.URL("postgres")).Exec(context.Background(), `begin; create role looks; set local role looks;
		select name, unit, category, regexp_replace(short_desc, '\s+', ' ', 'g'), regexp_replace(extra_desc, '\s+', ' ', 'g'), context, vartype, min_val, max_val, array_to_string(enumvals, ','),
			setting, reset_val, boot_val, source from pg_settings; rollback`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string][]string{}
	for _, row := range results[3].Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, string(v))
		}
		theirs[cells[0]] = cells
	}
	s := newSettings("looks", &scriptedSession{values: map[string]string{"dpsql.price": "1"}})
	s.starts["work_mem"] = "8MB"
	if err := s.assign("statement_timeout", []string{"1min"}, false); err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, p := range s.AllParameters() {
		want, ok := theirs[p.Name]
		if delete(theirs, p.Name); p.Name == "dpsql.price" || minor[p.Name] {
			continue
		}
		if !ok {
			t.Errorf("%s: PostgreSQL has none", p.Name)
			continue
		}
		got := []string{p.Name, p.Unit, p.Category, p.Description, p.Extra, p.Context, p.Kind, p.Least, p.Most, strings.Join(p.Values, ",")}
		if want := want[:len(got)]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		switch p.Name {
		case "work_mem":
			if p.Value != "8192" || p.Boot != "4096" || p.Reset != "8192" || p.Source != "client" {
				t.Errorf("%+v", p)
			}
			continue
		case "statement_timeout":
			if p.Value != "60000" || p.Reset != "0" || p.Source != "session" {
				t.Errorf("%+v", p)
			}
			continue
		}
		if want[13] != "default" || parameters[strings.ToLower(p.Name)].guc == nil { // set by the test's server, or fixed here
			continue
		}
		if computed[p.Name] {
			continue
		}
		if values++; p.Value != want[10] || p.Reset != want[11] || p.Boot != want[12] {
			t.Errorf("%s is %q, %q, %q, want %q", p.Name, p.Value, p.Reset, p.Boot, want[10:13])
		}
	}
	for name := range theirs {
		if !minor[name] {
			t.Errorf("%s is not there", name)
		}
	}
	if values < 250 {
		t.Errorf("%d values are compared", values)
	}
}

// TestHiddenSettings: current_setting may look at what SHOW may.
func TestHiddenSettings(t *testing.T) {
	s := newSettings("looks", &scriptedSession{})
	for name, want := range map[string]string{"data_directory": "42501", "no_such": "42704", "log_file_mode": "", "Is_Superuser": ""} {
		_, err := s.Parameter(name)
		var e *sqlerr.Error
		code := ""
		if errors.As(err, &e) {
			code = e.Code
		}
		if code != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
