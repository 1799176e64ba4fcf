package proxy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWireDifferential sends the same random messages to PostgreSQL and to dpsql: transactions, savepoints, cursors, COPY, prepared
// statements, settings and portals in any order. What comes back must be the same, byte for byte. WIRE_SEED and WIRE_SESSIONS look further.
func TestWireDifferential(t *testing.T) {
	seed, sessions := uint64(8), 150
	if s, err := strconv.ParseUint(os.Getenv("WIRE_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("WIRE_SESSIONS")); err == nil {
		sessions = n
	}
	ours := proxyURL(startProxy(t, newScripted(), Options{MaxSessionsPerUser: 1000}))
	a, b := openPlayer(t, server15.URL("postgres")+"&timezone=UTC"), openPlayer(t, ours)
	rng := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]int{}
	for i := range sessions {
		var log strings.Builder
		status := byte('I')
		for range 6 + rng.IntN(14) {
			batch := randomBatch(rng)
			switch {
			case status == 'E' && rng.IntN(2) == 0:
				batch = `Query {"String":"rollback"}`
			case status == 'I' && rng.IntN(3) == 0:
				batch = `Query {"String":"begin; declare a scroll cursor for select generate_series(1, 5); savepoint a"}`
			}
			fmt.Fprintf(&log, "%s\n", batch)
			a.send(t, batch)
			b.send(t, batch)
			want, got := a.until(t, []string{"ReadyForQuery"}, false, ""), b.until(t, []string{"ReadyForQuery"}, false, "")
			if want, got = masked(want), masked(got); want != got {
				t.Fatalf("session %d of seed %d:\n%sPostgreSQL:\n%s\ndpsql:\n%s", i, seed, log.String(), want, got)
			}
			status = want[len(want)-2]
			for _, line := range strings.Split(want, "\n") {
				f := strings.Fields(line)
				if len(f) > 1 && (f[0] == "CommandComplete" || f[0] == "ErrorResponse") {
					seen[strings.Join(f[:min(len(f), 3)], " ")]++
				} else if len(f) > 0 {
					seen[f[0]]++
				}
			}
		}
		end := "Query {\"String\":\"rollback\"}"
		for _, p := range []*player{a, b} {
			for _, s := range []string{end, `Query {"String":"discard all"}`} {
				p.send(t, s)
				p.until(t, []string{"ReadyForQuery"}, false, "")
			}
		}
	}
	for _, must := range []string{"PortalSuspended", "CopyDone", "CommandComplete DECLARE CURSOR", "CommandComplete FETCH 2", "CommandComplete MOVE 1", "CommandComplete CLOSE CURSOR", "CommandComplete PREPARE", "CommandComplete SAVEPOINT",
		"CommandComplete RELEASE", "CommandComplete ROLLBACK", "CommandComplete COPY 3", "ErrorResponse ERROR 25P02", "ErrorResponse ERROR 34000", "ErrorResponse ERROR 26000", "ErrorResponse ERROR 55000", "ErrorResponse ERROR 42P03",
		"ErrorResponse ERROR 3B001", "NoticeResponse", "ParameterStatus"} {
		if seen[must] == 0 {
			t.Errorf("no session had %s", must)
		}
	}
}

var (
	cannotRun = regexp.MustCompile(`ErrorResponse ERROR (XX000 unsupported portal strategy|55000 portal "\w*" cannot be run)`)
	cleanup   = regexp.MustCompile(`NoticeResponse WARNING 01000 skipping cleanup for portal "\w*"\n`)
)

// masked leaves out PostgreSQL's words about its own inside: the internal error of a FETCH from a portal without rows, and a warning that a portal that failed is left.
func masked(text string) string {
	return cleanup.ReplaceAllString(cannotRun.ReplaceAllString(text, "ErrorResponse ERROR 55000 portal cannot be run"), "")
}

func openPlayer(t *testing.T, url string) *player {
	h, err := dial(t, url).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	return &player{conn: h.Conn, fe: h.Frontend}
}

