package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The abuser is a process of its own (this test binary again), so that its processor time is its own: abuse(addr) plays with four
// hands, until it is killed, everything that a client should not do.

const abuserVariable = "DPSQL_TEST_ABUSE"

// abuse never returns.
func abuse(addr string) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				tricks[rand.IntN(len(tricks))].play(addr)
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// tricks are the list of the issue: what comes back is of no interest here.
var tricks = []struct {
	name string
	play func(addr string)
}{
	{"bytes that are no protocol", func(addr string) { say(addr, strings.Repeat("\x00\xff\x7f", 5000)) }},
	{"a start-up packet of wrong length", func(addr string) { say(addr, "\x7f\xff\xff\xff\x00\x03\x00\x00") }},
	{"half a connection", func(addr string) { say(addr, "\x00\x00\x00\x20\x00\x03\x00\x00user") }},
	{"nothing, for a while", func(addr string) {
		if c, err := net.Dial("tcp", addr); err == nil {
			time.Sleep(300 * time.Millisecond)
			_ = c.Close()
		}
	}},
	{"TLS where none is, and garbage for it", func(addr string) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.SetDeadline(time.Now().Add(2 * time.Second))
			_, _ = c.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47})
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake() //nolint:gosec // an abuser
			_ = c.Close()
		}
	}},
	{"a wrong password", func(addr string) { _, _ = login(addr, "nobody", "wrong") }}, // another name: log-ins of this one are slowed down
	{"a storm of connections", func(addr string) {
		var open []net.Conn
		for range 40 {
			if c, err := net.Dial("tcp", addr); err == nil {
				open = append(open, c)
			}
		}
		for _, c := range open {
			_ = c.Close()
		}
	}},
	loggedIn("an unknown message", func(c net.Conn) { send(c, '\x01', "x") }),
	loggedIn("a length of 3", func(c net.Conn) { _, _ = c.Write([]byte{'Q', 0, 0, 0, 3}) }),
	loggedIn("a negative length", func(c net.Conn) { _, _ = c.Write([]byte{'Q', 0xff, 0xff, 0xff, 0xff}) }),
	loggedIn("100 MB", func(c net.Conn) {
		_, _ = c.Write(binary.BigEndian.AppendUint32([]byte{'Q'}, 100<<20))
		chunk := make([]byte, 1<<20)
		for range 100 {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}),
	loggedIn("10,000 parentheses", func(c net.Conn) {
		send(c, 'Q', "select "+strings.Repeat("(", 10_000)+"1"+strings.Repeat(")", 10_000)+"\x00")
	}),
	loggedIn("4 MB of statement", func(c net.Conn) { send(c, 'Q', "select "+strings.Repeat("1+", 2<<20)+"1\x00") }),
	loggedIn("many statements in one", func(c net.Conn) { send(c, 'Q', strings.Repeat("select 1;", 50_000)+"\x00") }),
	loggedIn("as many as are taken", func(c net.Conn) { send(c, 'Q', strings.Repeat("select 1;", 1000)+"\x00") }),
	loggedIn("as many words as are taken", func(c net.Conn) {
		send(c, 'Q', "select 1 where 1 in (1"+strings.Repeat(",1", 24_990)+")\x00")
	}),
	loggedIn("the worst of trees", func(c net.Conn) {
		send(c, 'Q', "select 1"+strings.Repeat(",(table a"+strings.Repeat(" union table b", 1000)+")", 16)+"\x00")
	}),
	loggedIn("10,000 named statements", func(c net.Conn) {
		for i := range 10_000 {
			if !send(c, 'P', fmt.Sprintf("s%d\x00select count(*) from stays\x00\x00\x00", i)) {
				return
			}
		}
		send(c, 'S', "")
	}),
	loggedIn("Parse without Sync", func(c net.Conn) {
		for range 3000 {
			if !send(c, 'P', "\x00select "+strings.Repeat("x", 1000)+"\x00\x00\x00") {
				return
			}
		}
	}),
	loggedIn("portals that nobody reads", func(c net.Conn) {
		for i := range 200 {
			name := fmt.Sprintf("p%d\x00", i)
			if !send(c, 'P', "\x00select * from generate\x00\x00\x00") || !send(c, 'B', name+"\x00\x00\x00\x00\x00\x00\x00") || !send(c, 'E', name+"\x00\x00\x00\x01") {
				return
			}
		}
	}),
	loggedIn("text that is not UTF-8", func(c net.Conn) { send(c, 'Q', "select '\xff\xfe'\x00") }),
	loggedIn("a NUL", func(c net.Conn) { send(c, 'Q', "select '\x00'\x00") }),
	loggedIn("a reader that does not read", func(c net.Conn) {
		for range 300 {
			if !send(c, 'Q', "explain select count(*) from stays\x00") {
				return
			}
		}
		time.Sleep(200 * time.Millisecond)
	}),
	loggedIn("the budget asked away", func(c net.Conn) {
		send(c, 'Q', fmt.Sprintf("select count(*) from stays where stay_id <> %d\x00", rand.Int64()))
	}),
}

// say writes and hangs up.
func say(addr, text string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write([]byte(text))
	taste(c)
}

// loggedIn logs in as the abuser, and leaves without a word.
func loggedIn(name string, do func(net.Conn)) struct {
	name string
	play func(addr string)
} {
	return struct {
		name string
		play func(addr string)
	}{name, func(addr string) {
		c, err := login(addr, "abuser", "demo")
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		do(c)
		taste(c)
	}}
}

// taste reads up to 64 KiB of answers, while they come: a hand that waits for more does no harm.
func taste(c net.Conn) {
	buf := make([]byte, 1<<16)
	for read := 0; read < len(buf); {
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		read += n
	}
}

// login gives the raw connection of a session.
func login(addr, user, password string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c, err := pgconn.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/demo?sslmode=disable", user, password, addr))
	if err != nil {
		return nil, err
	}
	h, err := c.Hijack()
	if err != nil {
		return nil, err
	}
	return h.Conn, nil
}

func send(c net.Conn, kind byte, body string) bool {
	_, err := c.Write(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body))), body...))
	return err == nil
}

// asAbuser says whether this process is the abuser.
func asAbuser() bool {
	addr := os.Getenv(abuserVariable)
	if addr != "" {
		abuse(addr)
	}
	return addr != ""
}
