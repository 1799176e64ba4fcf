package policy

import (
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Schema is a JSON schema of the policy, for editors: the keys of each mapping, what their values are, and the words that
// are known. It has no list of keys of its own: it gives the reader small policies and watches what the reader takes each
// value for. So it takes whatever the reader takes, and refuses unknown keys, missing keys, and values of a wrong kind.
func Schema() map[string]any {
	s := place{}.mapping(place{}.watched("", 1))
	for _, l := range LimitTable {
		s["properties"].(map[string]any)["limits"].(map[string]any)["properties"].(map[string]any)[l.Name].(map[string]any)["description"] = l.What
	}
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "A policy of dpsql"
	return s
}

// schemaContexts are what some keys need before they are read, or are not required with: by the key that says it.
var schemaContexts = []struct{ key, text string }{
	{"backend", "backend: {files: x}, "},
	{"tls", "tls: {cert: x, key: x, client_ca: x, client_cert: cert}, "},
}

// place is where a value stands in a policy of one line: what is before and behind it within the policy's own braces. key is
// the policy's key that leads to it.
type place struct{ before, after, key string }

// child is a place within a value's own text.
func (p place) child(before, after string) place {
	return place{p.before + before, after + p.after, p.key}
}

// watched reads the policy with a value in the place, and gives what the reader takes it for. column is the value's; 0 finds it.
func (p place) watched(value string, column int) (seen []sight) {
	text := "{"
	for _, c := range schemaContexts {
		if p.key != c.key {
			text += c.text
		}
	}
	text += p.before
	if column == 0 {
		column = len(text) + 1
	}
	f := &file{reader: reader{lookup: func(string) (string, bool) { return "", false }}, p: &Policy{Name: "schema"}}
	f.watch = func(n ast.Node, s sight) {
		if at(n) == (position{1, column}) {
			seen = append(seen, s)
		}
	}
	if body := f.parseYAML([]byte(text + value + p.after + "}")); body != nil {
		f.policy(body)
	}
	return seen
}

// schema is that of the values that may stand in the place; anything where the reader does not look at it.
func (p place) schema() map[string]any {
	var found []any
	add := func(s map[string]any) {
		if s != nil && !slices.ContainsFunc(found, func(o any) bool { return reflect.DeepEqual(o, s) }) {
			found = append(found, s)
		}
	}
	for _, s := range scalarSchemas(p.watched("x", 0)) {
		add(s)
	}
	add(p.mapping(p.watched("{}", 0)))
	var items []any
	for _, beside := range [][2]string{{"[", "]"}, {"[", ", 1]"}, {"[1, ", "]"}} { // a range has two ends
		c := p.child(beside[0], beside[1])
		if len(c.watched("x", 0))+len(c.watched("{}", 0))+len(c.watched("[]", 0)) == 0 { // it is not read
			continue
		}
		if s := c.schema(); !slices.ContainsFunc(items, func(o any) bool { return reflect.DeepEqual(o, s) }) {
			items = append(items, s)
		}
	}
	if len(items) > 0 {
		add(map[string]any{"type": "array", "items": anyOf(items)})
	}
	return anyOf(found)
}

// anyOf joins schemas of which one must hold; none is no condition.
func anyOf(list []any) map[string]any {
	switch len(list) {
	case 0:
		return map[string]any{}
	case 1:
		return list[0].(map[string]any)
	}
	return map[string]any{"anyOf": list}
}

// mapping is the schema of a mapping, or nil where the reader took it for none.
func (p place) mapping(seen []sight) map[string]any {
	i := slices.IndexFunc(seen, func(s sight) bool { return s.kind == sawFields })
	if i < 0 {
		if !slices.ContainsFunc(seen, func(s sight) bool { return s.kind == sawMapping }) {
			return nil
		}
		return map[string]any{"type": "object", "additionalProperties": p.child("{x: ", "}").schema()}
	}
	properties, required := map[string]any{}, []any{}
	for _, f := range seen[i].fields {
		if f.read == nil { // not built yet
			continue
		}
		if f.required {
			required = append(required, f.name)
		}
		if p.key == "" {
			properties[f.name] = place{f.name + ": ", "", f.name}.schema()
			continue
		}
		if f.was != "" { // an older name, which is still read
			defer func() { properties[f.was] = properties[f.name] }()
		}
		s := p.child("{"+f.name+": ", "}").schema()
		for _, beside := range seen[i].fields { // some keys are read beside another alone
			if len(s) == 0 && beside.name != f.name {
				s = p.child("{"+beside.name+": x, "+f.name+": ", "}").schema()
			}
		}
		properties[f.name] = s
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// scalarSchemas are those of a single value; a more precise sight stands for a less precise one.
func scalarSchemas(seen []sight) (out []map[string]any) {
	var plain map[string]any
	for _, s := range seen {
		switch s.kind {
		case sawScalar:
			if plain == nil {
				plain = map[string]any{"type": []any{"string", "number", "boolean", "null"}}
			}
		case sawText:
			plain = map[string]any{"type": []any{"string", "number", "boolean"}}
		case sawDay:
			out = append(out, map[string]any{"type": "string"})
		case sawNumber:
			out = append(out, map[string]any{"type": "number"})
		case sawFlag:
			out = append(out, map[string]any{"type": "boolean"})
		case sawWord:
			words := []any{}
			for _, w := range s.words {
				words = append(words, w)
			}
			out = append(out, map[string]any{"enum": words})
		}
	}
	if out == nil && plain != nil {
		out = append(out, plain)
	}
	return out
}
