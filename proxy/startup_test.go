package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

func rawDial(tb testing.TB, addr string) net.Conn {
	tb.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		tb.Fatal(err)
	}
	return c
}

// packet is a start-up packet: a code and bytes.
func packet(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}

func params(kv ...string) string { return strings.Join(kv, "\x00") + "\x00\x00" }

// firstMessages prints what comes until the connection ends or the server waits for a password.
func firstMessages(tb testing.TB, c net.Conn) string {
	tb.Helper()
	fe := pgproto3.NewFrontend(c, c)
	var b strings.Builder
	for {
		m, err := fe.Receive()
		if err != nil {
			b.WriteString("(closed)\n")
			return b.String()
		}
		b.WriteString(printMessage(m, false))
		if _, ok := m.(*pgproto3.AuthenticationSASL); ok {
			return b.String()
		}
	}
}

func TestStartupPackets(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	ok := params("user", "analyst", "database", "demo")
	for _, c := range []struct {
		name string
		send []byte
		n    int // how many bytes "N" come first
		want string
	}{
		{"plain", packet(protocol3, ok), 0, "AuthenticationSASL\n"},
		{"ssl", slices.Concat(packet(sslCode, ""), packet(protocol3, ok)), 1, "AuthenticationSASL\n"},
		{"gss, then ssl", slices.Concat(packet(gssCode, ""), packet(sslCode, ""), packet(protocol3, ok)), 2, "AuthenticationSASL\n"},
		{"ssl twice", slices.Concat(packet(sslCode, ""), packet(sslCode, "")), 1, "ErrorResponse FATAL 08P01 unsupported frontend protocol\n(closed)\n"},
		{"minor version", packet(protocol3+2, ok), 0, "AuthenticationSASL\n"},
		{"minor version of later", packet(protocol3+9999, ok), 0, "NegotiateProtocolVersion\nAuthenticationSASL\n"},
		{"protocol option", packet(protocol3, params("user", "analyst", "_pq_.x", "1")), 0, "NegotiateProtocolVersion\nAuthenticationSASL\n"},
		{"version 2", packet(2<<16, ok), 0, "ErrorResponse FATAL 0A000 unsupported frontend protocol 2.0: server supports 3.0 to 3.2\n(closed)\n"},
		{"version 4", packet(4<<16, ok), 0, "ErrorResponse FATAL 0A000 unsupported frontend protocol 4.0: server supports 3.0 to 3.2\n(closed)\n"},
		{"http", []byte("GET / HTTP/1.1\r\n\r\n"), 0, "ErrorResponse FATAL 08P01 invalid length of startup packet\n(closed)\n"},
		{"no user", packet(protocol3, params("database", "demo")), 0, "ErrorResponse FATAL 28000 no PostgreSQL user name specified in startup packet\n(closed)\n"},
		{"not UTF-8", packet(protocol3, params("user", "\xff")), 0, "ErrorResponse FATAL 22021 the startup packet is not valid UTF-8\n(closed)\n"},
		{"no terminator", packet(protocol3, "user\x00analyst"), 0, "ErrorResponse FATAL 08P01 invalid startup packet layout: expected terminator as last byte\n(closed)\n"},
		{"too short", []byte{0, 0, 0, 4}, 0, "ErrorResponse FATAL 08P01 invalid length of startup packet\n(closed)\n"},
		{"too long", []byte{0x7f, 0xff, 0xff, 0xff}, 0, "ErrorResponse FATAL 08P01 invalid length of startup packet\n(closed)\n"},
		{"cancel of nobody", packet(cancelCode, "12345678"), 0, "(closed)\n"},
		{"cancel without key", packet(cancelCode, ""), 0, "(closed)\n"},
	} {
		conn := rawDial(t, addr)
		if _, err := conn.Write(c.send); err != nil {
			t.Fatal(err)
		}
		n := make([]byte, c.n)
		if _, err := io.ReadFull(conn, n); err != nil || strings.Trim(string(n), "N") != "" {
			t.Fatalf("%s: %q %v", c.name, n, err)
		}
		if got := firstMessages(t, conn); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestParameterStatus: the same settings are told as by PostgreSQL 15, and the values that clients branch on.
func TestParameterStatus(t *testing.T) {
	ours := dial(t, proxyURL(startProxy(t, newScripted(), Options{}))+"&application_name=a")
	theirs := dial(t, server15.URL("postgres")+"&application_name=a&timezone=UTC&datestyle=ISO")
	for _, name := range reportedNames {
		name = parameters[name].name
		got, want := ours.ParameterStatus(name), theirs.ParameterStatus(name)
		switch name {
		case "session_authorization":
			want = "analyst"
		case "is_superuser":
			want = "off"
		case "server_version":
			got, _, _ = strings.Cut(got, ".") // the minor release, and Debian's package behind it, are the machine's
			want, _, _ = strings.Cut(want, ".")
		}
		if got != want {
			t.Errorf("%s = %q, PostgreSQL has %q", name, got, want)
		}
	}
	if ours.PID() == 0 || len(ours.SecretKey()) != 4 {
		t.Errorf("process id %d, key %v", ours.PID(), ours.SecretKey())
	}
}

// connectError is the error of a connection string.
func connectError(t *testing.T, url string) *pgconn.PgError {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgconn.Connect(ctx, url)
	if err == nil {
		_ = c.Close(ctx)
		return nil
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", url, err)
	}
	return e
}

func TestStartupSettings(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	for _, c := range []struct{ extra, want string }{
		{"&client_encoding=utf-8", ""}, {"&client_encoding=%27utf-8%27", ""}, {"&client_encoding=latin1", ""}, {"&client_encoding=big5", "0A000"},
		{"&DateStyle=ISO", ""}, {"&DateStyle=ISO,%20MDY", ""}, {"&DateStyle=German", ""}, {"&DateStyle=Nope", "22023"}, {"&TimeZone=Etc/UTC", ""}, {"&TimeZone=Europe/Paris", ""}, {"&TimeZone=Europe/Nope", "22023"},
		{"&extra_float_digits=2", ""}, {"&search_path=public", ""}, {"&nope=1", "42704"}, {"&server_version=9", "55P02"}, {"&replication=database", "0A000"}, {"&replication=false", ""},
		{"&options=-c%20dpsql.price%3D0.5", ""}, {"&options=--dpsql.price%3D0.5%20-cextra-float-digits%3D3", ""}, {"&options=-c%20dpsql.nope%3D0.5", "42704"},
		{"&options=-x", "42601"}, {"&options=-c%20dpsql.price", "42601"}, {"&application_name=panic", "XX000"},
	} {
		e := connectError(t, proxyURL(addr)+c.extra)
		if e == nil && c.want != "" || e != nil && (e.Code != c.want || e.Severity != "FATAL") {
			t.Errorf("%s: %v, want %q", c.extra, e, c.want)
		}
	}
	c := dial(t, proxyURL(addr)+`&options=-c%20dpsql.price%3D0.5%20-c%20application_name%3Da\%20b`)
	for _, q := range []string{"show dpsql.price", "set dpsql.price = 0.7; reset dpsql.price; show dpsql.price", "set dpsql.price = 0.7", "discard all", "show dpsql.price",
		"begin; set local dpsql.price = 0.6; reset dpsql.price; commit; show dpsql.price"} {
		res, err := c.Exec(context.Background(), q).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if !strings.Contains(q, "show") {
			continue
		}
		if got := string(res[len(res)-1].Rows[0][0]); got != "0.5" {
			t.Errorf("%s: %s, want the start-up packet's", q, got)
		}
	}
	if got := c.ParameterStatus("application_name"); got != "a b" {
		t.Errorf("application_name = %q", got)
	}
}

func TestRefusedLogins(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{MaxSessions: 2})
	for _, c := range []struct{ url, code, message string }{
		{"postgres://analyst:secret@" + addr + "/other", "3D000", `database "other" does not exist`},
		{"postgres://analyst:secret@" + addr + "/", "3D000", `database "analyst" does not exist`},
		{"postgres://analyst:wrong@" + addr + "/demo", "28P01", `password authentication failed for user "analyst"`},
		{"postgres://nobody:secret@" + addr + "/demo", "28P01", `password authentication failed for user "nobody"`},
		{"postgres://nobody:secret@" + addr + "/other", "28P01", `password authentication failed for user "nobody"`},
		{"postgres://broken:secret@" + addr + "/demo", "28P01", `password authentication failed for user "broken"`},
	} {
		if e := connectError(t, c.url+"?sslmode=disable"); e == nil || e.Code != c.code || e.Message != c.message {
			t.Errorf("%s: %v", c.url, e)
		}
	}
	dial(t, proxyURL(addr))
	second := dial(t, proxyURL(addr))
	if e := connectError(t, proxyURL(addr)); e == nil || e.Code != "53300" {
		t.Errorf("a third session of two: %v", e)
	}
	if err := second.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); connectError(t, proxyURL(addr)) != nil; {
		if time.Now().After(end) {
			t.Fatal("a closed session still counts")
		}
	}
}

