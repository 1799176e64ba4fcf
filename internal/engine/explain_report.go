package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// told is a line of EXPLAIN, "Key: words". In JSON it is a member of that key, or of Key where there is one; its value is the words, or Value.
type told struct {
	Text  string
	Key   string
	Value any
}

func line(format string, args ...any) told { return told{Text: fmt.Sprintf(format, args...)} }

func linesOf(texts []string) []told {
	out := make([]told, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// report is what EXPLAIN tells: of each release, and of all together.
type report struct {
	Head     told
	Releases []toldRelease
	All      []told
}

type toldRelease struct {
	Head  told // absent where there is one release
	Lines []told
}

// text are the lines of FORMAT TEXT.
func (r *report) text() []string {
	lines := []string{r.Head.Text}
	say := func(in string, list []told) {
		for _, l := range list {
			if l.Text != "" {
				lines = append(lines, in+l.Text)
			}
		}
	}
	for _, rel := range r.Releases {
		in := ""
		if rel.Head.Text != "" {
			lines, in = append(lines, rel.Head.Text), "  "
		}
		say(in, rel.Lines)
	}
	say("", r.All)
	return lines
}

// json is FORMAT JSON: an array of one object with "Plan", as PostgreSQL's is.
func (r *report) json() (string, error) {
	plan := object{}
	plan.add("Node Type", r.Head.Text)
	var releases []any
	for _, rel := range r.Releases {
		o := object{}
		o.lines(append([]told{rel.Head}, rel.Lines...))
		releases = append(releases, &o)
	}
	if len(releases) > 0 {
		plan.add("Releases", releases)
	}
	plan.lines(r.All)
	whole := object{}
	whole.add("Plan", &plan)
	var compact, out bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode([]any{&whole}); err != nil {
		return "", err
	}
	err := json.Indent(&out, bytes.TrimSpace(compact.Bytes()), "", "  ")
	return out.String(), err
}

// object is a JSON object that keeps its members' order.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) add(key string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	was, ok := o.values[key]
	if !ok {
		o.keys, o.values[key] = append(o.keys, key), value
		return
	}
	list, many := was.([]any) // what is said twice is a list
	if !many {
		list = []any{was}
	}
	o.values[key] = append(list, value)
}

func (o *object) lines(list []told) {
	for _, l := range list {
		key, words, ok := strings.Cut(strings.TrimSpace(l.Text), ": ")
		switch {
		case l.Value != nil && l.Key != "":
			o.add(l.Key, l.Value)
		case l.Text == "":
		case !ok:
			o.add("Note", key)
		case l.Value != nil:
			o.add(key, l.Value)
		default:
			o.add(key, words)
		}
	}
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(o.values[k]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// formatJSON reports EXPLAIN (FORMAT JSON).
func formatJSON(n *pgsyntax.Explain) bool { return strings.EqualFold(n.Options["format"], "json") }
