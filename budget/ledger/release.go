package ledger

import (
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Cache says how long and to whom stored releases answer. The zero Cache stores none.
type Cache struct {
	TTL   time.Duration
	Scope string
	Key   *Key // encrypts what is stored; nil: nothing. Releases under another key do not answer
}

func (c Cache) validate() error {
	if c.TTL < 0 || c.TTL > 0 && c.Scope != ScopeDataset && c.Scope != ScopeAnalyst {
		return fmt.Errorf("ledger: stored releases with ttl %v, scope %q", c.TTL, c.Scope)
	}
	return nil
}

// The scopes of stored releases and of denials.
const (
	ScopeDataset = "data_set" // a release answers every analyst (whose rights the engine has checked)
	ScopeAnalyst = "analyst"  // a release answers the analyst who paid for it

	ScopeLifetime = "lifetime" // denials only: the lifetime does not hold this window
	ScopeRole     = "role"     // denials only: a role of the analyst
)

// Release is what a commit stores: bytes that only the engine reads, under the key of everything that determines them.
type Release struct {
	Key      Hash
	Payload  []byte
	Family   Hash   // of releases from which other questions may be computed; zero: none
	Spool    *Spool // of a release of many groups what the payload has not; else nil
	External bool   // what was released is kept elsewhere: the record is all that is written
}

// MaxRelease limits a stored release, in bytes.
const MaxRelease = 64 << 20

// Stored is a release that answers again.
type Stored struct {
	Key           Hash
	Reservation   int64
	Analyst       string // who paid
	Price         float64
	Loss          dp.Loss
	Made, Expires time.Time
	Payload       []byte
	Spool         *Spool // nil: the payload is all
	Bytes         int64  // that a listed one takes on disk
}
