package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReloadedLimits: a reload takes over the limits that the engine reads of the policy in force, and these alone; the others are named as waiting for a restart.
func TestReloadedLimits(t *testing.T) {
	files, err := filepath.Glob("../engine/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	read := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:[pP]olicy\.Limits|\bl)\.(\w+)`).FindAllSubmatch(text, -1) {
			read[string(m[1])] = true
		}
	}
	for _, row := range LimitTable {
		was, now := DefaultLimits(), DefaultLimits()
		row.set(&now, row.get(&now)+1)
		field := ""
		for i := range reflect.TypeFor[Limits]().NumField() {
			if reflect.ValueOf(was).Field(i).Int() != reflect.ValueOf(now).Field(i).Int() {
				field = reflect.TypeFor[Limits]().Field(i).Name
			}
		}
		if read[field] != row.reloads {
			t.Errorf("%s: reloaded is %t, the engine reads %s for each statement: %t", row.Name, row.reloads, field, read[field])
		}
		want := []string{"limits." + row.Name}
		if row.reloads {
			want = nil
		}
		if got := was.Waiting(now); !slices.Equal(got, want) {
			t.Errorf("%s: %q wait for a restart", row.Name, got)
		}
	}
}
