package pgsyntax

// Window specifications: the WINDOW clause and OVER. They are carried as one list with marks between its parts.

// windowDef reads "name AS (" of the WINDOW clause.
func (s *speller) windowDef() error {
	t := s.tok(0)
	if !t.isColID() {
		return syntaxAt(t)
	}
	s.i++
	if !s.accept("as") || !s.tok(0).punct("(") {
		return s.unexpected()
	}
	s.put("", atom{kind: aMark, mark: mWindow, pos: Pos(t.pos), names: []string{t.text}}, " AS (PARTITION BY ")
	n := s.put("", atom{kind: aCall, mark: mOver}, "")
	s.list(n, frame{then: thenWindow})
	s.overStart()
	return nil
}

// overStart reads the name that a window specification may begin with.
func (s *speller) overStart() {
	t := s.tok(0)
	f := s.top()
	f.operand = false
	if !t.isColID() || t.kind == tWord && (t.text == "partition" || t.text == "rows" || t.text == "range" || t.text == "groups") {
		return
	}
	s.atoms[f.atom].names = []string{t.text}
	s.i++
}

// overWord reads the keywords of a window specification: PARTITION BY, ORDER BY, the frame.
func (s *speller) overWord() (done bool, err error) {
	f, t := s.top(), s.tok(0)
	comma := ","
	if f.fresh {
		comma = ""
	}
	switch {
	case f.inBound && (t.is("preceding") || t.is("following")):
		s.put(",", atom{kind: aMark, mark: mBound, op: upper(t.text), not: true, pos: Pos(f.boundAt)}, "")
		s.i++
		f.inBound = false
		return true, s.nextBound()
	case f.inBound || f.bounds > 0:
		return false, nil
	case s.words("partition", "by"):
		s.put(comma, atom{kind: aMark, mark: mPartition}, ",")
		s.i += 2
		f.operand, f.fresh = true, false
		return true, nil
	case s.words("order", "by"):
		s.put(comma, atom{kind: aMark, mark: mOrder}, ",")
		s.i += 2
		f.operand, f.ordered, f.fresh = true, true, false
		return true, nil
	case t.is("rows"), t.is("range"), t.is("groups"):
		if f.special == "frame" {
			return true, syntaxAt(t)
		}
		s.put(comma, atom{kind: aMark, mark: mFrame, frame: &Frame{Mode: upper(t.text)}}, "")
		s.i++
		f.bounds, f.ordered, f.special, f.fresh = 1, false, "frame", false
		if s.accept("between") {
			f.bounds = 2
			switch t := s.tok(0); t.text { // PostgreSQL takes "between" for a column in front of these
			case "is", "isnull", "notnull", "like", "ilike", "similar", "overlaps":
				if t.kind == tWord {
					return true, syntaxAt(t)
				}
			}
		}
		return true, s.bound()
	case t.is("exclude") && f.special == "frame":
		what := ""
		switch {
		case s.words("exclude", "current", "row"):
			what = "CURRENT ROW"
		case s.words("exclude", "no", "others"):
			what = "NO OTHERS"
		case s.words("exclude", "group"):
			what = "GROUP"
		case s.words("exclude", "ties"):
			what = "TIES"
		default:
			return true, syntaxAt(s.tok(1))
		}
		s.put(",", atom{kind: aMark, mark: mFrame, op: what}, "")
		s.i += 2
		if what == "CURRENT ROW" || what == "NO OTHERS" {
			s.i++
		}
		return true, nil
	}
	return false, nil
}

// bound begins one bound of a window frame.
func (s *speller) bound() error {
	f := s.top()
	f.bounds--
	for _, w := range [...][2]string{{"unbounded", "preceding"}, {"unbounded", "following"}, {"current", "row"}} {
		if s.words(w[0], w[1]) {
			s.put(",", atom{kind: aMark, mark: mBound, op: upper(w[0] + " " + w[1])}, "")
			s.i += 2
			f.operand = false
			return s.nextBound()
		}
	}
	s.emit(",")
	f.operand, f.inBound, f.boundAt = true, true, s.tok(0).pos
	return nil
}

// nextBound goes on behind a bound.
func (s *speller) nextBound() error {
	if s.top().bounds == 0 {
		return nil
	}
	if !s.accept("and") {
		return s.unexpected()
	}
	return s.bound()
}
