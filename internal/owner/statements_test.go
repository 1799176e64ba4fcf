package owner

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
)

// TestPrintCut: a text with parts cut says so below it.
func TestPrintCut(t *testing.T) {
	var b strings.Builder
	if err := PrintStatements(&b, []ledger.StatementCharge{{Text: "select 1"}, {Text: "select 2", Cut: true}}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "were cut") != 1 || !strings.HasSuffix(got, "    select 2\n    (parts of this text were cut and are not kept)\n") {
		t.Errorf("%s", got)
	}
}
