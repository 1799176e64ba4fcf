package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// treeNode is one node of a stored rule, as PostgreSQL writes its trees: {LABEL :field value :field value ...}.
//
// A value is a string (one token as written, "<>" for none), a *treeNode, a []any of values, or a datum.
type treeNode struct {
	label  string
	fields map[string]any
}

// datum is the bytes of a constant.
type datum []byte

const (
	noValue  = "<>"
	maxDepth = 2000
)

var errTree = errors.New("the stored rule is not understood")

// parseTree reads one value that is the whole text. What is not exactly of the known form is an error.
func parseTree(text string) (any, error) {
	p := &treeParser{rest: text}
	v, err := p.value(p.token(), 0)
	if err != nil {
		return nil, err
	}
	if t := p.token(); t != "" {
		return nil, fmt.Errorf("%w: more follows", errTree)
	}
	return v, nil
}

type treeParser struct{ rest string }

// token gives the next token as it is written, "" at the end. A backslash takes the next byte with it.
func (p *treeParser) token() string {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	if p.rest == "" {
		return ""
	}
	n := 0
	for n < len(p.rest) && !strings.ContainsRune(" \n\t(){}", rune(p.rest[n])) {
		if p.rest[n] == '\\' && n+1 < len(p.rest) {
			n++
		}
		n++
	}
	n = max(n, 1)
	t := p.rest[:n]
	p.rest = p.rest[n:]
	return t
}

// value reads the value that begins with a token. It may begin with a colon: names are written as they are.
func (p *treeParser) value(first string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: too deep", errTree)
	}
	switch first {
	case "{":
		return p.node(depth)
	case "(":
		list := []any{}
		for {
			t := p.token()
			if t == ")" {
				return list, nil
			}
			v, err := p.value(t, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	case "", ")", "}":
		return nil, fmt.Errorf("%w: %q for a value", errTree, first)
	}
	return first, nil
}

func (p *treeParser) node(depth int) (*treeNode, error) {
	n := &treeNode{label: p.token(), fields: map[string]any{}}
	for {
		name := p.token()
		if name == "}" {
			return n, nil
		}
		if !strings.HasPrefix(name, ":") || n.fields[name[1:]] != nil {
			return nil, fmt.Errorf("%w: %q for a field of %s", errTree, name, n.label)
		}
		v, err := p.value(p.token(), depth+1)
		if err != nil {
			return nil, err
		}
		if name == ":constvalue" && v != noValue {
			if v, err = p.datum(); err != nil {
				return nil, err
			}
		}
		n.fields[name[1:]] = v
	}
}

// datum reads the bytes after their number: [ 1 0 -1 ].
func (p *treeParser) datum() (datum, error) {
	d := datum{}
	if t := p.token(); t != "[" {
		return nil, fmt.Errorf("%w: %q for a constant", errTree, t)
	}
	for {
		t := p.token()
		if t == "]" {
			return d, nil
		}
		b, err := strconv.Atoi(t)
		if err != nil || b < -128 || b > 255 {
			return nil, fmt.Errorf("%w: %q for a byte", errTree, t)
		}
		d = append(d, byte(b))
	}
}

// text gives a field that is one token, or "".
func (n *treeNode) text(field string) string {
	s, _ := n.fields[field].(string)
	return s
}

// oid gives a field that is an OID, or 0.
func (n *treeNode) oid(field string) uint32 { return asOID(n.fields[field]) }

func asOID(v any) uint32 {
	s, _ := v.(string)
	x, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(x)
}

// nodes gives a field that is a list of nodes; ok is false for anything else, but for none.
func (n *treeNode) nodes(field string) (out []*treeNode, ok bool) {
	if n.fields[field] == noValue {
		return nil, true
	}
	list, ok := n.fields[field].([]any)
	if !ok {
		return nil, false
	}
	for _, v := range list {
		child, ok := v.(*treeNode)
		if !ok {
			return nil, false
		}
		out = append(out, child)
	}
	return out, true
}

// isEmpty reports a field's value that says nothing: no value, false, 0, an empty list or set.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == noValue || v == "false" || v == "0"
	case []any:
		return len(v) == 0 || len(v) == 1 && v[0] == "b"
	}
	return false
}

// walkTree calls visit for every node of a value, parents first.
func walkTree(v any, visit func(*treeNode)) {
	switch v := v.(type) {
	case *treeNode:
		visit(v)
		for _, f := range v.fields {
			walkTree(f, visit)
		}
	case []any:
		for _, e := range v {
			walkTree(e, visit)
		}
	}
}
