package policy

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/shopspring/decimal"
)

// maxFile limits the text of a policy.
const maxFile = 4 << 20

// reader reads the parts of a file that follow YAML's shape; every value is taken as the text that was written, so that no
// version of YAML turns NO into false or 010 into 8.
type reader struct {
	problems
	lookup func(string) (string, bool) // of environment variables
	bare   []word                      // words in the place of texts that YAML 1.1 takes for true or false
	watch  func(ast.Node, sight)       // nil but for Schema
}

// parseYAML gives the one document of a text, or nil after a problem.
func (r *reader) parseYAML(text []byte) (body ast.Node) {
	start := position{1, 1}
	switch {
	case len(text) > maxFile:
		r.add(start, "a policy has at most %d bytes", maxFile)
		return nil
	case !utf8.Valid(text):
		r.add(start, "the file is not UTF-8")
		return nil
	}
	defer func() {
		if p := recover(); p != nil { // the library's, on texts that no editor writes
			r.add(start, "the file is not YAML")
			body = nil
		}
	}()
	tokens := lexer.Tokenize(string(unixLines(text)))
	if t, why := tooMuch(tokens); t != nil {
		r.add(position{t.Position.Line, t.Position.Column}, "%s", why)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, message := start, "the file is not YAML"
		var ye yaml.Error
		if errors.As(err, &ye) {
			message = ye.GetMessage()
			if t := ye.GetToken(); t != nil && t.Position != nil {
				at = position{t.Position.Line, t.Position.Column}
			}
		}
		r.add(at, "%s", message)
		return nil
	}
	var found []ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if d.Body.Type() == ast.CommentType || d.Body.Type() == ast.CommentGroupType {
			continue
		}
		found = append(found, d.Body)
	}
	switch len(found) {
	case 0:
		r.add(start, "the policy is empty")
		return nil
	case 1:
		return found[0]
	}
	r.add(at(found[1]), "a policy is one YAML document without directives")
	return nil
}

// The most that is read of a file: the parser takes time in the square of either.
const (
	maxNesting = 100
	maxKeys    = 20_000
)

// tooMuch finds the token from which on a file is nested too deeply, or has too many keys.
func tooMuch(tokens token.Tokens) (at *token.Token, why string) {
	keys, flow, line, entries := 0, 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.MappingValueType:
			keys++
		case token.SequenceEntryType, token.MappingKeyType: // "- - -" is nested within a line
			if t.Position.Line != line {
				line, entries = t.Position.Line, 0
			}
			entries++
		}
		switch {
		case flow > maxNesting || entries > maxNesting:
			return t, fmt.Sprintf("brackets and lists are nested more than %d deep", maxNesting)
		case keys > maxKeys:
			return t, fmt.Sprintf("a policy has at most %d keys", maxKeys)
		}
	}
	return nil, ""
}

// unixLines ends all lines alike: the library counts some that end in \r\n twice.
func unixLines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// at is where a node begins.
func at(n ast.Node) position {
	switch x := n.(type) {
	case *ast.MappingNode:
		if !x.IsFlowStyle && len(x.Values) > 0 {
			return at(x.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return at(x.Key)
	}
	if n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			return position{t.Position.Line, t.Position.Column}
		}
	}
	return position{1, 1}
}

// entry is one key of a mapping with its value.
type entry struct {
	key   word
	value ast.Node
}

// mapping reads a mapping with plain keys, each once.
func (r *reader) mapping(n ast.Node, what string) ([]entry, bool) {
	var pairs []*ast.MappingValueNode
	switch x := n.(type) {
	case *ast.MappingNode:
		pairs = x.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{x}
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.extra(at(n))
		return nil, false
	default:
		r.add(at(n), "%s must be a mapping (key: value)", what)
		return nil, false
	}
	r.tell(n, sight{kind: sawMapping})
	seen := map[string]position{}
	var out []entry
	for _, p := range pairs {
		if p.Key.IsMergeKey() {
			r.add(at(p.Key), "merge keys are not used in a policy")
			continue
		}
		s, ok := r.scalar(p.Key, "a key")
		if !ok {
			continue
		}
		if s.null || s.text == "" {
			r.add(s.position, "a key must be a name")
			continue
		}
		if first, dup := seen[s.text]; dup {
			r.add(s.position, "%s is given twice in %s", s.text, what).hint("first on line %d", first.line)
			continue
		}
		seen[s.text] = s.position
		out = append(out, entry{s.word, p.Value})
	}
	return out, true
}

