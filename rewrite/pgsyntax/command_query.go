package pgsyntax

// COPY, PREPARE and EXECUTE: statements around a query, read by our own grammar though nothing runs them.

// inner reads a query from the tokens [first, end) of a statement.
func (r *reader) inner(first, end int) (*Select, error) {
	toks := append(r.toks[first:end:end], token{kind: tEnd, pos: r.toks[end].pos, raw: r.toks[end].raw})
	match, err := measure(toks)
	if err != nil {
		return nil, err
	}
	sub := &reader{toks: toks, match: match}
	if t := sub.tok(0); !t.punct("(") && !t.is("select") && !t.is("values") && !t.is("with") && !t.is("table") {
		return nil, syntaxAt(t)
	}
	return sub.query()
}

// copy reads COPY table or (query) TO. COPY FROM writes: it is passed over.
func (r *reader) copy(t *token) (Node, error) {
	c := &Copy{}
	var err error
	switch open := r.i; {
	case r.acceptPunct("("):
		end := r.match[open]
		if u := r.tok(0); u.is("insert") || u.is("update") || u.is("delete") {
			return r.other(t, false), nil
		}
		c.At = r.span(open+1, end)
		if c.Query, err = r.inner(open+1, end); err != nil {
			return nil, err
		}
		r.i = end + 1
	default:
		if r.words("binary") && !r.tok(1).is("to") && !r.tok(1).is("from") {
			return r.other(t, false), nil
		}
		s := &speller{reader: *r}
		if c.Table, err = s.tableName(); err != nil {
			return nil, err
		}
		if s.tok(0).punct("(") {
			if c.Table.Columns, err = s.names(); err != nil {
				return nil, err
			}
		}
		r.i = s.i
		if r.words("from") {
			return r.other(t, true), nil
		}
	}
	if !r.accept("to") {
		return nil, r.unexpected()
	}
	switch u := r.tok(0); {
	case r.accept("stdout"), r.accept("stdin"): // PostgreSQL takes both for both
	case u.is("program") && r.tok(1).kind == tString:
		c.Program = r.tok(1).text
		r.i += 2
	case u.kind == tString:
		c.File = u.text
		r.i++
	default:
		return nil, r.unexpected()
	}
	if c.Options, err = r.copyOptions(); err != nil {
		return nil, err
	}
	return &Other{Pos: Pos(t.pos), Verb: "COPY", Read: c}, nil
}

// copyOptions reads the options in brackets, or those of PostgreSQL before 9.0.
func (r *reader) copyOptions() (out []CopyOption, err error) {
	if r.accept("using", "delimiters") {
		if r.tok(0).kind != tString {
			return nil, r.unexpected()
		}
		out = append(out, CopyOption{Pos: Pos(r.tok(0).pos), Name: "delimiter", Values: []string{r.tok(0).text}})
		r.i++
	}
	r.accept("with")
	if !r.acceptPunct("(") {
		return r.oldCopyOptions(out)
	}
	for {
		t := r.tok(0)
		if !t.isLabel() && !t.is("null") {
			return nil, syntaxAt(t)
		}
		o := CopyOption{Pos: Pos(t.pos), Name: t.text}
		r.i++
		switch u := r.tok(0); {
		case u.punct(","), u.punct(")"):
		case u.kind == tOp && u.text == "*":
			o.Values = []string{"*"}
			r.i++
		case r.acceptPunct("("):
			o.List = true
			for more := true; more; more = r.acceptPunct(",") {
				if k := r.tok(0).kind; k == tInteger || k == tNumeric || k == tOp {
					return nil, r.unexpected()
				}
				v, err := r.settingValue()
				if err != nil {
					return nil, err
				}
				o.Values = append(o.Values, v)
			}
			if !r.acceptPunct(")") {
				return nil, r.unexpected()
			}
		default:
			v, err := r.settingValue()
			if err != nil {
				return nil, err
			}
			o.Values = []string{v}
		}
		out = append(out, o)
		if r.acceptPunct(")") {
			return out, nil
		}
		if !r.acceptPunct(",") {
			return nil, r.unexpected()
		}
	}
}

