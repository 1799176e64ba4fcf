package pgsyntax

import (
	"sort"
	"strconv"
	"strings"
)

// frameKind is what an open bracket, or the statement, holds.
type frameKind uint8

const (
	fQuery frameKind = iota
	fList            // expressions
	fCase
	fJoin // a joined table in parentheses
)

// clause is where a query's reading stands.
type clause uint8

const (
	cStart  clause = iota
	cSelect        // in the select list; no FROM yet
	cFrom
	cWhere
	cGroup
	cHaving
	cWindow
	cOrder
	cLimit
	cOffset
	cFetch
	cNested // behind a query in parentheses
)

// then is what follows when a frame is closed.
type then uint8

const (
	thenOperand then = iota
	thenTargets      // DISTINCT ON (...) is over, the list comes
	thenDerived
	thenJoined
	thenAliased // a join in parentheses that has a name
	thenTableFunc
	thenCTE
	thenNested
	thenWindow
)

// frame is an open bracket.
type frame struct {
	kind    frameKind
	then    then
	clause  clause
	open    int    // its bracket
	mark    mark   // fList: of what
	special string // fList: the construct whose words separate its arguments
	atom    int    // fList: its call; thenDerived: whether LATERAL (1)

	operand bool  // an operand is due
	tables  bool  // FROM: a table is due
	fresh   bool  // nothing in the list yet
	index   bool  // the last operand may be subscripted
	silent  bool  // its bracket is not written
	indexed bool  // what this frame makes may be
	ordered bool  // ASC, DESC and NULLS may follow
	ended   bool  // FETCH is over
	rows    bool  // what cSelect has are rows of VALUES
	limited uint8 // which of LIMIT (1) and OFFSET (2) it has had
	ops     int   // operators since the clause began
	joins   []int // joins whose condition is still to come
	bounds  int   // frame bounds to come
	inBound bool
	boundAt int // where the bound begins
}

// speller writes the skeleton. Each piece remembers the token it was made from, for the parser's errors.
type speller struct {
	reader
	out    strings.Builder
	ends   []int // offset behind each piece
	from   []int // its token
	atoms  []atom
	frames []frame
}

// spell turns a query's tokens, up to their end, into a skeleton.
func spell(r *reader) (*speller, error) {
	s := &speller{reader: *r, atoms: make([]atom, 0, len(r.toks)-r.i)}
	s.frames = append(s.frames, frame{kind: fQuery, operand: true})
	for {
		f, t := s.top(), s.tok(0)
		var err error
		switch {
		case t.kind == tEnd:
			if f.operand || f.tables || len(s.frames) > 1 || f.clause == cFetch && !f.ended {
				return nil, syntaxAt(t)
			}
			return s, s.endFrom()
		case s.i == s.closing(f):
			err = s.close()
		case f.tables:
			err = s.table()
		case f.kind == fQuery && f.clause == cStart:
			err = s.queryStart()
		case f.operand:
			err = s.operand()
		default:
			err = s.operator()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *speller) top() *frame { return &s.frames[len(s.frames)-1] }

// closing is the index of the token that closes a frame.
func (s *speller) closing(f *frame) int {
	if len(s.frames) == 1 {
		return -1
	}
	return s.match[f.open]
}

// emit writes a piece of the skeleton, made from the present token.
func (s *speller) emit(piece string) {
	s.out.WriteString(piece)
	s.ends = append(s.ends, s.out.Len())
	s.from = append(s.from, s.i)
}

// put keeps an atom and writes its number between two pieces; it gives its index.
func (s *speller) put(before string, a atom, after string) int {
	if a.pos == 0 {
		a.pos = Pos(s.tok(0).pos)
	}
	s.atoms = append(s.atoms, a)
	n := len(s.atoms) - 1
	s.emit(before + number(n) + after)
	return n
}

// tokenAt is the token that the parser had read when it stopped at a column of the skeleton.
func (s *speller) tokenAt(column int) *token {
	n := sort.SearchInts(s.ends, column)
	if n >= len(s.from) {
		return &s.toks[len(s.toks)-1]
	}
	return &s.toks[s.from[n]]
}

// push opens a frame for the bracket at the present token and passes it.
func (s *speller) push(f frame) {
	f.fresh, f.open = true, s.i
	s.frames = append(s.frames, f)
	s.i++
}

// openQuery opens the parenthesis of a query. One that holds only another is left out: the parser wants it so.
func (s *speller) openQuery(f frame) {
	f.silent = s.tok(1).punct("(") && s.isQuery(s.i+1) && s.match[s.i+1]+1 == s.match[s.i]
	if !f.silent {
		s.emit("(")
	}
	s.push(f)
}

// list opens a bracketed list of expressions at the present token, as a call of atom n; next is what the list is.
func (s *speller) list(n int, f frame) {
	f.kind, f.atom, f.mark = fList, n, s.atoms[n].mark
	s.emit("(")
	s.push(f)
}

// close closes the innermost frame at its bracket.
func (s *speller) close() error {
	f := *s.top()
	switch {
	case f.kind == fQuery && f.clause == cFetch && !f.ended:
		return s.unexpected()
	case f.tables, f.operand && (f.kind != fList || !f.fresh), f.inBound, f.bounds > 0:
		return s.unexpected()
	case f.operand && (f.mark != mFunc || f.special == "distinct on") && f.mark != mRow && f.mark != mArray && f.mark != mGroups && f.mark != mParen:
		return s.unexpected()
	}
	if err := s.endFrom(); err != nil {
		return err
	}
	switch {
	case f.kind == fCase:
		s.emit(" END")
	case !f.silent:
		s.emit(")")
	}
	s.i++
	s.frames = s.frames[:len(s.frames)-1]
	p := s.top()
	p.operand, p.index, p.fresh = false, false, false
	switch f.then {
	case thenOperand:
		p.index = f.indexed
		if t := s.tok(0); t.kind == tString && f.kind == fList && f.mark == mFunc && !s.atoms[f.atom].call.Special {
			return unsupported(t, "a literal behind a type with arguments of its own")
		}
	case thenTargets:
		return s.targets(true)
	case thenDerived:
		return s.alias(atom{kind: aAlias, pos: Pos(s.toks[f.open].pos), later: f.atom == 1})
	case thenTableFunc:
		s.i--
		s.emit(")")
		s.i++
		return s.alias(atom{kind: aAlias, pos: Pos(s.toks[f.open].pos), later: f.special == "lateral", fn: true})
	case thenJoined:
		return s.endTable()
	case thenAliased:
		s.i--
		s.emit(")")
		s.i++
		return s.alias(atom{kind: aAlias, pos: Pos(s.toks[f.open].pos)})
	case thenCTE:
		return s.afterCTE()
	case thenNested:
		p.clause = cNested
	case thenWindow:
		s.i--
		s.emit(")")
		s.i++
	}
	return nil
}

func number(n int) string { return "`" + strconv.Itoa(n) + "`" }
