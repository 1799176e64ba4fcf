package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Limit is one row of the list of limits: what the policy's `limits` may set, and what docs/configuration.md says of it.
type Limit struct {
	Name    string
	Default string
	Least   string
	Most    string
	What    string // one sentence
	Exceed  string // what a client sees
	set     func(*Limits, int64)
	get     func(*Limits) int64
	unit    unitOf
	charged bool // a statement that meets it fails after its charge
	reloads bool // a reload takes it over: the engine reads it anew for each statement
}

type unitOf string

const (
	plainCount unitOf = "count"
	byteSize   unitOf = "bytes"
	timeSpan   unitOf = "time"
)

func size(name, def, least, most, what, exceed string, to func(*Limits) *int64) Limit {
	return Limit{Name: name, Default: def, Least: least, Most: most, What: what, Exceed: exceed, unit: byteSize,
		set: func(l *Limits, n int64) { *to(l) = n }, get: func(l *Limits) int64 { return *to(l) }}
}

func number(name, def, least, most, what, exceed string, to func(*Limits) *int64) Limit {
	return Limit{Name: name, Default: def, Least: least, Most: most, What: what, Exceed: exceed, unit: plainCount,
		set: func(l *Limits, n int64) { *to(l) = n }, get: func(l *Limits) int64 { return *to(l) }}
}

func span(name, def, least, most, what, exceed string, to func(*Limits) *time.Duration) Limit {
	return Limit{Name: name, Default: def, Least: least, Most: most, What: what, Exceed: exceed, unit: timeSpan,
		set: func(l *Limits, n int64) { *to(l) = time.Duration(n) }, get: func(l *Limits) int64 { return int64(*to(l)) }}
}

// afterCharge marks a limit that a statement may meet after its charge.
func afterCharge(l Limit) Limit {
	l.charged = true
	return l
}

// reloaded marks a limit that a reload takes over.
func reloaded(l Limit) Limit {
	l.reloads = true
	return l
}

// Waiting names the limits of a reloaded policy that are others than those the server started with, and wait for a restart.
func (l Limits) Waiting(now Limits) (names []string) {
	for _, row := range LimitTable {
		if !row.reloads && row.get(&l) != row.get(&now) {
			names = append(names, "limits."+row.Name)
		}
	}
	return names
}

