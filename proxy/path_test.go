package proxy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestSearchPathTexts: SET's names are taken as they are, and the text of the start-up packet and of set_config is a list, kept as given: what SHOW then says, and what is refused, is PostgreSQL's.
func TestSearchPathTexts(t *testing.T) {
	ctx := context.Background()
	ours, theirs := dial(t, proxyURL(startProxy(t, newScripted(), Options{}))), dial(t, server15.URL("postgres"))
	said := func(rows []*pgconn.Result, err error) string {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			return e.Code + " " + e.Message + " " + e.Detail
		}
		return string(rows[len(rows)-1].Rows[0][0])
	}
	long := strings.Repeat("ä", 40)
	for _, names := range []string{"PUBLIC", "Public, \"Public\"", "'Public'", "'a,b'", "'public, pg_catalog'", "''", "a, 'b c', \"d\"\"e\"", "'" + strings.Repeat("x", 64) + "'", "'" + long + "', b"} {
		q := "begin; set local search_path = " + names + "; show search_path; rollback"
		a, errA := theirs.Exec(ctx, q).ReadAll()
		b, errB := ours.Exec(ctx, q).ReadAll()
		if want, got := said(a[:len(a)-1], errA), said(b[:len(b)-1], errB); got != want {
			t.Errorf("SET %s: %q, PostgreSQL %q", names, got, want)
		}
	}
	for _, text := range []string{"PUBLIC", "Public", `"Public"`, "public,pg_catalog", " a ,B  , \"c d\"", "", " ", "a,", ",", "a b", `"a`, `a"b`, "a\vb", strings.Repeat("y", 64), long} {
		r := theirs.ExecParams(ctx, "select set_config('search_path', $1, false)", [][]byte{[]byte(text)}, nil, nil, nil).Read()
		want := said([]*pgconn.Result{r}, r.Err)
		var e *sqlerr.Error
		for _, set := range []func(s *settings) error{func(s *settings) error { return s.start("search_path", text) }, func(s *settings) error { return s.SetParameter("search_path", text, false) }} {
			s, got := newSettings("ann", &scriptedSession{}), ""
			if err := set(s); errors.As(err, &e) {
				got = e.Code + " " + e.Message + " " + e.Detail
			} else {
				got = s.get("search_path")
			}
			if got != want {
				t.Errorf("%q: %q, PostgreSQL %q", text, got, want)
			}
		}
	}
}
