package mlext

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// checkName refuses a name with a dot, which owner.name is written with, and one with characters that are not seen.
func checkName(name string) *sqlerr.Error {
	if err := pgsyntax.CheckNewName(name); err != nil {
		return err
	}
	if !strings.Contains(name, ".") {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidParam, "the model name %q has a dot", name).WithHint("Take a name without one: %s.", strings.ReplaceAll(name, ".", "_"))
}
