package pgsyntax

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// others are the statements that are refused by their first word; those in pairs are named by two words.
var others = map[string]bool{"insert": false, "update": false, "delete": false, "merge": false, "truncate": false,
	"create": true, "alter": true, "drop": true, "grant": false, "revoke": false, "comment": true,
	"notify": false, "load": false, "lock": false, "vacuum": false, "analyze": false, "analyse": false,
	"cluster": false, "reindex": false, "checkpoint": false, "call": false, "do": false, "reassign": true, "refresh": true,
	"security": true, "import": true}

// command reads one statement up to its end.
func command(r *reader) (Node, error) {
	n, err := r.command()
	if err == nil && r.tok(0).kind != tEnd {
		err = r.unexpected()
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (r *reader) command() (Node, error) {
	t := r.tok(0)
	if t.punct("(") || t.is("select") || t.is("values") || t.is("with") || t.is("table") {
		from := r.i
		n, err := r.query()
		return n, r.bigQuery(from, err)
	}
	if t.kind != tWord {
		return nil, syntaxAt(t)
	}
	r.i++
	if n, ok, err := r.model(t); ok {
		return n, err
	}
	if n, ok, err := r.synthetic(t); ok {
		return n, err
	}
	if n, ok, err := r.cube(t); ok {
		return n, err
	}
	switch t.text {
	case "explain":
		return r.explain(t)
	case "set":
		return r.set(t)
	case "reset", "show":
		name, err := r.setting()
		if err != nil {
			return nil, err
		}
		all := name == "all"
		if all {
			name = ""
		}
		if t.text == "reset" {
			return &Reset{Name: name, All: all}, nil
		}
		return &Show{Pos: Pos(t.pos), Name: name, All: all}, nil
	case "begin":
		r.transactionWord()
		modes, err := r.modes(true)
		return &Begin{Modes: modes}, err
	case "start":
		if !r.accept("transaction") {
			return nil, r.unexpected()
		}
		modes, err := r.modes(true)
		return &Begin{Start: true, Modes: modes}, err
	case "commit", "end", "rollback", "abort":
		return r.finish(t)
	case "savepoint":
		name, err := r.name()
		return &Savepoint{Name: name}, err
	case "release":
		r.accept("savepoint")
		name, err := r.name()
		return &Release{Name: name}, err
	case "deallocate":
		r.accept("prepare")
		if r.accept("all") {
			return &Deallocate{All: true}, nil
		}
		name, err := r.name()
		return &Deallocate{Name: name}, err
	case "discard":
		for _, w := range [...]string{"all", "plans", "sequences", "temp", "temporary"} {
			if r.accept(w) {
				return &Discard{What: strings.TrimSuffix(upper(w), "ORARY")}, nil
			}
		}
		return nil, r.unexpected()
	case "close":
		if r.accept("all") {
			return &CloseCursor{All: true}, nil
		}
		name, err := r.name()
		return &CloseCursor{Name: name}, err
	case "declare":
		return r.declare(t)
	case "fetch", "move":
		return r.fetch(t.text == "move")
	case "copy":
		return r.copy(t)
	case "prepare":
		return r.prepare(t)
	case "execute":
		return r.execute(t)
	case "listen":
		name, err := r.name()
		return &Listen{Name: name}, err
	case "unlisten":
		if t := r.tok(0); t.kind == tOp && t.text == "*" {
			r.i++
			return &Unlisten{All: true}, nil
		}
		name, err := r.name()
		return &Unlisten{Name: name}, err
	}
	pair, ok := others[t.text]
	switch {
	case ok:
	case t.is("help"), t.is("describe"), t.is("desc"): // of other programs
		return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos).WithHint("SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dpsql') lists the tables.")
	default:
		return nil, syntaxAt(t)
	}
	return r.other(t, pair), nil
}

// other passes a statement that dpsql does not have.
func (r *reader) other(t *token, pair bool) Node {
	verb := upper(t.text)
	if pair && r.tok(0).kind == tWord {
		verb += " " + upper(r.tok(0).text)
	}
	r.i = len(r.toks) - 1
	return &Other{Pos: Pos(t.pos), Verb: verb}
}

// query reads a query up to the statement's end.
func (r *reader) query() (*Select, error) {
	sel, err := query(r)
	r.i = len(r.toks) - 1
	return sel, err
}

// name reads a name.
func (r *reader) name() (string, error) {
	t := r.tok(0)
	if !t.isColID() {
		return "", syntaxAt(t)
	}
	r.i++
	return t.text, nil
}

// setting reads the name of a setting in SHOW, RESET and SET; the forms of several words give the setting that they stand for.
func (r *reader) setting() (string, error) {
	switch {
	case r.accept("time", "zone"):
		return "timezone", nil
	case r.accept("transaction", "isolation", "level"):
		return "transaction_isolation", nil
	case r.accept("session", "authorization"):
		return "session_authorization", nil
	case r.accept("all"):
		return "all", nil
	}
	name, err := r.name()
	for err == nil && r.acceptPunct(".") {
		var part string
		if part, err = r.name(); err == nil {
			name += "." + part
		}
	}
	return strings.ToLower(name), err
}

// transactionWord passes WORK or TRANSACTION.
func (r *reader) transactionWord() {
	if !r.accept("work") {
		r.accept("transaction")
	}
}

// modes reads transaction modes, with or without commas; optional allows none.
func (r *reader) modes(optional bool) ([]string, error) {
	var out []string
	for {
		found := ""
		for _, m := range [...]string{"isolation level serializable", "isolation level repeatable read", "isolation level read committed",
			"isolation level read uncommitted", "read only", "read write", "deferrable", "not deferrable"} {
			if r.accept(strings.Fields(m)...) {
				found = m
				break
			}
		}
		if found == "" {
			if len(out) == 0 && optional {
				return nil, nil
			}
			return nil, r.unexpected()
		}
		out = append(out, upper(found))
		if !r.acceptPunct(",") && r.tok(0).kind == tEnd {
			return out, nil
		}
	}
}

// finish reads the end of a transaction.
func (r *reader) finish(t *token) (Node, error) {
	back := t.text == "rollback" || t.text == "abort"
	if r.words("prepared") && t.text != "end" && t.text != "abort" {
		return r.other(t, true), nil
	}
	r.transactionWord()
	if t.text == "rollback" && r.accept("to") {
		r.accept("savepoint")
		name, err := r.name()
		return &Rollback{To: name}, err
	}
	chain := false
	if r.accept("and") {
		chain = !r.accept("no")
		if !r.accept("chain") {
			return nil, r.unexpected()
		}
	}
	if back {
		return &Rollback{Chain: chain}, nil
	}
	return &Commit{Chain: chain}, nil
}

// set reads SET.
func (r *reader) set(t *token) (Node, error) {
	if r.accept("session", "characteristics") {
		if !r.accept("as", "transaction") {
			return nil, r.unexpected()
		}
		modes, err := r.modes(false)
		return &SetTransaction{Modes: modes, Session: true}, err
	}
	s := &Set{Pos: Pos(t.pos)}
	if !r.words("session", "authorization") && !r.accept("session") {
		s.Local = r.accept("local")
	}
	switch {
	case r.words("transaction", "snapshot"):
		return r.other(t, true), nil
	case r.accept("transaction"):
		modes, err := r.modes(false)
		return &SetTransaction{Modes: modes}, err
	case r.words("constraints", "all", "deferred"), r.words("constraints", "all", "immediate"):
		r.i += 3
		return &SetConstraints{Deferred: r.toks[r.i-1].is("deferred")}, nil
	case r.words("constraints"):
		return r.other(t, true), nil
	case r.words("catalog"), r.words("xml", "option"):
		return nil, unsupported(r.tok(0), "SET "+upper(r.tok(0).text))
	case r.accept("time", "zone"):
		s.Name = "timezone"
		return s, r.timeZone(s)
	case r.accept("names"):
		s.Name, s.Default = "client_encoding", r.tok(0).kind == tEnd || r.accept("default")
		if !s.Default && r.tok(0).kind != tString {
			return nil, r.unexpected()
		}
	case r.accept("schema"):
		s.Name = "search_path"
		if r.tok(0).kind != tString {
			return nil, r.unexpected()
		}
	case r.accept("session", "authorization"):
		s.Name, s.Default = "session_authorization", r.accept("default")
	case r.words("role") && !r.tok(1).punct("=") && !r.tok(1).is("to"):
		r.i++
		s.Name = "role"
	default:
		if err := r.assigned(s); err != nil {
			return nil, err
		}
		return s, nil
	}
	if s.Default {
		return s, nil
	}
	t = r.tok(0)
	if t.kind != tString && t.kind != tQuoted && (t.kind != tWord || t.class() == reserved) {
		return nil, syntaxAt(t)
	}
	r.i++
	s.Values = []string{t.text}
	return s, nil
}

// assigned reads name = values.
func (r *reader) assigned(s *Set) error {
	t := r.tok(0)
	name, err := r.setting()
	if err != nil {
		return err
	}
	if name == "all" || name == "timezone" && t.is("time") {
		return syntaxAt(t)
	}
	s.Name = name
	switch u := r.tok(0); {
	case u.is("to"), u.kind == tOp && u.text == "=":
		r.i++
	case u.is("from"):
		return unsupported(u, "SET ... FROM CURRENT")
	default:
		return syntaxAt(u)
	}
	if r.accept("default") {
		s.Default = true
		return nil
	}
	if strings.HasPrefix(name, "dpsql.") && r.accept("null") { // dpsql.on_low_count has the word, which PostgreSQL's settings never do
		s.Values = []string{"null"}
		return nil
	}
	for {
		v, err := r.settingValue()
		if err != nil {
			return err
		}
		s.Values = append(s.Values, v)
		if !r.acceptPunct(",") {
			return nil
		}
	}
}

// settingValue reads one value: a string, a word or a number with its sign.
func (r *reader) settingValue() (string, error) {
	t := r.tok(0)
	sign := ""
	if t.kind == tOp && (t.text == "-" || t.text == "+") {
		sign = strings.TrimPrefix(t.text, "+")
		r.i++
		t = r.tok(0)
		if t.kind != tInteger && t.kind != tNumeric {
			return "", syntaxAt(t)
		}
	}
	switch {
	case t.kind == tString, t.kind == tQuoted, t.kind == tInteger, t.kind == tNumeric,
		t.kind == tWord && (t.class() != reserved || t.text == "true" || t.text == "false" || t.text == "on"):
		r.i++
		return sign + t.text, nil
	}
	return "", syntaxAt(t)
}

// timeZone reads the value of SET TIME ZONE.
func (r *reader) timeZone(s *Set) error {
	if r.accept("default") || r.accept("local") {
		s.Default = true
		return nil
	}
	if r.words("interval") && r.tok(1).kind == tString {
		s.Values, s.Interval = []string{r.tok(1).text}, true
		r.i += 2
		at := r.tok(0)
		fields, mods, err := r.intervalFields()
		if err == nil && (mods != nil || fields != "" && fields != "hour" && fields != "hour to minute") {
			err = sqlerr.New(sqlerr.Syntax, "time zone interval must be HOUR or HOUR TO MINUTE").At(at.pos)
		}
		return err
	}
	if t := r.tok(0); t.kind == tWord && t.class() != plainWord {
		return syntaxAt(t)
	}
	v, err := r.settingValue()
	s.Values = []string{v}
	return err
}

// explain reads EXPLAIN.
func (r *reader) explain(t *token) (Node, error) {
	e := &Explain{Pos: Pos(t.pos), Options: map[string]string{}}
	s := speller{reader: *r}
	if r.tok(0).punct("(") && !s.isQuery(r.i) {
		r.i++
		for {
			o := r.tok(0)
			if o.kind != tQuoted && (o.kind != tWord || o.class() == reserved && !o.is("analyze") && !o.is("analyse")) {
				return nil, syntaxAt(o)
			}
			r.i++
			v := ""
			if u := r.tok(0); !u.punct(",") && !u.punct(")") {
				var err error
				if v, err = r.settingValue(); err != nil {
					return nil, err
				}
			}
			name := strings.Replace(strings.ToLower(o.text), "analyse", "analyze", 1)
			e.Options[name] = v
			if r.acceptPunct(")") {
				break
			}
			if !r.acceptPunct(",") {
				return nil, r.unexpected()
			}
		}
	} else {
		if r.accept("analyze") || r.accept("analyse") {
			e.Options["analyze"] = ""
		}
		if r.accept("verbose") {
			e.Options["verbose"] = ""
		}
	}
	at := r.tok(0)
	switch {
	case at.punct("("), at.is("select"), at.is("values"), at.is("with"), at.is("table"):
	case (at.is("train") || at.is("evaluate")) && r.tok(1).is("dp"):
	case at.is("insert"), at.is("update"), at.is("delete"), at.is("merge"), at.is("declare"), at.is("create"), at.is("refresh"), at.is("execute"):
	default:
		return nil, syntaxAt(at)
	}
	var err error
	e.Query, err = r.command()
	return e, err
}
