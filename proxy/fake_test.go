package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// scripted is an engine that knows a few statements by heart. Where a transcript also runs on PostgreSQL, the answers are checked
// against it. Everything else about the wire is the proxy's own.
type scripted struct {
	verifier string
	runs     atomic.Int64 // how many statements were charged
	streams  bool         // all rows but the first come as they are asked for
	streamed atomic.Int64 // how many answers that do so are open

	mu    sync.Mutex
	open  int
	began chan struct{} // a slow statement tells that it runs
}

func newScripted() *scripted {
	return &scripted{verifier: verifierOf("secret", "0123456789abcdef", 4096), began: make(chan struct{}, 100)}
}

func verifierOf(password, salt string, iters int) string {
	salted, err := pbkdf2.Key(sha256.New, password, []byte(salt), iters, 32)
	if err != nil {
		panic(err)
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iters, b64([]byte(salt)), b64(stored[:]), b64(mac(salted, "Server Key")))
}

func (e *scripted) Database() string { return "demo" }

func (e *scripted) Verifier(user string) (string, bool) {
	if strings.HasPrefix(user, "analyst") {
		return e.verifier, true
	}
	if user == "broken" {
		return "md5abc", true
	}
	return "", false
}

func (e *scripted) Open(_, application string) (Session, error) {
	if application == "panic" {
		panic("secret rows")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open++
	return &scriptedSession{engine: e, values: map[string]string{"dpsql.price": "0.1"}}, nil
}

type scriptedSession struct {
	engine *scripted
	values map[string]string
}

func (s *scriptedSession) Set(name string, values []string) error {
	if _, ok := s.values[name]; !ok {
		return sqlerr.New(sqlerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
	}
	if values[0] == "99" {
		return sqlerr.New(sqlerr.PriceTooLarge, "dpsql.price 99 is too large").WithHint("The most is 1.")
	}
	s.values = maps.Clone(s.values)
	s.values[name] = values[0]
	return nil
}

func (s *scriptedSession) ResetAll()                       { s.values = map[string]string{"dpsql.price": "0.1"} }
func (s *scriptedSession) Use(sqltype.Settings)            {}
func (s *scriptedSession) UseParameters(pgmeta.Parameters) {}
func (s *scriptedSession) UseProgress(func(string))        {}
func (s *scriptedSession) UseIntervals()                   {}
func (s *scriptedSession) Snapshot() any                   { return s.values }

func (s *scriptedSession) Restore(at any) {
	if v, ok := at.(map[string]string); ok {
		s.values = v
	}
}

func (s *scriptedSession) Show(name string) (string, bool, error) {
	v, ok := s.values[name]
	return v, ok, nil
}

func (s *scriptedSession) Settings() (out []session.Setting) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		out = append(out, session.Setting{Name: name, Value: s.values[name], About: "Scripted.", Kind: "string", Start: "0.1"})
	}
	return out
}

func (s *scriptedSession) Close() {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.open--
}

// known is one statement of the script.
type known struct {
	columns []answer.Column
	params  []sqltype.Type
	notice  string
	mark    string
	warned  []string
	madeUp  bool
	prepare error
	size    int  // of what it is bound to
	endless bool // a streamed answer has its row again and again
	run     func(ctx context.Context, e *scripted, args []sqltype.Value) ([][]sqltype.Value, error)
}

func column(name string, t sqltype.Type) answer.Column { return answer.Column{Name: name, Type: t} }

func constant(rows ...[]sqltype.Value) func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) {
	return func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) { return rows, nil }
}

func echo(_ context.Context, _ *scripted, args []sqltype.Value) ([][]sqltype.Value, error) {
	return [][]sqltype.Value{args}, nil
}

func failing(err error) func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) {
	return func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) { return nil, err }
}

func slow(ctx context.Context, e *scripted, _ []sqltype.Value) ([][]sqltype.Value, error) {
	e.began <- struct{}{}
	select {
	case <-ctx.Done():
		return nil, sqlerr.New(sqlerr.ResourceFailure, "the statement could not be completed").WithCause(ctx.Err())
	case <-time.After(2 * time.Minute):
		return nil, nil
	}
}

func many(n int) func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) {
	return func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) {
		rows := make([][]sqltype.Value, n)
		for i := range rows {
			rows[i] = []sqltype.Value{int64(i + 1)}
		}
		return rows, nil
	}
}

func mustValue(t sqltype.Type, text string) sqltype.Value {
	v, err := sqltype.ParseText(text, t)
	if err != nil {
		panic(err)
	}
	return v
}

// wide is a statement with long answers: a long name and no rows.
const wide = "select 1 as wide where false"

