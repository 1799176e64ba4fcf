package rooms

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// oldNames are names that still work, and the files that may say them: where they are read, and where their reader is told.
var oldNames = map[string][]string{
	"dpsql.epsilon":     {"internal/engine/session/setting_table.go", "internal/engine/session/price_name_test.go", "internal/engine/reset_test.go", "internal/policy/doc_test.go", "docs/configuration.md", "CHANGELOG.md"},
	"query.epsilon":     {"docs/policy.md", "internal/policy/names_price_test.go", "CHANGELOG.md"},
	"max_query_epsilon": {"internal/policy/analysts.go", "docs/policy.md", "internal/policy/names_price_test.go", "CHANGELOG.md"},
}

// TestOldNames: no text of the program and no page says a name that has a newer one, but where that name is explained.
func TestOldNames(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("the sources are no git checkout")
	}
	for name, allowed := range oldNames {
		out, err := exec.Command("git", "-C", "../..", "grep", "-lF", name).Output()
		if err != nil && len(out) > 0 {
			t.Fatal(err)
		}
		found := map[string]bool{"internal/rooms/names_test.go": true}
		for _, file := range strings.Fields(string(out)) {
			found[file] = true
		}
		delete(found, "internal/rooms/names_test.go")
		for _, file := range allowed {
			delete(found, file)
		}
		for file := range found {
			t.Errorf("%s says %s", file, name)
		}
	}
}
