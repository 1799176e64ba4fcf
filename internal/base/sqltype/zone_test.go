package sqltype_test

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestZoneNames: every name that PostgreSQL shows is known, but for those that only some machines have.
func TestZoneNames(t *testing.T) {
	conn := connect(t)
	res := conn.ExecParams(context.Background(), "select name from pg_timezone_names", nil, nil, nil, nil).Read()
	if res.Err != nil || len(res.Rows) < 400 {
		t.Fatal(res.Err, len(res.Rows))
	}
	for _, r := range res.Rows {
		name := string(r[0])
		if strings.HasPrefix(name, "posix") || name == "localtime" {
			continue
		}
		if z, ok := sqltype.LookupZone(strings.ToUpper(name)); !ok || z.String() != name {
			t.Errorf("zone %s is %v", name, z)
		}
	}
}

// TestZonesAgree compares moments and local times in all zones: PostgreSQL's own file of a zone may be newer or older than
// ours, which is seen as a difference after 2020 and is then the machine's.
func TestZonesAgree(t *testing.T) {
	conn := connect(t)
	zones := []string{"Europe/Berlin", "America/New_York", "Africa/Casablanca", "Asia/Pyongyang", "Pacific/Kwajalein", "America/Santiago", "Australia/Sydney",
		"Antarctica/Troll", "Europe/Dublin", "Asia/Gaza", "America/Caracas", "EST5EDT", "<-03>+3", "FOO-5:30", "PST8PDT,M3.2.0,M11.1.0", "AAA+3BBB", "XYZ-11", "<+0530>-5:30",
		"Etc/GMT+12", "Factory", "Asia/Kathmandu", "America/Scoresbysund", "abc3def,J60/0,300/12", "x3", "UTC0", "EST5EDT4,M4.1.0,M10.5.0"}
	rng := rand.New(rand.NewSource(7))
	texts := []string{"1883-11-18 12:03:58", "1901-12-13 20:45:52", "2024-03-31 02:30", "2024-12-31 23:59:59", "2040-12-31 12:00", "2037-10-25 02:30", "2400-02-29", "0001-01-01", "0044-03-15 BC", "2096-12-31 06:00"}
	for range 120 {
		texts = append(texts, fmt.Sprintf("%04d-%02d-%02d %02d:%02d:00", 1850+rng.Intn(300), 1+rng.Intn(12), 1+rng.Intn(28), rng.Intn(24), rng.Intn(60)))
	}
	if err := conn.Exec(context.Background(), reader).Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range zones {
		z, known := sqltype.LookupZone(name)
		err := conn.Exec(context.Background(), "set timezone = '"+name+"'; set datestyle = 'Postgres, DMY'").Close()
		if known != (err == nil) {
			t.Errorf("%s: known %v, PostgreSQL: %v", name, known, err)
		}
		if known && err == nil {
			checkTexts(t, conn, &sqltype.Settings{Zone: z, DateStyle: sqltype.DatePostgres, DateOrder: sqltype.OrderDMY}, sqltype.Timestamptz, texts, name)
		}
	}
}

// TestAbbreviations: every abbreviation of the default set means what it means to PostgreSQL, at three times.
func TestAbbreviations(t *testing.T) {
	conn := connect(t)
	if err := conn.Exec(context.Background(), reader).Close(); err != nil {
		t.Fatal(err)
	}
	res := conn.ExecParams(context.Background(), "select abbrev from pg_timezone_abbrevs", nil, nil, nil, nil).Read()
	if res.Err != nil || len(res.Rows) < 100 {
		t.Fatal(res.Err, len(res.Rows))
	}
	var texts []string
	for _, r := range res.Rows {
		for _, at := range []string{"1925-06-01 12:00", "1991-06-15 12:00", "2012-01-15 12:00", "2024-07-01 12:00"} {
			texts = append(texts, at+" "+string(r[0]))
		}
	}
	checkTexts(t, conn, &sqltype.Settings{}, sqltype.Timestamptz, texts, "abbreviations")
	checkTexts(t, conn, &sqltype.Settings{}, sqltype.Timetz, texts, "abbreviations")
}