var script = map[string]known{
	wide:                          {columns: []answer.Column{column(strings.Repeat("wide", 100), sqltype.Int4)}, run: constant()},
	"select 1":                    {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: constant([]sqltype.Value{int64(1)})},
	"select bound":                {columns: []answer.Column{column("?column?", sqltype.Int4)}, size: 1 << 20, run: constant()},
	"select 1 as x":               {columns: []answer.Column{column("x", sqltype.Int4)}, run: constant([]sqltype.Value{int64(1)})},
	"select 2":                    {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: constant([]sqltype.Value{int64(2)})},
	"select 1 where false":        {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: constant()},
	"select 'é' as t, null as n":  {columns: []answer.Column{column("t", sqltype.Text), column("n", sqltype.Text)}, run: constant([]sqltype.Value{"é", nil})},
	"select 'ã©' as t, null as n": {columns: []answer.Column{column("t", sqltype.Text), column("n", sqltype.Text)}, run: constant([]sqltype.Value{"Ã©", nil})}, // é, misread
	"select u&'\\65e5' as x":      {columns: []answer.Column{column("x", sqltype.Text)}, run: constant([]sqltype.Value{"日"})},
	`select 'a,b"c' as "x y", e'1\t2\\' as b, null as n union all select '', 'é', '\n'`: {
		columns: []answer.Column{column("x y", sqltype.Text), column("b", sqltype.Text), column("n", sqltype.Text)},
		run:     constant([]sqltype.Value{`a,b"c`, "1\t2\\", nil}, []sqltype.Value{"", "é", "\\n"})},
	`select e'a\x08\fb\n\r\x0b|' as x`:  {columns: []answer.Column{column("x", sqltype.Text)}, run: constant([]sqltype.Value{"a\b\fb\n\r\v|"})},
	`select '\.' as x`:                  {columns: []answer.Column{column("x", sqltype.Text)}, run: constant([]sqltype.Value{`\.`})},
	"select 1.50 as x":                  {columns: []answer.Column{column("x", sqltype.Numeric)}, run: constant([]sqltype.Value{mustValue(sqltype.Numeric, "1.50")})},
	"select generate_series(1, 3)":      {columns: []answer.Column{column("generate_series", sqltype.Int4)}, run: many(3)},
	"select generate_series(1, 5)":      {columns: []answer.Column{column("generate_series", sqltype.Int4)}, run: many(5)},
	"select generate_series(1, 100000)": {columns: []answer.Column{column("generate_series", sqltype.Int4)}, run: many(100000)},
	"select $1::int4 as a":              {columns: []answer.Column{column("a", sqltype.Int4)}, params: []sqltype.Type{sqltype.Int4}, run: echo},
	"select $1::text as a, $2::numeric as b": {columns: []answer.Column{column("a", sqltype.Text), column("b", sqltype.Numeric)},
		params: []sqltype.Type{sqltype.Text, sqltype.Numeric}, run: echo},
	"select $1::text[] as a": {columns: []answer.Column{column("a", sqltype.Type{OID: 1009, Typmod: -1})}, params: []sqltype.Type{{OID: 1009, Typmod: -1}}, run: echo},
	"select $1::date, $2::timestamptz, $3::interval, $4::bytea, $5::float8, $6::timetz[]": {columns: []answer.Column{column("date", sqltype.Date),
		column("timestamptz", sqltype.Timestamptz), column("interval", sqltype.IntervalType), column("bytea", sqltype.Bytea), column("float8", sqltype.Float8),
		column("timetz", sqltype.Type{OID: 1270, Typmod: -1})},
		params: []sqltype.Type{sqltype.Date, sqltype.Timestamptz, sqltype.IntervalType, sqltype.Bytea, sqltype.Float8, {OID: 1270, Typmod: -1}}, run: echo},
	"select 1/(random()*0)::int":  {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: failing(sqlerr.New(sqlerr.DivisionByZero, "division by zero"))},
	"select 'é', nope":            {prepare: sqlerr.New(sqlerr.UndefinedColumn, "column \"nope\" does not exist")},
	"select * from nobody":        {columns: []answer.Column{column("name", sqltype.Text)}, mark: "none was read", madeUp: true, run: constant()},
	"select * from people":        {columns: []answer.Column{column("name", sqltype.Text)}, mark: "nobody is in these", madeUp: true, run: constant([]sqltype.Value{"mock 1"})},
	"select dates":                {columns: []answer.Column{column("n", sqltype.Int8)}, notice: "spent: price 0.1", warned: []string{"other dates are NULL"}, run: constant([]sqltype.Value{int64(21)})},
	"select weights":              {columns: []answer.Column{column("n", sqltype.Int8)}, notice: "spent: price 0.1", mark: "weighted", run: constant([]sqltype.Value{int64(21)})},
	"select count(*) from people": {columns: []answer.Column{column("count", sqltype.Int8)}, notice: "spent: price 0.1", run: constant([]sqltype.Value{int64(42)})},
	"select 'cause'": {columns: []answer.Column{column("?column?", sqltype.Text)},
		run: failing(fmt.Errorf("backend said: row (%q) of 'Bob' is 4711", "Alice"))},
	"select 'mistake'":    {columns: []answer.Column{column("?column?", sqltype.Text)}, run: failing(sqlerr.New(sqlerr.Internal, "nothing is measured of 'Carol'"))},
	"select 'panic'":      {columns: []answer.Column{column("?column?", sqltype.Text)}, run: func(context.Context, *scripted, []sqltype.Value) ([][]sqltype.Value, error) { panic("secret rows") }},
	"select pg_sleep(20)": {columns: []answer.Column{column("pg_sleep", sqltype.Text)}, run: slow},
	"select 'endless'":    {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: many(1), endless: true},
	"select 'wrong'":      {columns: []answer.Column{column("?column?", sqltype.Int4)}, run: constant([]sqltype.Value{"not a number"})},
}

