package proxy

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestCharsets: in every character set of one byte a character, texts come in and go out as PostgreSQL has it: statements, parameters of every byte in both
// forms, names of columns, positions of errors, and characters that the set does not have.
func TestCharsets(t *testing.T) {
	ours := rawClient(t, proxyURL(startProxy(t, newScripted(), Options{})))
	theirs := rawClient(t, server15.URL("postgres"))
	names := slices.Sorted(maps.Keys(charsets))
	differ := 0
	for _, name := range names {
		c := charsets[name]
		both := func(what string, send ...pgproto3.FrontendMessage) {
			got, want := ours.ask(t, send...), theirs.ask(t, send...)
			for i := range want {
				if got[i] != want[i] {
					differ++
					t.Errorf("%s: %s, answer %d\n  is   %s\n  want %s", c.name, what, i, got[i], want[i])
				}
			}
		}
		both("set", &pgproto3.Query{String: "set client_encoding = '" + name + "'"})
		both("show", &pgproto3.Query{String: "show client_encoding"})
		if e, ok := c.m.EncodeRune('é'); ok {
			both("statement", &pgproto3.Query{String: "select '" + string([]byte{e}) + "' as t, null as n"})
			both("position", &pgproto3.Query{String: "select '" + string([]byte{e}) + "', nope"})
		}
		both("no such character", &pgproto3.Query{String: `select u&'\65e5' as x`})
		parse := &pgproto3.Parse{Query: "select $1::text as a, $2::numeric as b"}
		for _, format := range []int16{0, 1} {
			var all []pgproto3.FrontendMessage
			for b := 0x80; b < 0x100; b++ {
				all = append(all, parse, &pgproto3.Bind{Parameters: [][]byte{{'a', byte(b)}, []byte("1")}, ParameterFormatCodes: []int16{format, 0}, ResultFormatCodes: []int16{format, 0}},
					&pgproto3.Execute{}, &pgproto3.Sync{})
			}
			both("bytes from 80 on", all...)
		}
		array := &pgproto3.Parse{Query: "select $1::text[] as a"}
		var all []pgproto3.FrontendMessage
		for b := 0x80; b < 0x100; b++ { // {a?, NULL, ""} in binary form
			v := []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 'a', byte(b), 255, 255, 255, 255, 0, 0, 0, 0}
			all = append(all, array, &pgproto3.Bind{Parameters: [][]byte{v}, ParameterFormatCodes: []int16{1}, ResultFormatCodes: []int16{1}}, &pgproto3.Execute{}, &pgproto3.Sync{})
		}
		both("arrays of bytes from 80 on", all...)
		both("reset", &pgproto3.Query{String: "reset client_encoding"})
		if differ > 20 {
			t.Fatal("and so on")
		}
	}
}

type raw struct{ *player }

func rawClient(t *testing.T, url string) raw {
	conn, err := dial(t, url).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Conn.Close() })
	return raw{&player{conn: conn.Conn, fe: conn.Frontend}}
}

// ask gives what comes up to the ReadyForQuery of each Query and Sync.
func (r raw) ask(t *testing.T, send ...pgproto3.FrontendMessage) (answers []string) {
	t.Helper()
	want, out := 0, ""
	for _, m := range send {
		r.fe.Send(m)
		switch m.(type) {
		case *pgproto3.Query, *pgproto3.Sync:
			want++
		}
	}
	if err := r.fe.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		if err := r.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		m, err := r.fe.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			if answers, out = append(answers, out), ""; len(answers) == want {
				return answers
			}
		case *pgproto3.DataRow:
			out += fmt.Sprintf("row %q; ", m.Values)
		case *pgproto3.RowDescription:
			for _, f := range m.Fields {
				out += fmt.Sprintf("column %q; ", f.Name)
			}
		case *pgproto3.ErrorResponse:
			out += fmt.Sprintf("error %s %q at %d; ", m.Code, m.Message, m.Position)
		case *pgproto3.ParameterStatus:
			out += fmt.Sprintf("%s=%s; ", m.Name, m.Value)
		}
	}
}
