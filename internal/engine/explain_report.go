package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// explainLine is a line of EXPLAIN: Text in FORMAT TEXT, where there is one; in FORMAT JSON the member Key with Value, or one of several with that key, which are an array. A line without a key is one of the notes.
type explainLine struct {
	Text  string
	Key   string
	Value any
	Each  bool
}

// line is a note.
func line(format string, args ...any) explainLine {
	return explainLine{Text: fmt.Sprintf(format, args...)}
}

// keyed is words under a key.
func keyed(key, format string, args ...any) explainLine {
	words := fmt.Sprintf(format, args...)
	return explainLine{Text: key + ": " + words, Key: key, Value: words}
}

// head says what kind of statement it is; what it says more is for people.
func head(kind, more string) explainLine {
	return explainLine{Text: kind + more, Key: "Node Type", Value: kind}
}

// report is what EXPLAIN tells: of each release, and of all together.
type report struct {
	Head     explainLine
	Releases []releaseLines
	All      []explainLine
	Brief    []string // after the head, without VERBOSE; nil: the whole is short
}

type releaseLines struct {
	Head  explainLine // absent where there is one release
	Lines []explainLine
}

// text are the lines of FORMAT TEXT.
func (r *report) text() []string {
	lines := []string{r.Head.Text}
	say := func(in string, list []explainLine) {
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
	plan.lines([]explainLine{r.Head})
	var releases []any
	for _, rel := range r.Releases {
		o := object{}
		o.lines(append([]explainLine{rel.Head}, rel.Lines...))
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

// object is a JSON object that keeps its members' order. One to which a key is added twice is not written: a line of EXPLAIN would be lost.
type object struct {
	keys   []string
	values map[string]any
	twice  string
}

func (o *object) add(key string, value any) {
	if _, known := o.values[key]; known {
		o.twice = key
	}
	o.put(key, value)
}

// put adds a member, or gives it another value.
func (o *object) put(key string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) lines(list []explainLine) {
	for _, l := range list {
		if l.Key == "" {
			if l.Text == "" { // the head of the only release
				continue
			}
			l = explainLine{Key: "Notes", Value: strings.TrimSpace(l.Text), Each: true}
		}
		if l.Each {
			before, _ := o.values[l.Key].([]any)
			o.put(l.Key, append(before, l.Value))
			continue
		}
		o.add(l.Key, l.Value)
	}
}

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	if o.twice != "" {
		return nil, sqlerr.New(sqlerr.Internal, "EXPLAIN says %q twice", o.twice)
	}
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
