package ledger

import (
	"fmt"
	"os"
	"path/filepath"
)

// notLinked refuses a path through a symbolic link, which SQLite does not open: log and mark lie beside the name, so a ledger of two names would have two of each.
func notLinked(abs string) error {
	real, err := filepath.EvalSymlinks(abs)
	if err != nil { // there is no such file yet
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return nil //nolint:nilerr // the opening says what is wrong
		}
		real = filepath.Join(dir, filepath.Base(abs))
		if to, err := os.Readlink(abs); err == nil {
			return fmt.Errorf("ledger: %s is a symbolic link to %s, where nothing is. Name the file itself in the policy", abs, to)
		}
	}
	if real != abs {
		return fmt.Errorf("ledger: %s leads through a symbolic link. Name the file itself in the policy: ledger: {sqlite: %s}", abs, real)
	}
	return nil
}
