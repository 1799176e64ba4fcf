package citustest_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// TestConformance: the backends' suite where rows lie on two workers.
func TestConformance(t *testing.T) {
	var create, fill []string
	for _, s := range backendtest.Setup {
		if s[:6] == "INSERT" {
			fill = append(fill, s)
		} else {
			create = append(create, s)
		}
	}
	database(t, "conformance", create, [][2]string{{"torture", "id"}, {"child", "torture_id"}, {"others", "id"}}, fill)
	d, err := postgres.Open(t.Context(), cluster(t).URL("conformance"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	backendtest.Run(t, backendtest.Target{Backend: d, Write: func(s string) error { return cluster(t).Exec("conformance", s) }})
}