// exchange goes through a log-in by hand and gives the types of the messages that came, the salt line and the last error.
func exchange(t *testing.T, addr, user, scramUser, password, flag string) (shape []string, first, last string) {
	t.Helper()
	conn := rawDial(t, addr)
	if _, err := conn.Write(packet(protocol3, params("user", user, "database", "demo"))); err != nil {
		t.Fatal(err)
	}
	client, err := scram.SHA256.NewClient(scramUser, password, "")
	if err != nil {
		t.Fatal(err)
	}
	conv := client.NewConversation()
	fe := pgproto3.NewFrontend(conn, conn)
	for {
		m, err := fe.Receive()
		if err != nil {
			return append(shape, "(closed)"), first, last
		}
		shape = append(shape, fmt.Sprintf("%T", m))
		switch m := m.(type) {
		case *pgproto3.AuthenticationSASL:
			text, err := conv.Step("")
			if err != nil {
				t.Fatal(err)
			}
			fe.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte(flag + text[1:])})
		case *pgproto3.AuthenticationSASLContinue:
			_, first, _ = strings.Cut(string(m.Data), ",") // without the nonce
			text, err := conv.Step(string(m.Data))
			if err != nil {
				t.Fatal(err)
			}
			fe.Send(&pgproto3.SASLResponse{Data: []byte(text)})
		case *pgproto3.ErrorResponse:
			last = m.Code + " " + m.Message
		case *pgproto3.ReadyForQuery:
			return shape, first, last
		}
		if err := fe.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnknownUserLooksLikeAWrongPassword: the same messages, a salt that stays, and the same words.