func (r *reader) oldCopyOptions(out []CopyOption) (_ []CopyOption, err error) {
	for {
		t := r.tok(0)
		o := CopyOption{Pos: Pos(t.pos), Name: t.text}
		switch {
		case r.accept("binary"), r.accept("csv"):
			o.Name, o.Values = "format", []string{t.text}
		case r.accept("header"), r.accept("freeze"):
		case r.accept("force", "quote"):
			o.Name = "force_quote"
			if u := r.tok(0); u.kind == tOp && u.text == "*" {
				o.Values = []string{"*"}
				r.i++
			} else if o.Values, o.List, err = r.columnNames(); err != nil {
				return nil, err
			}
		case r.accept("force", "not", "null"):
			o.Name = "force_not_null"
			if o.Values, o.List, err = r.columnNames(); err != nil {
				return nil, err
			}
		case r.accept("force", "null"):
			o.Name = "force_null"
			if o.Values, o.List, err = r.columnNames(); err != nil {
				return nil, err
			}
		case r.accept("delimiter"), r.accept("null"), r.accept("quote"), r.accept("escape"), r.accept("encoding"):
			if !t.is("encoding") {
				r.accept("as")
			}
			if r.tok(0).kind != tString {
				return nil, r.unexpected()
			}
			o.Values = []string{r.tok(0).text}
			r.i++
		default:
			return out, nil
		}
		out = append(out, o)
	}
}

// columnNames reads names with commas.
func (r *reader) columnNames() (out []string, list bool, err error) {
	for more := true; more; more = r.acceptPunct(",") {
		name, err := r.name()
		if err != nil {
			return nil, false, err
		}
		out = append(out, name)
	}
	return out, true, nil
}

// prepare reads PREPARE name (types) AS query.
func (r *reader) prepare(t *token) (Node, error) {
	if r.words("transaction") && r.tok(1).kind == tString {
		return r.other(t, true), nil
	}
	p := &Prepare{}
	var err error
	if p.Name, err = r.name(); err != nil {
		return nil, err
	}
	if r.acceptPunct("(") {
		for more := true; more; more = r.acceptPunct(",") {
			typ, err := r.typeName(false)
			if err != nil {
				return nil, err
			}
			p.Types = append(p.Types, *typ)
		}
		if !r.acceptPunct(")") {
			return nil, r.unexpected()
		}
	}
	if !r.accept("as") {
		return nil, r.unexpected()
	}
	if u := r.tok(0); u.is("insert") || u.is("update") || u.is("delete") || u.is("merge") {
		return r.other(t, false), nil
	}
	p.At = r.span(r.i, len(r.toks)-1)
	if p.Query, err = r.inner(r.i, len(r.toks)-1); err != nil {
		return nil, err
	}
	r.i = len(r.toks) - 1
	return &Other{Pos: Pos(t.pos), Verb: "PREPARE", Read: p}, nil
}

// execute reads EXECUTE name (arguments). They are read as a VALUES list is.
func (r *reader) execute(t *token) (Node, error) {
	e := &Execute{}
	var err error
	if e.Name, err = r.name(); err != nil {
		return nil, err
	}
	if open := r.i; r.acceptPunct("(") {
		end := r.match[open]
		if end == r.i {
			return nil, r.unexpected()
		}
		toks := append([]token{{kind: tWord, text: "values", raw: "values", pos: r.toks[open].pos}}, r.toks[open:end+1]...)
		toks = append(toks, token{kind: tEnd, pos: r.toks[end].end()})
		match, err := measure(toks)
		if err != nil {
			return nil, err
		}
		rows, err := (&reader{toks: toks, match: match}).query()
		if err != nil {
			return nil, err
		}
		if len(rows.Values) != 1 {
			return nil, syntaxAt(&r.toks[open])
		}
		e.Args = rows.Values[0]
		r.i = end + 1
	}
	return &Other{Pos: Pos(t.pos), Verb: "EXECUTE", Read: e}, nil
}
