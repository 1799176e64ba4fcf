package answer

import (
	"strings"
	"testing"
)

// TestExplainedTwice: two lines of one key are an error, and not one line less.
func TestExplainedTwice(t *testing.T) {
	rep := &Report{Head: Head("A", ""), Releases: []ReleaseLines{{Lines: []Line{Keyed("B", "1"), Note("n"), Note("n")}}}}
	if text, err := rep.JSON(); err != nil || strings.Count(text, `"n"`) != 2 {
		t.Errorf("%s, %v", text, err)
	}
	rep.Releases[0].Lines = append(rep.Releases[0].Lines, Keyed("B", "2"))
	if text, err := rep.JSON(); err == nil {
		t.Errorf("a line is lost in %s", text)
	}
}