// LimitTable lists the limits: one line each.
var LimitTable = []Limit{
	size("message", "8MiB", "64KiB", "256MiB", "Length of one message of the wire protocol.", "54000, and the session ends: what follows cannot be read", func(l *Limits) *int64 { return &l.Message }),
	number("sessions", "100", "1", "10000", "Sessions at once.", "53300", func(l *Limits) *int64 { return &l.Sessions }),
	number("sessions_per_analyst", "20", "1", "10000", "Sessions of one analyst at once, so that nobody locks the others out.", "53300", func(l *Limits) *int64 { return &l.SessionsPerAnalyst }),
	number("prepared_statements", "1000", "1", "100000", "Named statements of one session.", "53400", func(l *Limits) *int64 { return &l.PreparedStatements }),
	number("portals", "1000", "1", "100000", "Open portals of one session.", "53400", func(l *Limits) *int64 { return &l.Portals }),
	size("statement_memory", "32MiB", "1MiB", "16GiB", "Memory of one session's prepared statements and portals, about.", "53400", func(l *Limits) *int64 { return &l.StatementMemory }),
	size("answer_memory", "64MiB", "1MiB", "16GiB", "Memory of answers that one session's portals hold unread, about.", "53400", func(l *Limits) *int64 { return &l.AnswerMemory }),
	size("all_answer_memory", "256MiB", "1MiB", "1023GiB", "Memory of answers that all sessions hold unread, about, or send to clients that do not read. [More](#memory-limits).", "the session that holds most, of the analyst who holds most, ends; 53400 where it is the one that asks",
		func(l *Limits) *int64 { return &l.AllAnswerMemory }),
	number("waiting_logins", "50", "1", "10000", "Connections of one address that have not logged in.", "the oldest is closed, of those that have begun to prove their password only where they are more than half", func(l *Limits) *int64 { return &l.WaitingLogins }),
	span("login_time", "60s", "1s", "1h", "From the connection to the end of authentication, TLS included.", "the connection ends", func(l *Limits) *time.Duration { return &l.LoginTime }),
	span("idle_time", "0s", "0s", "720h", "Of a session without a statement. 0s is none.", "57P05", func(l *Limits) *time.Duration { return &l.IdleTime }),
	span("write_time", "60s", "1s", "1h", "For a client that does not read its answer.", "the connection ends", func(l *Limits) *time.Duration { return &l.WriteTime }),
	reloaded(afterCharge(span("statement_time", "60s", "1ms", "24h", "Of one statement: of its planning, and then of its run.", "PV012; what was charged stays spent", func(l *Limits) *time.Duration { return &l.StatementTime }))),
	span("stop_time", "5s", "1ms", "1h", "For running statements when the server is told to stop.", "57P01", func(l *Limits) *time.Duration { return &l.StopTime }),
	reloaded(afterCharge(number("release_groups", "1000000", "1", "100000000", "Groups of one release.", "PV006 before the charge where the groups are public, else PV012 after it", func(l *Limits) *int64 { return &l.ReleaseGroups }))),
	reloaded(afterCharge(size("release_bytes", "1GiB", "64KiB", "1023GiB", "Size of one stored release, and of each file of what is sorted on disk. Above 64MiB a release is in a spool.", "PV006 before the charge where the groups are public, else PV012 after it", func(l *Limits) *int64 { return &l.ReleaseBytes }))),
	reloaded(size("stored_bytes", "4GiB", "64KiB", "1023GiB", "Size of one analyst's stored releases, until they expire, and models. [More](#memory-limits).", "53100 before the charge", func(l *Limits) *int64 { return &l.StoredBytes })),
	reloaded(number("spool_groups", "50000", "1", "100000000", "Groups of a release that memory holds. A larger one is in a spool on disk. [More](#memory-limits).", "nothing", func(l *Limits) *int64 { return &l.SpoolGroups })),
	reloaded(size("finishing_memory", "128MiB", "1MiB", "16GiB", "Memory, about, of what needs many rows of a release on disk at once: joins, windows, roll-ups into many groups. [More](#memory-limits).", "54001; what was released answers other questions free", func(l *Limits) *int64 { return &l.FinishingMemory })),
	reloaded(number("public_rows", "1000000", "1", "100000000", "Rows of an answer over public tables, which is held in memory.", "PV012; nothing was spent", func(l *Limits) *int64 { return &l.PublicRows })),
	reloaded(afterCharge(size("flow_memory", "1GiB", "1MiB", "1023GiB", "Memory, about, that all statements over rows of two people take at once. [More](#memory-limits).", "statements wait; PV012 where one alone needs more; what was charged stays spent", func(l *Limits) *int64 { return &l.FlowMemory }))),
	reloaded(size("training_memory", "1GiB", "1MiB", "1023GiB", "Memory of one training's rows, about. The rest is on disk, encrypted, and read again for every pass.", "nothing", func(l *Limits) *int64 { return &l.TrainingMemory })),
	reloaded(afterCharge(size("training_disk", "16GiB", "0B", "1023GiB", "Size of that file.", "PV012; what was charged stays spent", func(l *Limits) *int64 { return &l.TrainingDisk }))),
	reloaded(number("statements_at_once", "2", "1", "10000", "Statements of one analyst, in all sessions, that read the database at the same time. [More](#memory-limits).", "statements wait", func(l *Limits) *int64 { return &l.StatementsAtOnce })),
	number("backend_connections", "0", "0", "10000", "Connections to PostgreSQL. 0 is 4, or one a core if there are more.", "statements wait", func(l *Limits) *int64 { return &l.BackendConnections }),
}

