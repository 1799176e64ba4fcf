package ledger

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// notLinked refuses a ledger's path that is a symbolic link: log and mark lie beside the name, so a ledger of two names would have two of each.
func notLinked(abs string) error {
	info, err := os.Lstat(abs)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil //nolint:nilerr // the opening says what is wrong
	}
	if to, err := filepath.EvalSymlinks(abs); err == nil {
		return fmt.Errorf("ledger: %s is a symbolic link. Name the file itself in the policy: ledger: {sqlite: %s}", abs, to)
	}
	to, _ := os.Readlink(abs) //nolint:errcheck // a link
	return fmt.Errorf("ledger: %s is a symbolic link to %s, where nothing is. Name the file itself in the policy", abs, to)
}