// randomBatch is a Query, or messages of the extended protocol up to a Sync.
func randomBatch(rng *rand.Rand) string {
	simple := rng.IntN(3) > 0
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	name := func() string { return pick("a", "b", "c") }
	count := func() string {
		return pick("1", "2", "3", "0", "-1", "-2", "all", "next", "prior", "first", "last", "forward", "backward", "forward 2", "backward 2", "forward all", "backward all", "absolute 2", "absolute -1", "absolute 0", "relative 0", "relative 2",
			"relative -1", "forward 0", "backward 0", "2147483647", "absolute -2147483647")
	}
	query := func() string {
		return pick("select 1", "select 1 as x", "select generate_series(1, 3)", "select generate_series(1, 5)", "select 1 where false", "select 'é' as t, null as n", "select 1.50 as x")
	}
	statement := func() string {
		switch rng.IntN(22) {
		case 0:
			return pick("begin", "begin", "start transaction read only", "begin isolation level repeatable read")
		case 1:
			return pick("commit", "end", "rollback", "abort", "commit and chain", "rollback and chain")
		case 2:
			return "savepoint " + name()
		case 3:
			return pick("release ", "rollback to ", "release savepoint ") + name()
		case 4, 5, 6:
			return "declare " + name() + pick(" scroll", " no scroll", " scroll", " binary scroll", " insensitive no scroll") + " cursor " + pick("", "with hold ", "without hold ") + "for " + query()
		case 7, 8, 9, 10, 11:
			return "fetch " + count() + pick(" from ", " in ") + name()
		case 12:
			return "move " + count() + " in " + name()
		case 13:
			return "close " + pick(name(), name(), "all")
		case 14:
			return "copy (" + query() + ") to stdout" + pick("", " (format csv, header)", " (format binary)", " (header)")
		case 15:
			return "prepare " + name() + " as " + pick(query(), "select $1::int4 as a")
		case 16:
			return "execute " + name() + pick("", "", " (7)", " (null)", " ('x')")
		case 17:
			return "deallocate " + pick(name(), name(), "all")
		case 18:
			return pick("set datestyle = 'SQL, DMY'", "set local timezone = 'Europe/Berlin'", "reset all", "show datestyle", "show timezone", "set application_name = 'x'", "set local work_mem = '1MB'", "show work_mem", "set work_mem = 'x'",
				"set transaction isolation level serializable", "set transaction read write", "set transaction read only", "set transaction deferrable", "set transaction_read_only = off", "show transaction_isolation", "show transaction_read_only",
				"set session characteristics as transaction read only")
		case 19:
			return pick("select 1/(random()*0)::int", "select 'é', nope", "discard all", "discard plans", "listen a", "unlisten *")
		}
		return query()
	}
	quoted := func(s string) string { return strconv.Quote(s) }
	if simple {
		list := make([]string, 1+rng.IntN(3)*rng.IntN(2))
		for i := range list {
			list[i] = statement()
		}
		return fmt.Sprintf(`Query {"String":%s}`, quoted(strings.Join(list, "; ")))
	}
	var out []string
	for range 1 + rng.IntN(5) {
		st, po := pick("", "x", "y"), name() // EXECUTE of a command ends PostgreSQL's session at times; the unnamed portal is run where it is made: PostgreSQL keeps that of a simple query that failed
		switch rng.IntN(8) {
		case 7:
			out = append(out, fmt.Sprintf(`Parse {"Query":%s}`, quoted(statement())), `Describe {"ObjectType":"S"}`, "Bind", fmt.Sprintf(`Execute {"MaxRows":%d}`, rng.IntN(3)), `Execute {}`)
		case 0, 1:
			out = append(out, fmt.Sprintf(`Parse {"Name":%q,"Query":%s}`, st, quoted(statement())), fmt.Sprintf(`Bind {"DestinationPortal":%q,"PreparedStatement":%q}`, po, st))
		case 2:
			out = append(out, fmt.Sprintf(`Bind {"DestinationPortal":%q,"PreparedStatement":%q}`, po, pick(st, name())))
		case 3:
			out = append(out, fmt.Sprintf(`Describe {"ObjectType":%q,"Name":%q}`, pick("S", "P"), po))
		case 4, 5:
			out = append(out, fmt.Sprintf(`Execute {"Portal":%q,"MaxRows":%d}`, po, rng.IntN(4)))
		case 6:
			out = append(out, fmt.Sprintf(`Close {"ObjectType":%q,"Name":%q}`, pick("S", "P"), po))
		}
	}
	return strings.Join(append(out, "Sync"), "\n")
}