// field is one key that a mapping may have.
type field struct {
	name     string
	was      string         // an older name, which is still read
	read     func(ast.Node) // nil: not built yet
	required bool
	instead  string // what to do meanwhile, where the key is not built yet
}

// fields reads a mapping whose keys are fixed.
func (r *reader) fields(n ast.Node, what string, spec []field) {
	entries, ok := r.mapping(n, what)
	if !ok {
		return
	}
	r.tell(n, sight{kind: sawFields, fields: spec})
	var names []string
	for _, f := range spec {
		names = append(names, f.name)
	}
	given := map[string]word{}
next:
	for _, e := range entries {
		for _, f := range spec {
			if f.name != e.key.text && (f.was == "" || f.was != e.key.text) {
				continue
			}
			if before, twice := given[f.name]; twice && before.text != e.key.text {
				r.add(e.key.position, "%s: %s on line %d and %s on line %d are one key", what, before.text, before.line, e.key.text, e.key.line).hint("leave out %s, the older name", f.was)
				continue next
			}
			given[f.name] = e.key
			if f.read == nil {
				p := r.add(e.key.position, "%s: %s is not built yet", what, f.name)
				if f.instead != "" {
					p.hint("%s", f.instead)
				}
			} else {
				f.read(e.value)
			}
			continue next
		}
		p := r.add(e.key.position, "%s has no key %q", what, clip(e.key.text))
		switch near := Nearest(e.key.text, names); {
		case strings.ContainsAny(e.key.text, "()") || strings.Contains(e.key.text, "->"):
			p.hint(`a type or a unit with parentheses needs quotes inside { }, as in {type: "numeric(12,2)"}`)
		case near != "":
			p.hint("did you mean %s?", near)
		default:
			p.hint("known: %s", strings.Join(names, ", "))
		}
	}
	for _, f := range spec {
		if _, ok := given[f.name]; f.required && !ok {
			r.add(at(n), "%s: %s is missing", what, f.name)
		}
	}
}

// items reads a sequence.
func (r *reader) items(n ast.Node, what string) ([]ast.Node, bool) {
	if s, ok := n.(*ast.SequenceNode); ok {
		r.tell(n, sight{kind: sawList})
		return s.Values, true
	}
	r.add(at(n), "%s must be a list [a, b]", what)
	return nil, false
}

// scalar is a value as it was written.
type scalar struct {
	word
	quoted bool
	null   bool // the bare word null
}

