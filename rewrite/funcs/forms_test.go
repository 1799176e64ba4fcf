package funcs

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// third is a dialect that nobody has written rows for.
type third struct{ dialect.Dialect }

func (third) String() string { return "third" }

// TestForms: each row has, for each dialect, a form or a refusal; and a dialect for which one has neither is refused at start-up, and gets no form of another's.
func TestForms(t *testing.T) {
	for _, d := range dialects {
		if err := CheckDialect(d); err != nil {
			t.Error(err)
		}
	}
	for _, f := range tested(t) { // also rows that are made for constants
		for _, d := range dialects {
			if f.TotalForm[d] == nil && f.Refused[d] == "" {
				t.Errorf("%s has neither a form nor a refusal on %s", signature(f, sqltype.Type{OID: f.Result, Typmod: -1}), d)
			}
		}
	}
	unknown := third{Postgres}
	if err := CheckDialect(unknown); err == nil || !strings.Contains(err.Error(), "third") {
		t.Errorf("a dialect without forms: %v", err)
	}
	for _, f := range All() {
		if text := f.TotalForm.Print(unknown, blanks(f), types(f), sqltype.Type{OID: f.Result, Typmod: -1}) + f.RaisingForm.Print(unknown, blanks(f), types(f), sqltype.Type{OID: f.Result, Typmod: -1}); text != "" {
			t.Errorf("%s has the form %s on a dialect that has none", f.Name, text)
		}
	}
}