func TestUnknownUserLooksLikeAWrongPassword(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	wrong, knownFirst, wrongLast := exchange(t, addr, "analyst", "", "wrong", "n")
	unknown, nobody, unknownLast := exchange(t, addr, "nobody", "", "secret", "n")
	_, again, _ := exchange(t, addr, "nobody", "", "other", "n")
	_, other, _ := exchange(t, addr, "somebody", "", "secret", "n")
	if !slices.Equal(wrong, unknown) || wrong[len(wrong)-2] != "*pgproto3.ErrorResponse" {
		t.Errorf("%v\n%v", wrong, unknown)
	}
	if strings.ReplaceAll(unknownLast, "nobody", "analyst") != wrongLast {
		t.Errorf("%s\n%s", unknownLast, wrongLast)
	}
	if nobody != again || nobody == other || len(nobody) != len(knownFirst) {
		t.Errorf("salts %q, %q, %q, of a user %q", nobody, again, other, knownFirst)
	}
}

// TestScramUserIsIgnored: who logs in is the start-up packet's user, whatever the SCRAM message says.
func TestScramUserIsIgnored(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	for _, c := range []struct {
		user, scramUser, password, flag, code string
	}{
		{"analyst", "", "secret", "n", ""},
		{"analyst", "nobody", "secret", "n", ""},
		{"nobody", "analyst", "secret", "n", "28P01"},
		{"analyst", "*", "secret", "p=tls-server-end-point", "08P01"},
	} {
		_, _, last := exchange(t, addr, c.user, c.scramUser, c.password, c.flag)
		code, _, _ := strings.Cut(last, " ")
		if code != c.code {
			t.Errorf("%+v: %s", c, last)
		}
	}
}

// TestBadAuthMessages: whatever comes in place of a SCRAM message ends the connection with 08P01.
func TestBadAuthMessages(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	for _, raw := range []string{
		"Q\x00\x00\x00\x0dselect 1\x00", "p\x00\x00\x00\x04", "p\x00\x00\x00\x0cMD5\x00\x00\x00\x00\x00", "p\x7f\xff\xff\xff", "p\x00\x00\x00\x03",
		"p\x00\x00\x00\x1aSCRAM-SHA-256\x00\x00\x00\x00\x04junk", "p\x00\x00\x08\x00", "X\x00\x00\x00\x04",
	} {
		conn := rawDial(t, addr)
		if _, err := conn.Write(packet(protocol3, params("user", "analyst"))); err != nil {
			t.Fatal(err)
		}
		firstMessages(t, conn)
		if _, err := conn.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if got := firstMessages(t, conn); !strings.HasPrefix(got, "ErrorResponse FATAL 08P01") || !strings.HasSuffix(got, "(closed)\n") {
			t.Errorf("%q: %s", raw, got)
		}
	}
}

func TestParseVerifier(t *testing.T) {
	good := verifierOf("x", "salt", 4096)
	if _, err := parseVerifier(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "md5abc", strings.Replace(good, "SHA-256", "SHA-1", 1), strings.Replace(good, "4096", "0", 1), good[:len(good)-4], good + ":AA==", "SCRAM-SHA-256$4096:$:"} {
		if _, err := parseVerifier(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestMockIterations: users who do not exist are shown the owner's iteration count. Another count changes it for all of them, and their salts with it.
func TestMockIterations(t *testing.T) {
	count := 4096
	srv, err := New(newScripted(), Options{ServerSecret: []byte("s"), Iterations: func() int { return count }})
	if err != nil {
		t.Fatal(err)
	}
	salts := map[string]bool{}
	for _, count = range []int{4096, 8192} {
		for i := range 100 {
			c := srv.mockCredentials(fmt.Sprint("user ", i))
			if c.Iters != count || c.KeyFactors != srv.mockCredentials(fmt.Sprint("user ", i)).KeyFactors {
				t.Fatalf("%+v", c.KeyFactors)
			}
			salts[c.Salt] = true
		}
	}
	if len(salts) != 200 {
		t.Errorf("%d salts of 200", len(salts))
	}
}
