package mlext

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// checkName refuses a name with a dot, which owner.name is written with.
func checkName(name string) *sqlerr.Error {
	if !strings.Contains(name, ".") {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidParam, "the model name %q has a dot", name).WithHint("Take a name without one: %s.", strings.ReplaceAll(name, ".", "_"))
}
