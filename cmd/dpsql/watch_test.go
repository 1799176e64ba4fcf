package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/engine/watch/watches"
)

// TestWatchList: a watch is created, explained and shown over the wire, by both protocols. The owner lists it beside a server and without one, and nowhere is the noise of its threshold.
func TestWatchList(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	s := serveDir(t, path)
	conn := connect(t, s.url("analyst"))
	const create = "CREATE DP WATCH w AS SELECT count(*) FROM stays THRESHOLD 1000 EVERY '6 hours' TIMES 2 WITH (price = 0.1)"
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
		if rows, err := conn.Query(t.Context(), "EXPLAIN "+create, mode); err != nil {
			t.Fatal(err)
		} else if list, err := pgx.CollectRows(rows, pgx.RowToMap); err != nil || len(list) < 8 || list[0]["value"] != "w" {
			t.Errorf("EXPLAIN: %v, %v", list, err)
		}
		if tag, err := conn.Exec(t.Context(), create, mode); err != nil || tag.String() != "CREATE DP WATCH" {
			t.Errorf("%q, %v", tag, err)
		}
		var looks int64
		var every, state string
		if err := conn.QueryRow(t.Context(), "SELECT looks, every::text, state FROM dpsql.watches WHERE watch = 'w'", mode).Scan(&looks, &every, &state); err != nil || looks != 0 || every != "06:00:00" || state != "looking" {
			t.Errorf("%d %q %q, %v", looks, every, state, err)
		}
		if mode == pgx.QueryExecModeSimpleProtocol {
			if tag, err := conn.Exec(t.Context(), "DROP DP WATCH w", mode); err != nil || tag.String() != "DROP DP WATCH" {
				t.Errorf("%q, %v", tag, err)
			}
		}
	}
	beside := output(t, "watch", "list", "--config", path)
	s.kill()
	if alone := output(t, "watch", "list", "--config", path); alone != beside || alone != "analyst  w  looking\n    SELECT count(*) FROM stays\n    threshold 1000, every 06:00:00, price 0.1: 0 looks, no alert\n" {
		t.Errorf("%s\nbeside a server\n%s", alone, beside)
	}
	var list []watches.Watch
	text := output(t, "watch", "list", "--json", "--config", path)
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 1 || list[0].Event.Alerts != 2 || strings.Contains(text, "raised") {
		t.Errorf("%s, %v", text, err)
	}
}