// FixedLimits are those that no policy changes: the parser's, which bound every recursion over a statement and its memory.
var FixedLimits = []Limit{
	{Name: "statement text", Default: "4MiB", What: "Length of the statements of one message.", Exceed: "54000"},
	{Name: "tokens", Default: "50000", What: "Words, literals and signs of one message. A list of 64 or more literals behind IN counts as one. [More](#memory-limits).", Exceed: "54001"},
	{Name: "listed", Default: "524288", What: "Literals in such lists of one message. Reading them takes at most about 95 MB beside the text.", Exceed: "54001"},
	{Name: "statements", Default: "1000", What: "Statements of one message of the simple protocol.", Exceed: "54001"},
	{Name: "parameters", Default: "65535", What: "The highest $n, as the wire protocol's.", Exceed: "54001"},
	{Name: "nesting", Default: "200", What: "Brackets and CASE in each other.", Exceed: "54001"},
	{Name: "depth", Default: "10000", What: "Operators and clauses on one path of a statement.", Exceed: "54001"},
	{Name: "operators", Default: "1000", What: "Operators and calls in each other in an expression of a private statement.", Exceed: "54001"},
	{Name: "aggregates", Default: "256", What: "Aggregates over private rows of one statement, in all of its grouping sets.", Exceed: "54001"},
	{Name: "max_public_groups", Default: "100000", What: "Groups of one statement that are answered in full (query.max_public_groups).", Exceed: "groups are selected with noise; PV005 where budget.delta is 0"},
}

// DefaultLimits are those of a policy that says nothing.
func DefaultLimits() Limits {
	var l Limits
	for _, row := range LimitTable {
		n, err := row.parse(row.Default)
		if err != nil {
			panic("policy: the default of limits." + row.Name + ": " + err.Error())
		}
		row.set(&l, n)
	}
	return l
}

// AfterCharge lists the limits in force that a statement may meet after its charge, each with the policy key that raises it. It follows from the policy alone.
func (p *Policy) AfterCharge() string {
	var list []string
	for _, row := range LimitTable {
		if row.charged {
			list = append(list, "limits."+row.Name+" "+row.text(row.get(&p.Limits)))
		}
	}
	memory := "the database's own memory and disk"
	if p.Backend.Postgres != "" {
		of := "the server's own"
		if v, ok := p.Backend.Settings["work_mem"]; ok {
			of = v
		}
		memory = "backend.settings.work_mem " + of + " and " + memory
	}
	return strings.Join(list, ", ") + ", " + memory
}

// text spells a value of the limit as the policy does; 0 of a time is none.
func (l Limit) text(n int64) string {
	switch {
	case l.unit == timeSpan && n%int64(time.Second) == 0:
		return fmt.Sprintf("%ds", n/int64(time.Second))
	case l.unit == timeSpan:
		return time.Duration(n).String()
	case l.unit == plainCount:
		return fmt.Sprint(n)
	}
	unit := 0
	for ; unit < 3 && n > 0 && n%1024 == 0; unit++ {
		n /= 1024
	}
	return fmt.Sprintf("%d%s", n, []string{"B", "KiB", "MiB", "GiB"}[unit])
}

func (f *file) limits(n ast.Node) {
	var spec []field
	for _, row := range LimitTable {
		spec = append(spec, field{name: row.Name, read: func(n ast.Node) {
			what := "limits." + row.Name
			w, ok := f.text(n, what)
			if !ok {
				return
			}
			x, err := row.parse(w.text)
			if err != nil {
				f.add(w.position, "%s: %v", what, err).hint("such as %s", row.Default)
				return
			}
			least, _ := row.parse(row.Least)
			most, _ := row.parse(row.Most)
			if x < least || x > most {
				f.add(w.position, "%s must be from %s to %s", what, row.Least, row.Most)
				return
			}
			row.set(&f.p.Limits, x)
		}})
	}
	f.fields(n, "limits", spec)
}

var sizeShape = regexp.MustCompile(`^([0-9]{1,9})(B|KiB|MiB|GiB)$`)

func (l Limit) parse(text string) (int64, error) {
	switch l.unit {
	case timeSpan:
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration", clip(text))
		}
		return int64(d), nil
	case byteSize:
		m := sizeShape.FindStringSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("%q is not a size", clip(text))
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		return n << (10 * strings.Index("BKMG", m[2][:1])), err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", clip(text))
	}
	return n, nil
}
