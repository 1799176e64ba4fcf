package funcs

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var remake = flag.Bool("remake", false, "write duckzones.txt anew, from all zones")

// TestDuckZones compares the zones of duckzones.txt on DuckDB with this process's own, whose rows are held against PostgreSQL, around each of their changes:
// wall clock of instants and instants of wall clocks. With DPSQL_LONG it is all of them, else each thirtieth.
func TestDuckZones(t *testing.T) {
	duck, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = duck.Close() }()
	names := strings.Fields(duckZones)
	if *remake {
		text, err := os.ReadFile("../../internal/base/sqltype/zones.txt")
		if err != nil {
			t.Fatal(err)
		}
		names = strings.Fields(string(text))
	} else if len(names) < 300 {
		t.Fatalf("%d zones", len(names))
	}
	slices.Sort(names)
	var good []string
	for i, name := range names {
		loc, err := location(name)
		if err != nil || loc == time.UTC {
			continue
		}
		if !*remake && os.Getenv("DPSQL_LONG") == "" && i%30 != 7 {
			continue
		}
		if differs := compareZone(duck, name, loc); differs == nil {
			good = append(good, name)
		} else if !*remake {
			t.Errorf("%s: %v", name, differs)
		}
	}
	if *remake {
		if err := os.WriteFile("duckzones.txt", []byte(strings.Join(good, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func compareZone(duck *sql.DB, name string, loc *time.Location) error {
	rows, err := duck.Query("SELECT x, epoch_us(timezone('" + name + "', make_timestamptz(x))), epoch_us(timezone('" + name + "', make_timestamp(x))) FROM (VALUES " + strings.Join(around(loc), ", ") + ") AS v(x)")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var x, wall, instant int64
		if err := rows.Scan(&x, &wall, &instant); err != nil {
			return err
		}
		m := sqltype.Micros(x - epochSeconds*second)
		back, err := unlocal(m, loc)
		if err != nil {
			return err
		}
		if int64(local(m, loc))+epochSeconds*second != wall || int64(back)+epochSeconds*second != instant {
			return fmt.Errorf("%v: %v and %v", time.UnixMicro(x).UTC(), time.UnixMicro(wall).UTC(), time.UnixMicro(instant).UTC())
		}
	}
	return rows.Err()
}

// around are microseconds around each change of a zone up to the year 2500, and through all years.
func around(loc *time.Location) []string {
	var out []string
	add := func(seconds int64) { out = append(out, fmt.Sprintf("(%d)", seconds*second)) }
	for at := time.Unix(-1<<33, 0); ; {
		_, end := at.In(loc).ZoneBounds()
		if end.IsZero() || end.Year() > 2500 || !end.After(at) {
			break
		}
		for _, d := range []int64{-90000, -86400, -7200, -3601, -3600, -1801, -1, 0, 1, 1800, 3599, 3600, 7200, 86400} {
			add(end.Unix() + d)
		}
		at = end
	}
	const year = 31556952
	for y := int64(-6500); y < 200000; y += 997 {
		add(y*year + year/2)
		add(y * year)
	}
	for y := int64(-200); y < 600; y += 7 {
		add(y*year + year/2)
		add(y * year)
	}
	return out
}