func (r *reader) scalar(n ast.Node, what string) (scalar, bool) {
	s := scalar{word: word{position: at(n)}}
	switch x := n.(type) {
	case *ast.StringNode:
		s.text = x.Token.Value
		s.quoted = x.Token.Type == token.SingleQuoteType || x.Token.Type == token.DoubleQuoteType
		if !s.quoted && isBoolLike(s.text) {
			r.bare = append(r.bare, s.word)
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s.text = n.GetToken().Value
	case *ast.LiteralNode:
		s.text, s.quoted = strings.TrimSuffix(x.Value.Value, "\n"), true
	case *ast.NullNode:
		if x.Token.Type == token.ImplicitNullType {
			r.add(s.position, "%s is empty", what)
			return s, false
		}
		s.text = x.Token.Value
		s.null = s.text == "null"
		if !s.null {
			r.add(s.position, "%s: write null for NULL, or put %s in quotes for the text", what, s.text)
			return s, false
		}
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.extra(s.position)
		return s, false
	default:
		r.add(s.position, "%s must be a single value", what)
		return s, false
	}
	if strings.ContainsRune(s.text, 0) {
		r.add(s.position, "%s holds a NUL character", what)
		return s, false
	}
	r.tell(n, sight{kind: sawScalar})
	return s, true
}

// isBoolLike reports the words that YAML 1.1 takes for true or false.
func isBoolLike(s string) bool {
	return slices.Contains([]string{"no", "off", "on", "yes", "y", "n", "true", "false", "null"}, strings.ToLower(s))
}

// extra refuses YAML's ways to write one thing in two places.
func (r *reader) extra(where position) {
	r.add(where, "anchors, aliases and tags are not used in a policy")
}

// text reads a value that is not NULL.
func (r *reader) text(n ast.Node, what string) (word, bool) {
	s, ok := r.scalar(n, what)
	switch {
	case !ok:
	case s.null || s.text == "":
		r.add(s.position, "%s is empty", what)
		return s.word, false
	case r.blank(s, what):
		return s.word, false
	case ok:
		r.tell(n, sight{kind: sawText})
	}
	return s.word, ok
}

// Blank stands in a file that dpsql init wrote where only the owner can say what is meant.
const Blank = "FILL_IN"

func (r *reader) blank(s scalar, what string) bool {
	if s.quoted || s.text != Blank {
		return false
	}
	r.add(s.position, "%s is still to be filled in", what).hint("the comment beside it says with what")
	return true
}

// choice reads one of a few words; those of later are known but not built yet.
func (r *reader) choice(n ast.Node, what string, now, later []string) string {
	w, ok := r.text(n, what)
	r.tell(n, sight{kind: sawWord, words: now})
	if !ok {
		return now[0]
	}
	for _, x := range now {
		if w.text == x {
			return x
		}
	}
	for _, x := range later {
		if w.text == x {
			r.add(w.position, "%s: %s is not built yet", what, x).hint("built: %s", strings.Join(now, ", "))
			return now[0]
		}
	}
	r.add(w.position, "%s cannot be %q", what, clip(w.text)).hint("one of %s", strings.Join(now, ", "))
	return now[0]
}

// flag reads true or false.
func (r *reader) flag(n ast.Node, what string) bool {
	yes, _ := r.flagIf(n, what)
	return yes
}

// flagIf reads true or false; ok is false where it is neither.
func (r *reader) flagIf(n ast.Node, what string) (yes, ok bool) {
	s, ok := r.scalar(n, what)
	r.tell(n, sight{kind: sawFlag})
	switch {
	case !ok:
		return false, false
	case !s.quoted && (s.text == "true" || s.text == "false"):
		return s.text == "true", true
	case s.quoted && (s.text == "true" || s.text == "false"):
		r.add(s.position, "%s must be true or false, without quotes", what)
	default:
		r.add(s.position, "%s must be true or false, not %q", what, clip(s.text))
	}
	return false, false
}

// plainNumber is JSON's grammar of numbers with at most a leading sign or point: no hexadecimal, no octal, no underscores, no
// NaN, no infinity.
var plainNumber = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*|)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// maxDigits limits what is written as a number, before and after expanding its exponent.
const maxDigits = 60

func (r *reader) decimal(n ast.Node, what string) (decimal.Decimal, position, bool) {
	s, ok := r.scalar(n, what)
	r.tell(n, sight{kind: sawNumber})
	if !ok || r.blank(s, what) {
		return decimal.Decimal{}, s.position, false
	}
	d, ok := parseDecimal(s.text)
	if s.quoted || s.null || !ok {
		r.add(s.position, "%s must be a decimal number of at most %d digits, not %q", what, maxDigits, clip(s.text))
		return decimal.Decimal{}, s.position, false
	}
	return d, s.position, true
}

func parseDecimal(text string) (decimal.Decimal, bool) {
	if len(text) > maxDigits || !strings.ContainsAny(text, "0123456789") || !plainNumber.MatchString(text) {
		return decimal.Decimal{}, false
	}
	d, err := decimal.NewFromString(strings.TrimPrefix(text, "+"))
	if err != nil || d.Exponent() < -maxDigits || d.NumDigits()+int(max(d.Exponent(), 0)) > maxDigits {
		return decimal.Decimal{}, false
	}
	if d.Exponent() > 0 { // 1e3 has scale 0
		d = decimal.NewFromBigInt(d.BigInt(), 0)
	}
	return d, true
}

