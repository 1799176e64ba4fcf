package corpus

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// report collects verdicts and prints them.
type report struct {
	name  string
	all   bool
	lines strings.Builder
	total int
	kinds map[kind]int
	ids   map[string]int
}

func newReport(name string, all bool) *report {
	return &report{name: name, all: all, kinds: map[kind]int{}, ids: map[string]int{}}
}

func (r *report) add(st statement, v verdict) {
	r.total++
	r.kinds[v.kind]++
	if v.id != "" || v.note != "" {
		r.ids[strings.TrimSpace(string(v.kind)+" "+v.id+" "+brackets(v.note))]++
	}
	if v.kind == same && !r.all {
		return
	}
	about := strings.Join(strings.Fields(v.id+" "+brackets(v.note)+" "+v.detail), " ")
	fmt.Fprintf(&r.lines, "%-9s %s: %s\n", v.kind, st.where, about)
	if v.kind == different {
		fmt.Fprintf(&r.lines, "          %s\n", strings.Join(strings.Fields(st.text), " "))
	}
}

func brackets(note string) string {
	if note == "" {
		return ""
	}
	return "(" + note + ")"
}

// print writes the lines and the summary.
func (r *report) print(w io.Writer) (Counts, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s", r.name, r.lines.String())
	ids := make([]string, 0, len(r.ids))
	for id := range r.ids {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		return r.ids[ids[i]] > r.ids[ids[j]] || r.ids[ids[i]] == r.ids[ids[j]] && ids[i] < ids[j]
	})
	for _, id := range ids {
		fmt.Fprintf(&b, "  %5d %s\n", r.ids[id], id)
	}
	n := Counts{r.total, r.kinds[same], r.kinds[refused], r.kinds[different]}
	fmt.Fprintf(&b, "%d statements: %d same, %d refused, %d different\n\n", n.Total, n.Same, n.Refused, n.Different)
	_, err := io.WriteString(w, b.String())
	return n, err
}
