package console

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// asked is a text of statements, and where in it the cursor stands, in UTF-16 units.
type asked struct {
	SQL    string `json:"sql"`
	Cursor int    `json:"cursor"`
}

// at is the statement at the cursor: the last one that begins at or before it, else the first.
func (a asked) at() (pgsyntax.Statement, error) {
	list, err := pgsyntax.Parse(a.SQL)
	if err != nil {
		return pgsyntax.Statement{}, err
	}
	cursor, found := bytesOf(a.SQL, a.Cursor), list[0]
	for _, st := range list {
		if st.Offset <= cursor {
			found = st
		}
	}
	return found, nil
}

// problemOf places an error of one of the statements in the whole text.
func (a asked) problemOf(err error, st pgsyntax.Statement, before string) problem {
	if st.Text == "" { // the text was not parsed
		return shown(err, a.SQL)
	}
	p := shown(err, before+st.Text)
	if p.Position != nil {
		p.Position = new(max(0, *p.Position-len(before)) + unitsOf(a.SQL[:st.Offset], st.Offset))
	}
	return p
}

// table is an answer of few rows.
type table struct {
	Columns []string    `json:"columns"`
	Rows    [][]*string `json:"rows"`
	behind  [][]byte    // what the proxy put behind the columns of each row
}

// query runs one statement of the page's own and holds its answer. The caller has acquired the session.
func (s *session) query(ctx context.Context, sql string, params ...[]byte) (*table, error) {
	res := s.conn.ExecParams(ctx, sql, params, nil, nil, nil).Read() // (3) the session's own connection; (5) one statement: the extended protocol takes no second
	s.noteEnd()
	if res.Err != nil {
		return nil, res.Err
	}
	t := &table{Rows: [][]*string{}}
	n := max(0, len(res.FieldDescriptions)-1) // the last column has the intervals
	for _, f := range res.FieldDescriptions[:n] {
		t.Columns = append(t.Columns, f.Name)
	}
	for _, row := range res.Rows {
		t.Rows, t.behind = append(t.Rows, texts(row[:n])), append(t.behind, row[n])
	}
	return t, nil
}

func texts(row [][]byte) []*string {
	out := make([]*string, len(row))
	for i, v := range row {
		if v != nil {
			text := string(v)
			out[i] = &text
		}
	}
	return out
}

// budget is what is left, in one line.
func (c *Server) budget(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.acquire(s, r); err != nil {
		return nil, err
	}
	defer s.release()
	left, err := s.left(r.Context())
	return map[string]string{"left": left}, err
}

func (s *session) left(ctx context.Context) (string, error) {
	t, err := s.query(ctx, "SHOW dpsql.budget")
	if err != nil || len(t.Rows) != 1 || t.Rows[0][0] == nil {
		return "", err
	}
	return *t.Rows[0][0], nil
}

// explanation is what a statement would cost, before it is asked.
type explanation struct {
	Lines []part   `json:"lines"`          // of EXPLAIN
	Note  string   `json:"note,omitempty"` // why there are none
	Error *problem `json:"error,omitempty"`
}

// part is a line of EXPLAIN. One with a key is what an analyst needs first.
type part struct {
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
}

// partOf is a row of EXPLAIN, behind which the proxy says what it is. isShown is false for a row that only says that EXPLAIN (VERBOSE) has more.
func partOf(row []*string, behind []byte) (p part, isShown bool) {
	var is struct { // answer.Part
		part
		More bool `json:"more"`
	}
	if err := json.Unmarshal(behind, &is); err == nil && is.Key != "" {
		return is.part, true
	}
	var words []string
	for _, v := range row {
		if v != nil {
			words = append(words, strings.TrimSpace(*v))
		}
	}
	return part{Text: strings.Join(words, ": ")}, !is.More
}

// explain prices the statement at the cursor. One explanation is under way at a time: the next cancels it.
func (c *Server) explain(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in asked
	if !c.read(w, r, &in) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.mu.Lock()
	if s.explaining != nil {
		s.explaining()
	}
	s.explaining = cancel
	runs := s.running != nil
	s.mu.Unlock()
	if runs { // (4) it follows from the session's own requests
		return explanation{Note: "The price is shown when the running statement has ended."}, nil
	}
	switch err := c.acquire(s, r.WithContext(ctx)); {
	case ctx.Err() != nil && err != nil:
		return explanation{}, nil
	case err != nil:
		return nil, err
	}
	defer s.release()
	if ctx.Err() != nil {
		return explanation{}, nil
	}
	st, err := in.at() // the latest text of a session, one at a time
	if err != nil {
		p := in.problemOf(err, st, "")
		return explanation{Error: &p}, nil
	}
	switch st.Node.(type) { // (5) of these kinds alone: EXPLAIN prices them and runs none
	case *pgsyntax.Select, *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Watch, *pgsyntax.Synthesize, *pgsyntax.Cube:
	case *pgsyntax.Empty:
		return explanation{}, nil
	default:
		return explanation{Note: "A price is shown for SELECT, TRAIN, EVALUATE, CREATE DP WATCH, CREATE DP SYNTHETIC TABLE and CREATE DP CUBE."}, nil
	}
	if s.conn.TxStatus() != 'I' { // (4) it follows from the session; an error would abort the analyst's transaction
		return explanation{Note: "The price is shown when the transaction has ended."}, nil
	}
	const before = "EXPLAIN "
	t, err := s.query(ctx, before+st.Text)
	switch {
	case ctx.Err() != nil || s.gone.Load():
		return explanation{}, nil
	case err != nil:
		p := in.problemOf(err, st, before)
		return explanation{Error: &p}, nil
	}
	var out explanation
	for i, row := range t.Rows {
		if p, isShown := partOf(row, t.behind[i]); isShown {
			out.Lines = append(out.Lines, p)
		}
	}
	c.answerInTurn(s, w, r, out)
	return nil, nil
}

