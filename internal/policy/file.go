package policy

import (
	"path/filepath"
	"time"
)

// Limits of what a policy can say. Beyond them a promise means nothing or a number is a slip of the pen.
const (
	minEpsilon       = 1e-9
	maxEpsilon       = 10000
	muchEpsilon      = 20 // above it a promise is hardly one
	maxDelta         = 0.01
	maxGroupsLimit   = 1 << 20
	maxRowsLimit     = 1 << 32
	maxPublicGroups  = 10_000_000
	defaultPublic    = 100_000
	defaultListen    = "127.0.0.1:6543"
	maxPopulation    = 1 << 40
	defaultTTL       = 24 * time.Hour
	defaultMechanism = "auto"
)

// file is one parse. Sections that refer to others are read after them, whatever their order in the file.
type file struct {
	reader
	p            *Policy
	later        []func()
	epsilonAt    position
	deltaAt      position
	populationAt position
	analystsAt   position
}

// path resolves a relative path against the policy's folder, so that starting elsewhere does not open an empty ledger.
func (f *file) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(f.p.Name), p)
}
