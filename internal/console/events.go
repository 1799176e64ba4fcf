package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/proxy"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// mostRows are the rows of one answer that the page gets, and mostRowBytes the bytes of one: an event holds one at least.
const (
	mostRows     = 10000
	mostRowBytes = 1 << 20
)

// rowsAtOnce and bytesAtOnce are the most rows of one event, and about the most bytes of their values: what a client does not take is in memory several times.
const (
	rowsAtOnce  = 200
	bytesAtOnce = 1 << 16
)

// stream sends server-sent events. A client that does not take one in time gets no more, and what it asked is cancelled.
type stream struct {
	w      http.ResponseWriter
	to     *http.ResponseController
	most   time.Duration
	cancel context.CancelFunc
	failed bool
}

func (e *stream) send(event string, v any) {
	if e.failed {
		return
	}
	err := e.to.SetWriteDeadline(time.Now().Add(e.most))
	if err == nil {
		_, err = fmt.Fprintf(e.w, "event: %s\ndata: ", event)
	}
	if err == nil {
		err = encoder(e.w).Encode(v) // on one line, which it ends
	}
	if err == nil {
		_, err = io.WriteString(e.w, "\n")
	}
	if err == nil {
		err = e.to.Flush()
	}
	if err != nil {
		e.failed = true
		e.cancel()
	}
}

// column is what the page knows of a column.
type column struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // number, duration, time, bool or text
	Constant bool   `json:"constant,omitempty"`
}

// constants says which columns of a statement are constants, by its select list; nil where that does not name each column.
func constants(st pgsyntax.Statement) []bool {
	s, ok := st.Node.(*pgsyntax.Select)
	if !ok || s.Op != "" {
		return nil
	}
	out := make([]bool, len(s.Targets))
	for i, t := range s.Targets {
		if _, isStar := t.Expr.(*pgsyntax.Star); isStar {
			return nil
		}
		e := t.Expr
		for cast, is := e.(*pgsyntax.Cast); is; cast, is = e.(*pgsyntax.Cast) {
			e = cast.X
		}
		_, out[i] = e.(*pgsyntax.Literal)
	}
	return out
}

// kinds are the types that the page shows in another way than text.
var kinds = map[sqltype.OID]string{
	sqltype.OIDInt2: "number", sqltype.OIDInt4: "number", sqltype.OIDInt8: "number", sqltype.OIDFloat4: "number", sqltype.OIDFloat8: "number", sqltype.OIDNumeric: "number",
	sqltype.OIDDate: "time", sqltype.OIDTimestamp: "time", sqltype.OIDTimestamptz: "time", sqltype.OIDBool: "bool", sqltype.OIDInterval: "duration",
}

func columnsOf(fields []pgconn.FieldDescription, constant []bool) []column {
	out := []column{}
	for i, f := range fields {
		kind := kinds[sqltype.OID(f.DataTypeOID)]
		if kind == "" {
			kind = "text"
		}
		c := column{Name: f.Name, Kind: kind}
		if len(constant) == len(fields) {
			c.Constant = constant[i]
		}
		out = append(out, c)
	}
	return out
}

// rowsEvent is some rows of an answer, and the intervals of each.
type rowsEvent struct {
	Rows      [][]*string       `json:"rows"`
	Intervals []json.RawMessage `json:"intervals"`
}

// done ends an answer.
type done struct {
	Tag    string `json:"tag"`
	Left   string `json:"left"`
	Schema bool   `json:"schema"` // what the schema endpoint gives may be another now
}

// mayChangeSchema says whether a statement can make, change or drop what the schema endpoint lists: tables, and values of settings.
func mayChangeSchema(n pgsyntax.Node) bool {
	switch n.(type) {
	case *pgsyntax.Select, *pgsyntax.Explain, *pgsyntax.Evaluate, *pgsyntax.Show, *pgsyntax.Empty:
		return false
	}
	return true
}

