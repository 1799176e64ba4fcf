package pgsyntax

import (
	"strconv"
	"strings"
)

// sqlTypes are the type names that SQL spells with words of its own. How many modifiers each may have stands beside.
var sqlTypes = map[string]int{
	"int": 0, "integer": 0, "smallint": 0, "bigint": 0, "real": 0, "boolean": 0, "double precision": 0, "float": 1, "decimal": 2,
	"dec": 2, "numeric": 2, "bit": 1, "bit varying": 1, "character": 1, "char": 1, "varchar": 1, "character varying": 1,
	"char varying": 1, "nchar": 1, "nchar varying": 1, "national character": 1, "national char": 1, "national character varying": 1,
	"national char varying": 1, "timestamp": 1, "time": 1, "timestamp with time zone": 1, "time with time zone": 1, "interval": 1,
	"json": 0,
}

// typeName reads a type at the present token. With constant it is the type in front of a literal: no array, no plain name.
func (r *reader) typeName(constant bool) (*TypeName, error) {
	t := r.tok(0)
	typ := &TypeName{Pos: Pos(t.pos)}
	var err error
	switch {
	case t.is("setof"):
		return nil, unsupported(t, "SETOF")
	case t.is("interval"):
		r.i++
		typ.Name = "interval"
		if constant {
			typ.Mods, err = r.mods(true)
			return typ, err
		}
		if r.tok(0).punct("(") {
			typ.Mods, err = r.mods(true)
		} else {
			typ.Fields, typ.Mods, err = r.intervalFields()
		}
	case t.kind == tWord && r.sqlType(typ):
		err = r.sqlTypeTail(typ)
	case constant:
		return nil, r.unexpected()
	case t.isTypeFuncName():
		err = r.plainType(typ)
	default:
		return nil, syntaxAt(t)
	}
	if err != nil || constant {
		return typ, err
	}
	if r.tok(0).kind == tOp && r.tok(0).text == "%" && r.tok(1).is("type") {
		return nil, unsupported(r.tok(0), "%TYPE")
	}
	return typ, r.dims(typ)
}

// plainType reads a named type with its modifiers.
func (r *reader) plainType(typ *TypeName) error {
	t := r.tok(0)
	typ.Name, typ.Quoted = t.text, t.kind == tQuoted
	r.i++
	for n := 0; r.tok(0).punct("."); n++ {
		if !r.tok(1).isLabel() {
			return syntaxAt(r.tok(1))
		}
		if n > 0 {
			return unsupported(t, "a type name with a database")
		}
		typ.Schema, typ.Name, typ.Quoted = typ.Name, r.tok(1).text, true
		r.i += 2
	}
	if _, ok := sqlTypes[typ.Name]; !ok {
		typ.Quoted = false
	}
	var err error
	if r.tok(0).punct("(") {
		typ.Mods, err = r.mods(false)
	}
	return err
}

// sqlType reads the words of one of SQL's own types, without what follows the modifiers.
func (r *reader) sqlType(typ *TypeName) bool {
	words, save := []string{r.tok(0).text}, r.i
	r.i++
	switch words[0] {
	case "double":
		words = append(words, r.tok(0).text)
		r.i++
	case "national":
		if !r.words("character") && !r.words("char") {
			r.i = save
			return false
		}
		words = append(words, r.tok(0).text)
		r.i++
		fallthrough
	case "bit", "character", "char", "nchar":
		if r.accept("varying") {
			words = append(words, "varying")
		}
	}
	typ.Name = strings.Join(words, " ")
	if _, ok := sqlTypes[typ.Name]; !ok {
		r.i = save
		return false
	}
	return true
}

// sqlTypeTail reads the modifiers and the time zone words.
func (r *reader) sqlTypeTail(typ *TypeName) error {
	if r.tok(0).punct("(") && sqlTypes[typ.Name] > 0 {
		// PostgreSQL's grammar takes any list for decimal and bit; the binder knows what it means.
		list := sqlTypes[typ.Name] > 1 || strings.HasPrefix(typ.Name, "bit")
		var err error
		if typ.Mods, err = r.mods(!list); err != nil {
			return err
		}
	}
	if typ.Name == "time" || typ.Name == "timestamp" {
		switch {
		case r.accept("with", "time", "zone"):
			typ.Name += " with time zone"
		default:
			r.accept("without", "time", "zone")
		}
	}
	return nil
}

// mods reads a bracketed list of whole numbers; one only allows a single one without sign. No bracket is no error.
func (r *reader) mods(one bool) ([]int, error) {
	if !r.tok(0).punct("(") {
		return nil, nil
	}
	r.i++
	var out []int
	for {
		sign := ""
		if t := r.tok(0); !one && t.kind == tOp && t.text == "-" {
			sign = "-"
			r.i++
		}
		t := r.tok(0)
		if t.kind != tInteger {
			if t.kind == tEnd || t.kind == tPunct {
				return nil, syntaxAt(t)
			}
			return nil, unsupported(t, "a type modifier that is no number")
		}
		n, err := strconv.ParseInt(sign+t.text, 10, 32)
		if err != nil {
			return nil, syntaxAt(t)
		}
		out = append(out, int(n))
		r.i++
		if r.acceptPunct(")") {
			return out, nil
		}
		if one || !r.acceptPunct(",") {
			return nil, r.unexpected()
		}
	}
}

// intervalFields reads YEAR, DAY TO SECOND(3) and the like; nothing is no error.
func (r *reader) intervalFields() (string, []int, error) {
	order := []string{"year", "month", "day", "hour", "minute", "second"}
	index := func(t *token) int {
		for i, w := range order {
			if t.is(w) {
				return i
			}
		}
		return -1
	}
	first := index(r.tok(0))
	if first < 0 {
		return "", nil, nil
	}
	fields, last := order[first], first
	r.i++
	if order[first] != "month" && order[first] != "second" && r.accept("to") {
		last = index(r.tok(0))
		// YEAR TO MONTH, or from DAY, HOUR, MINUTE to a later one.
		if last <= first || (first == 0) != (last == 1) {
			return "", nil, r.unexpected()
		}
		fields += " to " + order[last]
		r.i++
	}
	if order[last] != "second" || !r.tok(0).punct("(") {
		return fields, nil, nil
	}
	mods, err := r.mods(true)
	return fields, mods, err
}

// dims reads the array brackets of a type; PostgreSQL ignores the sizes.
func (r *reader) dims(typ *TypeName) error {
	if r.accept("array") {
		typ.Dims = 1
		if r.acceptPunct("[") {
			if !r.tok(0).isIconst() {
				return r.unexpected()
			}
			r.i++
			if !r.acceptPunct("]") {
				return r.unexpected()
			}
		}
		return nil
	}
	for r.tok(0).punct("[") {
		r.i++
		if r.tok(0).isIconst() {
			r.i++
		}
		if !r.acceptPunct("]") {
			return r.unexpected()
		}
		typ.Dims++
	}
	return nil
}

// isIconst says whether a token is a whole number of 32 bits, which PostgreSQL's grammar asks for in some places.
func (t *token) isIconst() bool {
	if t.kind != tInteger {
		return false
	}
	_, err := strconv.ParseInt(t.text, 10, 32)
	return err == nil
}
