package main

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/citustest"
)

// TestCitusDoc runs every command of docs/howto-citus.md against a coordinator and two workers.
func TestCitusDoc(t *testing.T) {
	c := citustest.Start(t, 2)
	if err := c.CreateDB("clinic"); err != nil {
		t.Fatal(err)
	}
	runsPage(t, "howto-citus.md", fmt.Sprintf("127.0.0.1:%d", c.Port))
}