// cancel ends the running statement. What it was charged stays charged.
func (c *Server) cancel(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		s.running()
	}
	return struct{}{}, nil
}

// ownStatements are the analyst's latest charges, and until when each is answered free.
//
// None of its values is written otherwise by what the analyst SETs: times are seconds since 1970, and no number is a float.
const ownStatements = `SELECT l.charge, extract(epoch FROM l.made_at) AS made, l.state, l.price::numeric AS price, l.query, extract(epoch FROM r.expires_at) AS until
FROM dpsql.ledger l LEFT JOIN (SELECT charge, min(expires_at) AS expires_at FROM dpsql.releases GROUP BY charge) r ON r.charge = l.charge
ORDER BY l.charge DESC LIMIT 200`

// statementsBytes is how much of them the page gets, about.
const statementsBytes = 1 << 20

// statements are the analyst's own charges, the latest. The proxy shows nobody else's.
func (c *Server) statements(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.acquire(s, r); err != nil {
		return nil, err
	}
	defer s.release()
	t, err := s.query(r.Context(), ownStatements)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, row := range t.Rows {
		for _, v := range row {
			if v != nil {
				size += len(*v)
			}
		}
		if size > statementsBytes {
			t.Rows = t.Rows[:i]
			break
		}
	}
	c.answerInTurn(s, w, r, t)
	return nil, nil
}

// The catalog, as any client of PostgreSQL reads it.
const (
	ownColumns = `SELECT n.nspname, c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum), d.n, quote_ident(n.nspname), quote_ident(c.relname), quote_ident(a.attname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN (SELECT table_schema, table_name, column_name, count(*) AS n FROM dpsql.domains GROUP BY 1, 2, 3) d ON d.table_schema = n.nspname AND d.table_name = c.relname AND d.column_name = a.attname
WHERE c.relkind IN ('r', 'v') AND a.attnum > 0 AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY n.nspname = 'dpsql', n.nspname, c.relname, a.attnum`
	ownSettings = `SELECT name, setting, short_desc FROM pg_settings WHERE name LIKE 'dpsql.%' ORDER BY name`
)

// pageOfValues is how many values of a domain the page gets at once, and ownValues are these and one more, of those with a text in them.
const (
	pageOfValues = 100
	ownValues    = `SELECT position, value FROM dpsql.domains
WHERE table_schema = $1::text AND table_name = $2::text AND column_name = $3::text AND position > $4::bigint AND strpos(lower(coalesce(value, 'NULL')), lower($5::text)) > 0
ORDER BY position LIMIT 101`
)

// valuesPage is a part of a domain.
type valuesPage struct {
	Values []*string `json:"values"`
	Next   string    `json:"next,omitempty"` // after of the next page; "": there is none
}

// values lists a column's domain, a page at a time.
func (c *Server) values(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct{ Schema, Table, Column, After, Text string }
	if !c.read(w, r, &in) {
		return nil, nil
	}
	if err := c.acquire(s, r); err != nil {
		return nil, err
	}
	defer s.release()
	if in.After == "" {
		in.After = "0"
	}
	t, err := s.query(r.Context(), ownValues, []byte(in.Schema), []byte(in.Table), []byte(in.Column), []byte(in.After), []byte(in.Text))
	if err != nil {
		return nil, err
	}
	p := valuesPage{Values: []*string{}}
	if len(t.Rows) > pageOfValues {
		t.Rows = t.Rows[:pageOfValues]
		p.Next = *t.Rows[pageOfValues-1][0]
	}
	for _, row := range t.Rows {
		p.Values = append(p.Values, row[1])
	}
	c.answerInTurn(s, w, r, p)
	return nil, nil
}

// schema is what the analyst may ask about, what may be set, and the functions that there are.
func (c *Server) schema(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.acquire(s, r); err != nil {
		return nil, err
	}
	defer s.release()
	columns, err := s.query(r.Context(), ownColumns)
	if err != nil {
		return nil, err
	}
	settings, err := s.query(r.Context(), ownSettings)
	if err != nil {
		return nil, err
	}
	c.answerInTurn(s, w, r, map[string]any{"columns": columns, "settings": settings, "functions": functionNames()})
	return nil, nil
}

// functionNames are the functions and aggregates that may be written by a name.
var functionNames = sync.OnceValue(func() []string {
	names := map[string]bool{"median": true}
	for _, f := range funcs.All() {
		names[f.Name] = true
	}
	for fn := range plan.Aggregates {
		names[string(fn)] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return name == "cast" || strings.ContainsFunc(name, func(c rune) bool { return c != '_' && !unicode.IsLower(c) && !unicode.IsDigit(c) })
	})
})
