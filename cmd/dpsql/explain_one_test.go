package main

import (
	"strings"
	"testing"
)

// TestOneStatement: dpsql explain and dpsql query take one statement: what stands behind the first would be run, and charged.
func TestOneStatement(t *testing.T) {
	for _, name := range []string{"explain", "query"} {
		c := root()
		c.SetArgs([]string{name, "select count(*) from patients; select count(*) from encounters", "--config", "none.yaml"})
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "one statement at a time: 2 were given") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
