package sqltype

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// jsonKind orders kinds of values as jsonb does.
type jsonKind int

const (
	jsonNull jsonKind = iota
	jsonString
	jsonNumber
	jsonBool
	jsonArray
	jsonObject
)

type jsonNode struct {
	kind   jsonKind
	truth  bool
	text   string // of a string
	number decimal.Decimal
	keys   []string // of an object, in jsonb's order
	elems  []jsonNode
}

func jsonNumberNode(text string) (jsonNode, error) {
	v, err := parseNumeric(text, Numeric)
	if err != nil {
		return jsonNode{}, err
	}
	return jsonNode{kind: jsonNumber, number: v.(decimal.Decimal)}, nil
}

// compareKeys is jsonb's order of keys: by length, then by bytes.
func compareKeys(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// unique sorts an object's keys; of equal ones the last counts.
func (n jsonNode) unique() jsonNode {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return compareKeys(n.keys[i], n.keys[j]) })
	out := jsonNode{kind: jsonObject}
	for k, i := range order {
		if k+1 < len(order) && n.keys[order[k+1]] == n.keys[i] {
			continue
		}
		out.keys, out.elems = append(out.keys, n.keys[i]), append(out.elems, n.elems[i])
	}
	return out
}

func readJSONB(s string) (jsonNode, error) { return (&jsonReader{s: s, values: true}).document() }

// parseJSONB reads a jsonb into its canonical text.
func parseJSONB(s string) (Value, error) {
	n, err := readJSONB(s)
	if err != nil {
		return nil, err
	}
	return JSON(n.append(nil, false)), nil
}

// append writes a value as jsonb_out does; with trim, numbers lose trailing zeros, so that equal values are spelled alike.
func (n jsonNode) append(dst []byte, trim bool) []byte {
	switch n.kind {
	case jsonBool:
		return fmt.Append(dst, n.truth)
	case jsonString:
		return appendJSONString(dst, n.text)
	case jsonNumber:
		if trim {
			return append(dst, n.number.String()...)
		}
		return append(dst, n.number.StringFixed(max(0, -n.number.Exponent()))...)
	case jsonArray:
		dst = append(dst, '[')
		for i, e := range n.elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = e.append(dst, trim)
		}
		return append(dst, ']')
	case jsonObject:
		dst = append(dst, '{')
		for i, e := range n.elems {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendJSONString(dst, n.keys[i]), ": "...)
			dst = e.append(dst, trim)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte("\b\f\n\r\t", c) >= 0:
			dst = append(dst, '\\', "bfnrt"[strings.IndexByte("\b\f\n\r\t", c)])
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// compareJSON orders documents as jsonb's btree does, strings by bytes. Both are texts that were parsed before.
func compareJSON(a, b JSON) int {
	x, err1 := readJSONB(string(a))
	y, err2 := readJSONB(string(b))
	if err1 != nil || err2 != nil {
		panic("sqltype: a value that is no jsonb was compared")
	}
	// A scalar counts as an array of one, which sorts before real ones of the same length.
	length := func(n jsonNode) (int, bool) {
		if n.kind < jsonArray {
			return 1, true
		}
		return len(n.elems), false
	}
	if x.kind != jsonObject && y.kind != jsonObject {
		nx, scalarX := length(x)
		ny, scalarY := length(y)
		switch {
		case nx != ny:
			return cmp.Compare(nx, ny)
		case scalarX && !scalarY:
			return -1
		case scalarY && !scalarX:
			return 1
		}
	}
	if x.kind < jsonArray && y.kind == jsonObject {
		return -1
	}
	if y.kind < jsonArray && x.kind == jsonObject {
		return 1
	}
	return x.compare(y)
}

func (n jsonNode) compare(o jsonNode) int {
	if n.kind != o.kind {
		return cmp.Compare(n.kind, o.kind)
	}
	switch n.kind {
	case jsonString:
		return strings.Compare(n.text, o.text)
	case jsonNumber:
		return n.number.Cmp(o.number)
	case jsonBool:
		switch {
		case n.truth == o.truth:
			return 0
		case o.truth:
			return -1
		}
		return 1
	}
	if c := cmp.Compare(len(n.elems), len(o.elems)); c != 0 {
		return c
	}
	for i := range n.elems {
		if n.kind == jsonObject {
			if c := strings.Compare(n.keys[i], o.keys[i]); c != 0 {
				return c
			}
		}
		if c := n.elems[i].compare(o.elems[i]); c != 0 {
			return c
		}
	}
	return 0
}
