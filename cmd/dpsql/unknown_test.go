package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/policy"
)

// challenge is salt and iteration count that a user is shown.
func challenge(t *testing.T, addr, user string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left to be done
	fe := pgproto3.NewFrontend(conn, conn)
	fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": user, "database": "demo"}})
	fe.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefghijklmnop")})
	if err := fe.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := fe.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := m.(*pgproto3.AuthenticationSASLContinue); ok {
			_, rest, _ := strings.Cut(string(c.Data), ",")
			return rest
		}
	}
}

// TestUnknownUsers: what a user who does not exist is shown stays what it is when one is added, with another iteration count too, over a reload and a restart; and has the analysts' iteration count.
func TestUnknownUsers(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	s := serveDir(t, path)
	unknown := func() (out string) {
		for i := range 20 {
			out += challenge(t, s.addr, fmt.Sprint("nobody", i)) + " "
		}
		return out
	}
	before, of, all := challenge(t, s.addr, "nobody"), challenge(t, s.addr, "analyst"), unknown()
	if _, count, _ := strings.Cut(of, ","); !strings.HasSuffix(before, ","+count) || len(before) != len(of) {
		t.Errorf("%s, of an analyst %s", before, of)
	}
	if other := challenge(t, s.addr, "somebody"); other == before {
		t.Errorf("two names have the salt %s", before)
	}
	verifier, err := policy.MakeVerifier("demo", 8192)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(text, []byte("  analyst:"))
	more := string(text[:i]) + "  added: {password: \"" + verifier + "\", may: [stays]}\n" + string(text[i:])
	if err := os.WriteFile(path, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "reload", "--config", path)
	if now := challenge(t, s.addr, "nobody"); now != before || unknown() != all {
		t.Errorf("after a reload %s, was %s", now, before)
	}
	s.kill()
	s = serveDir(t, path)
	defer s.kill()
	if now := challenge(t, s.addr, "nobody"); now != before || unknown() != all {
		t.Errorf("after a restart %s, was %s", now, before)
	}
}
