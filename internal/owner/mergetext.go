package owner

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/dpsql/dpsql/internal/policy"
)

var errNoMapping = errors.New("it must be a mapping (key: value)")

// parseMapping reads the one document of a text. Carriage returns are left out, which the library counts as lines.
func parseMapping(b []byte) (pairs []*ast.MappingValueNode, err error) {
	if !utf8.Valid(b) {
		return nil, errors.New("it is not UTF-8")
	}
	defer func() {
		if p := recover(); p != nil { // the library's, on texts that no editor writes
			pairs, err = nil, errors.New("it is not YAML")
		}
	}()
	f, err := parser.ParseBytes(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), 0)
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil {
			return nil, fmt.Errorf("line %d: %s", ye.GetToken().Position.Line, ye.GetMessage())
		}
		return nil, errors.New("it is not YAML")
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.CommentGroupType {
			continue
		}
		if body != nil {
			return nil, errors.New("it is more than one YAML document")
		}
		body = d.Body
	}
	pairs, flowEnd, err := entries(body)
	switch {
	case err != nil:
		return nil, err
	case flowEnd >= 0:
		return nil, errors.New("it is written in { }: a merge needs its sections in block style")
	}
	return pairs, nil
}

// entries are those of a mapping; flowEnd is the line of its } or -1 in block style. Nothing is an empty mapping.
func entries(n ast.Node) (list []*ast.MappingValueNode, flowEnd int, err error) {
	switch v := n.(type) {
	case *ast.MappingNode:
		if v.IsFlowStyle {
			return v.Values, v.End.Position.Line - 1, nil
		}
		return v.Values, -1, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, -1, nil
	case *ast.NullNode:
		if v.Token.Type == token.ImplicitNullType {
			return nil, -1, nil
		}
	}
	return nil, -1, errNoMapping
}

func keyText(k ast.MapKeyNode) string {
	if x, ok := k.(*ast.MappingKeyNode); ok {
		return nodeText(x.Value)
	}
	return k.GetToken().Value
}

// nodeText is a scalar as it was written, as policy reads it.
func nodeText(n ast.Node) string {
	switch x := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, nil:
		return ""
	case *ast.LiteralNode:
		return strings.TrimSuffix(x.Value.Value, "\n")
	}
	if t := n.GetToken(); t != nil {
		return t.Value
	}
	return ""
}

func lineOf(p *ast.MappingValueNode) int { return p.Key.GetToken().Position.Line - 1 }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func (x *text) indentAt(i int) string { return x.lines[i][:indentOf(x.lines[i])] }

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// commentIndent is how deep a comment stands: editors comment out at the line's own depth or at its very beginning.
func commentIndent(line string) int {
	at := indentOf(line)
	if at > 0 {
		return at
	}
	rest := strings.TrimLeft(line, "#")
	if n := indentOf(rest); n > 2 {
		return n
	}
	return at
}

// sectionEnd is the line after the last one of a block that begins below the line from: entries, and comments as deep as they.
func (x *text) sectionEnd(from, to, indent int) int {
	end := from + 1
	for i := from + 1; i < to; i++ {
		if isBlank(x.lines[i]) || isComment(x.lines[i]) && commentIndent(x.lines[i]) < indent {
			continue
		}
		end = i + 1
	}
	return end
}

// regionEnd is the line after those that belong to the entry on line from: a comment that is no deeper, and below which the entry has
// nothing more, ends it.
func (x *text) regionEnd(from, to, indent int) int {
	end := to
	for i := to - 1; i > from; i-- {
		switch {
		case isBlank(x.lines[i]):
		case !isComment(x.lines[i]):
			return end
		case commentIndent(x.lines[i]) <= indent:
			end = i
		}
	}
	return end
}

// mentionsTable reports that the tables section has a comment about a table: the table commented out, or its name in a sentence at
// the tables' own depth.
func (x *text) mentionsTable(name string) bool {
	for i := x.tablesFrom; i < x.tablesTo; i++ {
		l := x.lines[i]
		if !isComment(l) {
			continue
		}
		at := indentOf(l)
		content := len(l) - len(strings.TrimLeft(l, "# "))
		switch {
		case at > len(x.tableIndent):
		case at == 0 && content > len(x.tableIndent)+2, at > 0 && content > at+2:
		case mentions(l[at:], name):
			return true
		}
	}
	return false
}

// knowsColumn reports that a listed table names a column: as a key, commented out, or in a sentence of its own comments.
func (x *text) knowsColumn(o *oldTable, name string) bool {
	if slices.ContainsFunc(o.columns, func(c oldColumn) bool { return c.name == name }) {
		return true
	}
	if o.inTablesFlow {
		name = policy.Qualified(append(slices.Clone(o.parts), name)...)
		for i := x.tablesFrom; i < x.tablesTo; i++ {
			if isComment(x.lines[i]) && mentions(x.lines[i], name) {
				return true
			}
		}
		return false
	}
	for i := o.anchor; i < o.to; i++ {
		l := x.lines[i]
		if i == o.anchor || i == o.columnsAt { // what stands behind a column is about that one
			_, l, _ = strings.Cut(l, " #")
		} else if !isComment(l) {
			continue
		}
		if mentions(l, name) {
			return true
		}
	}
	return false
}

// mentions reports that a comment is a commented-out entry of the name, or a sentence of the owner's that has it as a word.
func mentions(comment, name string) bool {
	comment = strings.TrimLeft(strings.TrimSpace(comment), "# ")
	if key, ok := commentedKey(comment); ok {
		return key == name
	}
	if slices.ContainsFunc(prose, func(p string) bool { return strings.HasPrefix(comment, p) }) {
		return false
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	for rest := comment; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(name):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		rest = rest[i+len(name):]
	}
	return false
}

// tableKeys are those of a commented-out table; what follows them is no sentence.
var tableKeys = []string{"unit", "also_unit", "unprotected", "public", "max_rows_per_unit", "rows_without_unit", "max_frequency", "columns", "file", "key"}

// commentedKey reads "key: {...}", "key: [", "key:" and "key:  # ...", as entries look that were commented out.
func commentedKey(comment string) (string, bool) {
	end := strings.Index(comment+" ", ": ")
	if comment != "" && (comment[0] == '\'' || comment[0] == '"') {
		end = quotedEnd(comment)
	}
	if end < 0 || !strings.HasPrefix(comment[min(end, len(comment)):]+" ", ": ") {
		return "", false
	}
	key, rest := comment[:end], strings.TrimSpace(comment[end+1:])
	if rest != "" && !strings.ContainsAny(rest[:1], "{[#") && !slices.Contains(tableKeys, key) {
		return "", false
	}
	if key != "" && (key[0] == '\'' || key[0] == '"') {
		var s string
		if yaml.Unmarshal([]byte(key), &s) != nil {
			return "", false
		}
		return s, true
	}
	return key, true
}

// quotedEnd is where a quoted key is over, or -1.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
}
