package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Line is a line of EXPLAIN: Text in FORMAT TEXT, where there is one; in FORMAT JSON the member Key with Value, or one of several with that key, which are an array. A line without a key is one of the notes.
type Line struct {
	Text  string
	Key   string
	Value any
	Each  bool
}

// Note is a line without a key.
func Note(format string, args ...any) Line {
	return Line{Text: fmt.Sprintf(format, args...)}
}

// Keyed is words under a key.
func Keyed(key, format string, args ...any) Line {
	words := fmt.Sprintf(format, args...)
	return Line{Text: key + ": " + words, Key: key, Value: words}
}

// Part is a line of EXPLAIN that an analyst needs first, in two parts. It stands behind the line's column, in sessions with UseIntervals.
type Part struct {
	Key  string `json:"key,omitempty"`
	Text string `json:"text,omitempty"`
	More bool   `json:"more,omitempty"` // the line only says that VERBOSE has more
}

// firstProperties are the keys that properties have in EXPLAIN of SELECT, of those that an analyst needs first.
var firstProperties = map[string]string{"price": "Price", "left": "Left", "refused": "Refused", "warning": "Warning", "error of a value's count": "Error of a value's count", "right in 95 % of looks": "Right in 95 % of looks"}

// VerboseProperty is the last one of EXPLAIN where VERBOSE has more.
var VerboseProperty = []sqltype.Value{"details", "EXPLAIN (VERBOSE)"}

// Properties is EXPLAIN of a training, a watch or a synthetic table: names with values. hasParts puts a Part behind those that an analyst needs first.
func Properties(rows [][]sqltype.Value, hasParts bool) *Answer {
	for i, row := range rows {
		name, _ := row[0].(string)
		key := firstProperties[name]
		if isLast := name == VerboseProperty[0]; hasParts && (key != "" || isLast) {
			rows[i] = append(slices.Clip(row), Part{Key: key, Text: fmt.Sprint(row[1]), More: isLast})
		}
	}
	return &Answer{Rows: rows, Tag: "EXPLAIN"}
}

// Head says what kind of statement it is; what it says more is for people.
func Head(kind, more string) Line {
	return Line{Text: kind + more, Key: "Node Type", Value: kind}
}

// Report is what EXPLAIN tells: of each release, and of all together.
type Report struct {
	Head     Line
	Releases []ReleaseLines
	All      []Line
	Brief    []Line // after the head, without VERBOSE; nil: the whole is short. Those with a key are what an analyst needs first
}

// ReleaseLines are those of one release.
type ReleaseLines struct {
	Head  Line // absent where there is one release
	Lines []Line
}

// Text are the lines of FORMAT TEXT.
func (r *Report) Text() []string {
	lines := []string{r.Head.Text}
	say := func(in string, list []Line) {
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

// JSON is FORMAT JSON: an array of one object with "Plan", as PostgreSQL's is.
func (r *Report) JSON() (string, error) {
	plan := object{}
	plan.lines([]Line{r.Head})
	var releases []any
	for _, rel := range r.Releases {
		o := object{}
		o.lines(append([]Line{rel.Head}, rel.Lines...))
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

func (o *object) lines(list []Line) {
	for _, l := range list {
		if l.Key == "" {
			if l.Text == "" { // the head of the only release
				continue
			}
			l = Line{Key: "Notes", Value: strings.TrimSpace(l.Text), Each: true}
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
