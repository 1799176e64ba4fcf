package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDemoSaysHowMany: the help and the README say how many questions the demo asks.
func TestDemoSaysHowMany(t *testing.T) {
	list, err := questions()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"}
	if len(list) < 9 || len(list) > 16 {
		t.Fatalf("%d questions: say how many in words, here too", len(list))
	}
	word := words[len(list)-9]
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	c := demoCommand()
	for where, text := range map[string]string{"help": c.Short, "long help": c.Long, "README.md": string(readme)} {
		if !strings.Contains(text, "ask it "+word+" questions") && !strings.Contains(text, "asks "+word+" telling questions") && !strings.Contains(text, "asks "+word+" questions") {
			t.Errorf("%s does not say that it asks %s questions", where, word)
		}
	}
}

// TestFacts: what a notice says in brackets stays with what it follows.
func TestFacts(t *testing.T) {
	for notice, want := range map[string][]string{
		"":           {""},
		"spent: 0.5": {"spent: 0.5"},
		"spent: nothing (computed from a release; SET dpsql.fresh = on asks anew; (it); made); left: 3; error: 2": {"spent: nothing (computed from a release; SET dpsql.fresh = on asks anew; (it); made)", "left: 3", "error: 2"},
	} {
		if got := facts(notice); !slices.Equal(got, want) {
			t.Errorf("%q: %q", notice, got)
		}
	}
}
