package ledger

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// onServer is all that a schema holds, as one number.
func onServer(t *testing.T, at Server) (print string) {
	t.Helper()
	c := must(pgx.Connect(ctx, at.URL))(t)
	defer c.Close(ctx) //nolint:errcheck // read only
	const sql = `SELECT md5(concat((SELECT string_agg(r::text, ';' ORDER BY seq) FROM records r), (SELECT string_agg(r::text, ';' ORDER BY seq) FROM releases r), (SELECT h::text FROM head h)))`
	if err := c.QueryRow(ctx, sql).Scan(&print); err != nil {
		t.Fatal(err)
	}
	return print
}

// A changed record in PostgreSQL is named by a server that starts, which serves nothing, says what to do and leaves all as it is; one that runs meets it where it reads on, and stops.
func TestServersBrokenRecordsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql string
		seq int64
	}{
		"a smaller price":        {`UPDATE records SET body = replace(convert_from(body, 'UTF8'), '"price":0.5', '"price":0.1')::bytea WHERE seq = 5`, 5},
		"another hash":           {`UPDATE records SET hash = decode(repeat('00', 32), 'hex') WHERE seq = 4`, 4},
		"a record less":          {`DELETE FROM records WHERE seq = 5`, 5},
		"no head":                {`DELETE FROM records WHERE seq = 1`, 1},
		"no records":             {`DELETE FROM records`, 1},
		"two records swapped":    {`UPDATE records SET seq = -seq WHERE seq IN (3, 5); UPDATE records SET seq = 8 + seq WHERE seq < 0`, 3},
		"a body that is no JSON": {`UPDATE records SET body = '\x00' WHERE seq = 6`, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSchema(t, t.TempDir()+"/shared")
			answerThree(t, must(OpenPostgres(ctx, at, demoHead(t), dayCache()))(t))
			psql(t, at, "ALTER TABLE records DISABLE TRIGGER stays;"+c.sql)
			if err := os.Remove(at.Path + MarkSuffix); err != nil { // a server on another machine: the chain alone must tell
				t.Fatal(err)
			}
			before := onServer(t, at)
			for _, open := range []func() error{
				func() error { _, err := OpenPostgres(ctx, at, demoHead(t), dayCache()); return err },
				func() error { _, err := OpenPostgresForOwner(ctx, at); return err },
			} {
				var broken *CorruptError
				if err := open(); !errors.As(err, &broken) || broken.Seq != c.seq || !strings.Contains(err.Error(), "Bring back the newest backup") {
					t.Errorf("%v, want record %d", err, c.seq)
				}
			}
			if onServer(t, at) != before {
				t.Error("it was changed")
			}
		})
	}
}

// A server that runs stops at a broken record of another's, and stays so.
func TestABrokenRecordStopsAServer(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 2, demoHead(t), dayCache())
	a, b := list[0], list[1]
	a.silent()
	b.silent()
	seq := a.state.seq
	must(b.Reserve(ctx, count(t, b.Filter(), "ann", 1, 0.5)))(t)
	psql(t, at, fmt.Sprintf(`ALTER TABLE records DISABLE TRIGGER stays; UPDATE records SET body = replace(convert_from(body, 'UTF8'), '"price":0.5', '"price":0.1')::bytea WHERE seq > %d`, seq))
	for range 2 {
		var broken *CorruptError
		if _, err := a.Reserve(ctx, count(t, a.Filter(), "ann", 1, 0.5)); !errors.As(err, &broken) || broken.Seq <= seq {
			t.Errorf("it charges: %v", err)
		}
		if _, _, err := a.Lookup(ctx, Hash{1}, "ann"); !errors.As(err, &broken) {
			t.Errorf("it answers: %v", err)
		}
	}
	if a.Healthy() == nil {
		t.Error("it says that it is well")
	}
}