// run asks the statement at the cursor, and sends as events: progress, notice (warnings, the charge), columns, rows, and at the end done or error.
func (c *Server) run(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in asked
	if !c.read(w, r, &in) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return nil, errBusy // (4) it follows from the session's own requests
	}
	s.running = cancel
	if s.explaining != nil {
		s.explaining()
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
	}()
	if err := c.acquire(s, r.WithContext(ctx)); err != nil {
		return nil, err
	}
	defer s.release()
	st, err := in.at() // one text of a session at a time
	if o, ok := st.Node.(*pgsyntax.Other); ok && o.Verb == "COPY" {
		err = sqlerr.New(sqlerr.Unsupported, "the console does not run COPY").WithHint("Run its query, then save the answer as CSV.")
	}
	if err != nil {
		c.fail(w, http.StatusUnprocessableEntity, in.problemOf(err, st, ""))
		return nil, nil
	}
	to := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	events := &stream{w: w, to: to, most: c.o.Write, cancel: cancel}
	s.tell = func(n *pgconn.Notice) {
		// (6) what the proxy says, as it says it
		if n.Routine == proxy.ProgressRoutine {
			events.send("progress", n.Message)
			return
		}
		events.send("notice", map[string]string{"severity": n.Severity, "text": n.Message})
	}
	defer func() { s.tell = nil }()
	tag, err := s.stream(ctx, st, events)
	switch {
	case s.gone.Load():
		events.send("error", c.endOf(r.Context(), s.account))
	case err != nil:
		events.send("error", in.problemOf(err, st, ""))
	default:
		left := ""
		if s.conn.TxStatus() != 'E' {
			if left, err = s.left(r.Context()); err != nil {
				left = ""
			}
		}
		events.send("done", done{tag, left, mayChangeSchema(st.Node)})
	}
	return nil, nil
}

// lengthOf is how many bytes a row's values have.
func lengthOf(row [][]byte) (n int) {
	for _, v := range row {
		n += len(v)
	}
	return n
}

// cutAt says why a row, before which so many were sent, is not sent, nor are those behind it; "" where it is.
func cutAt(sent int, row [][]byte) string {
	switch {
	case lengthOf(row) > mostRowBytes:
		return fmt.Sprintf("row %d has more than %d bytes, so it and those behind it are not shown; left() takes a part of a text, and psql gets all", sent+1, mostRowBytes)
	case sent == mostRows:
		return fmt.Sprintf("the first %d rows are shown; ORDER BY and LIMIT choose others, and psql gets all", sent)
	}
	return ""
}

// stream runs one statement and sends its answer.
func (s *session) stream(ctx context.Context, st pgsyntax.Statement, events *stream) (tag string, err error) {
	results := s.conn.Exec(ctx, st.Text) // (3) the session's own connection
	for results.NextResult() {
		rows := results.ResultReader()
		n := len(rows.FieldDescriptions()) - 1 // the last column has the intervals
		if n >= 0 {
			events.send("columns", columnsOf(rows.FieldDescriptions()[:n], constants(st)))
		}
		p, size := rowsEvent{}, 0
		for sent := 0; rows.NextRow(); sent++ { // (3) the answer's rows are the proxy's to tell
			if text := cutAt(sent, rows.Values()); text != "" {
				events.send("notice", map[string]string{"severity": "NOTICE", "text": text})
				break // Close reads those behind it
			}
			intervals := json.RawMessage("null")
			if v := rows.Values()[n]; bytes.HasPrefix(v, []byte("[")) { // behind a line of EXPLAIN is an answer.Part
				intervals = append(json.RawMessage{}, v...)
			}
			p.Rows, p.Intervals = append(p.Rows, texts(rows.Values()[:n])), append(p.Intervals, intervals)
			size += lengthOf(rows.Values())
			if len(p.Rows) == rowsAtOnce || size >= bytesAtOnce {
				events.send("rows", p)
				p, size = rowsEvent{}, 0
			}
		}
		if len(p.Rows) > 0 {
			events.send("rows", p)
		}
		done, err := rows.Close()
		if err == nil {
			tag = done.String()
		}
	}
	err = results.Close()
	s.noteEnd()
	return tag, err
}
