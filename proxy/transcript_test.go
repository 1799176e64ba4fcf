package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestTranscripts plays testdata/wire/*. Each file runs against the proxy and, unless its name ends in _only, against PostgreSQL
// 15: the same messages go in, and the same must come out. A block with only=dpsql or only=postgres is for one of them and
// says where they differ.
//
//	send             messages, one a line: the name, then the fields as JSON; they leave in one write
//	until            prints what comes up to a message of each named type, in order
//	                 (hints: with details and hints; ignore=Type: without that type)
//	query            one Query a line, and what comes up to its ReadyForQuery (flags as of until)
//	runs             how many statements the engine ran so far
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/wire", func(t *testing.T, path string) {
		for name, streams := range map[string]bool{"dpsql": false, "dpsql/streams": true} {
			t.Run(name, func(t *testing.T) {
				e := newScripted()
				e.streams = streams
				url := proxyURL(startProxy(t, e, Options{}))
				t.Cleanup(func() { // the client is gone then
					waitClosed(t, e)
					if n := e.streamed.Load(); n != 0 {
						t.Errorf("%d answers are open", n)
					}
				})
				play(t, path, "dpsql", url, e)
			})
		}
		if !strings.HasSuffix(path, "_only") {
			t.Run("postgres", func(t *testing.T) { play(t, path, "postgres", server15.URL("postgres")+"&timezone=UTC", nil) })
		}
	})
}

func play(t *testing.T, path, which, url string, e *scripted) {
	conn, err := dial(t, url).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{conn: conn.Conn, fe: conn.Frontend}
	t.Cleanup(func() { _ = conn.Conn.Close() })
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		var only string
		if d.HasArg("held") && e != nil && e.streams { // where memory holds the rows of an answer
			return d.Expected
		}
		if d.HasArg("only") {
			d.ScanArgs(t, "only", &only)
			if only != which {
				return d.Expected
			}
		}
		switch d.Cmd {
		case "send":
			p.send(t, d.Input)
			return ""
		case "until":
			var ignore string
			if d.HasArg("ignore") {
				d.ScanArgs(t, "ignore", &ignore)
			}
			return p.until(t, strings.Fields(d.Input), d.HasArg("hints"), ignore)
		case "query":
			var b strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				text, err := json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
				p.send(t, `Query {"String":`+string(text)+"}")
				if strings.Contains(d.Input, "\n") {
					fmt.Fprintf(&b, "> %s\n", line)
				}
				b.WriteString(p.until(t, []string{"ReadyForQuery"}, d.HasArg("hints"), ""))
			}
			return b.String()
		case "runs":
			if e == nil {
				return d.Expected
			}
			return fmt.Sprintln(e.runs.Load())
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

type player struct {
	conn net.Conn
	fe   *pgproto3.Frontend
}

var frontendMessages = map[string]func() pgproto3.FrontendMessage{
	"Query":     func() pgproto3.FrontendMessage { return &pgproto3.Query{} },
	"Parse":     func() pgproto3.FrontendMessage { return &pgproto3.Parse{} },
	"Bind":      func() pgproto3.FrontendMessage { return &pgproto3.Bind{} },
	"Describe":  func() pgproto3.FrontendMessage { return &pgproto3.Describe{} },
	"Execute":   func() pgproto3.FrontendMessage { return &pgproto3.Execute{} },
	"Close":     func() pgproto3.FrontendMessage { return &pgproto3.Close{} },
	"Sync":      func() pgproto3.FrontendMessage { return &pgproto3.Sync{} },
	"Flush":     func() pgproto3.FrontendMessage { return &pgproto3.Flush{} },
	"CopyDone":  func() pgproto3.FrontendMessage { return &pgproto3.CopyDone{} },
	"CopyFail":  func() pgproto3.FrontendMessage { return &pgproto3.CopyFail{} },
	"CopyData":  func() pgproto3.FrontendMessage { return &pgproto3.CopyData{} },
	"Function":  func() pgproto3.FrontendMessage { return &pgproto3.FunctionCall{} },
	"Terminate": func() pgproto3.FrontendMessage { return &pgproto3.Terminate{} },
}

func (p *player) send(t *testing.T, input string) {
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		name, fields, _ := strings.Cut(line, " ")
		mk, ok := frontendMessages[name]
		if !ok {
			t.Fatalf("unknown message %s", name)
		}
		m := mk()
		if fields != "" {
			if err := json.Unmarshal([]byte(fields), m); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		p.fe.Send(m)
	}
	if err := p.fe.Flush(); err != nil {
		t.Fatal(err)
	}
}

func (p *player) until(t *testing.T, want []string, hints bool, ignore string) string {
	var b strings.Builder
	for len(want) > 0 {
		if err := p.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		m, err := p.fe.Receive()
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				t.Fatalf("nothing comes, after:\n%s", b.String())
			}
			fmt.Fprintln(&b, "(closed)")
			return b.String()
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		if name != ignore {
			b.WriteString(printMessage(m, hints))
		}
		if name == want[0] {
			want = want[1:]
		}
	}
	return b.String()
}

func printMessage(m pgproto3.BackendMessage, hints bool) string {
	var b strings.Builder
	fmt.Fprint(&b, strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3."))
	switch m := m.(type) {
	case *pgproto3.RowDescription:
		for _, f := range m.Fields {
			fmt.Fprintf(&b, " %s:%d/%d/%d", f.Name, f.DataTypeOID, f.TypeModifier, f.DataTypeSize)
			if f.Format == 1 {
				b.WriteString("/binary")
			}
		}
	case *pgproto3.DataRow:
		for _, v := range m.Values {
			if v == nil {
				b.WriteString(" NULL")
				continue
			}
			fmt.Fprintf(&b, " %q", v)
		}
	case *pgproto3.CommandComplete:
		fmt.Fprintf(&b, " %s", m.CommandTag)
	case *pgproto3.CopyOutResponse:
		fmt.Fprintf(&b, " %d %v", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyData:
		fmt.Fprintf(&b, " %q", m.Data)
	case *pgproto3.ReadyForQuery:
		fmt.Fprintf(&b, " %c", m.TxStatus)
	case *pgproto3.ParameterStatus:
		fmt.Fprintf(&b, " %s=%s", m.Name, m.Value)
	case *pgproto3.ParameterDescription:
		fmt.Fprintf(&b, " %v", m.ParameterOIDs)
	case *pgproto3.ErrorResponse:
		printError(&b, m, hints)
	case *pgproto3.NoticeResponse:
		e := pgproto3.ErrorResponse(*m)
		printError(&b, &e, hints)
	}
	b.WriteByte('\n')
	return b.String()
}

func printError(b *strings.Builder, m *pgproto3.ErrorResponse, hints bool) {
	fmt.Fprintf(b, " %s %s %s", m.SeverityUnlocalized, m.Code, m.Message)
	if m.Position > 0 {
		fmt.Fprintf(b, " (at %d)", m.Position)
	}
	if hints && m.Detail != "" {
		fmt.Fprintf(b, "\n  DETAIL %s", m.Detail)
	}
	if hints && m.Hint != "" {
		fmt.Fprintf(b, "\n  HINT %s", m.Hint)
	}
}