// constants answers a list of literals and casts of literals.
func constants(n pgsyntax.Node) (k known, ok bool) {
	sel, ok := n.(*pgsyntax.Select)
	if !ok || len(sel.From) > 0 {
		return k, false
	}
	var row []sqltype.Value
	targets := sel.Targets
	if len(sel.Values) == 1 {
		for _, x := range sel.Values[0] {
			targets = append(targets, pgsyntax.Target{Expr: x})
		}
	}
	for _, t := range targets {
		x, as := t.Expr, sqltype.Int4
		if c, ok := x.(*pgsyntax.Cast); ok {
			x = c.X
			if as, ok = map[string]sqltype.Type{"int4": sqltype.Int4, "int": sqltype.Int4, "integer": sqltype.Int4, "text": sqltype.Text, "numeric": sqltype.Numeric}[c.Type.Name]; !ok {
				return k, false
			}
		}
		lit, ok := x.(*pgsyntax.Literal)
		switch {
		case !ok:
			return k, false
		case lit.Kind == pgsyntax.StringLit && as != sqltype.Text:
			return k, false
		case lit.Kind == pgsyntax.NullLit:
			row = append(row, nil)
		case lit.Text == "1.6" && x != t.Expr && as == sqltype.Int4:
			row = append(row, int64(2))
		default:
			if lit.Kind == pgsyntax.NumericLit {
				as = sqltype.Numeric
			}
			row = append(row, mustValue(as, lit.Text))
		}
		name := t.Alias
		if name == "" {
			name = "?column?"
		}
		k.columns = append(k.columns, column(name, as))
	}
	k.run = constant(row)
	return k, true
}

type scriptedPrepared struct {
	known
	engine *scripted
}

func (s *scriptedSession) Prepare(_ context.Context, st pgsyntax.Statement, oids []sqltype.OID) (Prepared, error) {
	if at := strings.Index(st.Text, "NULL::nope"); at >= 0 {
		sel, _ := st.Node.(*pgsyntax.Select)
		return nil, sqlerr.New(sqlerr.UndefinedObject, "type \"nope\" does not exist").At(int(sel.Targets[0].Expr.Position()))
	}
	k, ok := script[strings.ToLower(st.Text)]
	if !ok {
		k, ok = constants(st.Node)
	}
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, "not in the script: %s", st.Text)
	}
	if e, ok := k.prepare.(*sqlerr.Error); ok {
		at := *e
		return nil, at.At(st.Offset + strings.Index(st.Text, "nope"))
	}
	for i, oid := range oids {
		if oid != 0 && i < len(k.params) && k.params[i].OID != oid {
			k.params = append([]sqltype.Type(nil), k.params...)
			k.params[i] = sqltype.Type{OID: oid, Typmod: -1}
		}
	}
	return &scriptedPrepared{k, s.engine}, nil
}

func (p *scriptedPrepared) Params() []sqltype.Type   { return p.params }
func (p *scriptedPrepared) Columns() []answer.Column { return p.columns }
func (p *scriptedPrepared) Size() int                { return p.size }

func (p *scriptedPrepared) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	p.engine.runs.Add(1)
	rows, err := p.run(ctx, p.engine, args)
	if err != nil {
		return nil, err
	}
	a := &answer.Answer{Rows: rows, Tag: "SELECT", Notice: p.notice, Mark: p.mark, MadeUp: p.madeUp, Warnings: p.warned}
	if p.engine.streams && len(rows) > 0 {
		a.Rows = rows[:1]
		p.engine.streamed.Add(1)
		closed := sync.OnceFunc(func() { p.engine.streamed.Add(-1) })
		a.More = answer.NewStream(&answer.Relay{Context: ctx}, func(yield func([]sqltype.Value, error) bool) {
			for p.endless && yield(rows[0], nil) {
			}
			for i, row := range rows[1:] {
				if i == breaksAfter {
					yield(nil, sqlerr.New(sqlerr.DivisionByZero, "division by zero"))
					return
				}
				if !yield(row, nil) {
					return
				}
			}
		}, closed)
	}
	return a, nil
}

// breaksAfter is where an answer that comes as it is asked for fails.
const breaksAfter = 90_000
