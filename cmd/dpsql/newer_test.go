package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// newerOtherwise are those that are answered otherwise than an empty PostgreSQL answers them, and why.
var newerOtherwise = map[string]string{}

// TestNewerClients: statements in the style of clients that are newer than those captured are answered as an empty PostgreSQL with the same tables answers them: what is understood are relations and forms, not texts.
func TestNewerClients(t *testing.T) {
	if os.Getenv("DPSQL_CLIENTS") == "" && os.Getenv("DPSQL_LONG") == "" {
		t.Skip("a part of make test-clients")
	}
	text, err := os.ReadFile("testdata/newer.sql")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := metadataSides(t)
	all, same := 0, 0
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		title, sql, ok := strings.Cut(strings.TrimPrefix(paragraph, "-- "), "\n")
		if !ok {
			continue // the file's own words
		}
		all++
		got, want := ours.say(t, sql, nil), theirs.say(t, sql, nil)
		if slices.Equal(got, want) {
			if same++; newerOtherwise[title] != "" {
				t.Errorf("%s: is the same, and said to be otherwise", title)
			}
			continue
		}
		if newerOtherwise[title] != "" {
			continue
		}
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("%s: line %d of %d is  %.700s\nwant (of %d) %.700s", title, i, len(got), strings.Join(got[i:min(i+1, len(got))], ""), len(want), strings.Join(want[i:min(i+1, len(want))], ""))
	}
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	if says := fmt.Sprintf("%d of %d statements in the style of newer clients", same, all); !strings.Contains(string(page), says) {
		t.Errorf("docs/clients.md does not say %q", says)
	}
}
