package main

import (
	"io/fs"
	"os"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
)

// looseFiles are the ledger's files that others of this machine may read or write: they hold who asked what, and the analysts' own constants.
func looseFiles(p *policy.Policy) (paths []string) {
	of := p.Ledger.Beside
	list := []string{of, of + "-wal", of + ledger.MarkSuffix, of + ledger.KeySuffix, of + server.ModelsSuffix, of + server.WatchesSuffix}
	if p.Audit != "none" {
		list = append(list, p.Audit)
	}
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && info.Mode().Type()&^fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// tighten is the command that makes files their owner's alone.
func tighten(paths []string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
	}
	return "chmod 600 " + strings.Join(quoted, " ")
}