// bounds limit a number; least itself is allowed only with equal.
type bounds struct {
	least, most float64
	equal       bool
}

func (r *reader) float(n ast.Node, what string, b bounds) (float64, bool) {
	d, where, ok := r.decimal(n, what)
	if !ok {
		return 0, false
	}
	x, err := strconv.ParseFloat(d.String(), 64)
	if err != nil || x < b.least || x == b.least && !b.equal || x > b.most {
		above := "above"
		if b.equal {
			above = "at least"
		}
		r.add(where, "%s must be %s %v and at most %v", what, above, b.least, b.most)
		return 0, false
	}
	return x, true
}

func (r *reader) count(n ast.Node, what string, most int64) (int64, position, bool) {
	return r.countOr(n, "", what, most)
}

// countOr reads a whole number, or a word that stands for none: 0.
func (r *reader) countOr(n ast.Node, word, what string, most int64) (int64, position, bool) {
	allowed := fmt.Sprintf("a whole number from 1 to %d", most)
	if word != "" {
		allowed = word + " or " + allowed
		r.tell(n, sight{kind: sawNumber})
		r.tell(n, sight{kind: sawWord, words: []string{word}})
		if s, ok := n.(*ast.StringNode); ok && s.Token.Value == word {
			return 0, at(n), true
		} else if ok && s.Token.Value != Blank {
			meant(r.add(at(n), "%s must be %s, not %q", what, allowed, clip(s.Token.Value)), s.Token.Value, word)
			return 0, at(n), false
		}
	}
	d, where, ok := r.decimal(n, what)
	if !ok {
		return 0, where, false
	}
	if !d.IsInteger() || d.Sign() <= 0 || d.GreaterThan(decimal.NewFromInt(most)) {
		r.add(where, "%s must be %s", what, allowed)
		return 0, where, false
	}
	return d.IntPart(), where, true
}

// meant asks for the word that a text is near, or begins with.
func meant(p *Problem, text, word string) {
	if strings.HasPrefix(strings.ToLower(text), word) || Nearest(text, []string{word}) != "" {
		p.hint("did you mean %s?", word)
	}
}

// duration reads 24h, 60s, 1h30m.
func (r *reader) duration(n ast.Node, what string, least, most time.Duration) (time.Duration, bool) {
	w, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(w.text)
	if err != nil {
		r.add(w.position, "%s must be a duration such as 90s, 15m or 24h, not %q", what, clip(w.text))
		return 0, false
	}
	if d < least || d > most {
		r.add(w.position, "%s must be from %s to %s", what, least, most)
		return 0, false
	}
	return d, true
}

// secretText reads a text, or env:NAME from the environment. Its value is never part of a message. export is what a shell could set the variable to.
func (r *reader) secretText(n ast.Node, what, export string) (word, bool) {
	w, ok := r.text(n, what)
	if !ok {
		return w, false
	}
	name, fromEnv := strings.CutPrefix(w.text, "env:")
	if !fromEnv {
		return w, true
	}
	value, set := r.lookup(name)
	if !set || value == "" {
		p := r.add(w.position, "%s: the environment variable %s is not set", what, clip(name))
		p.hint("export %s=%s", clip(name), export)
		p.unset = true
		return w, false
	}
	w.text = value
	return w, true
}

// sight is what the reader took a value for.
type sight struct {
	kind   string
	fields []field  // of sawFields
	words  []string // of sawWord
}

const (
	sawFields  = "a mapping with fixed keys"
	sawMapping = "a mapping with any keys"
	sawList    = "a list"
	sawScalar  = "a single value, or null"
	sawText    = "a text"
	sawDay     = "a day"
	sawNumber  = "a number"
	sawFlag    = "true or false"
	sawWord    = "one of some words"
)

// tell says what a value is taken for, to whoever watches.
func (r *reader) tell(n ast.Node, s sight) {
	if r.watch != nil {
		r.watch(n, s)
	}
}
