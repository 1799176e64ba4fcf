package ledger

import (
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// Opening is written whenever a process takes the ledger to serve a data set. Reservations that it found outstanding are
// recovered: they were charged, may have read the data, and will never be closed in another way. One that shares the ledger with others
// recovers nothing: those it finds may be of processes that run.
type Opening struct {
	Dataset   string  `json:"dataset,omitempty"` // "" in version 1: the only one
	Epoch     string  `json:"epoch"`
	Recovered []int64 `json:"recovered,omitempty"`
	Shared    bool    `json:"shared,omitempty"`
	Unmarked  bool    `json:"unmarked,omitempty"` // no mark lay beside the ledger: nothing but its owner's word says that it is the newest
}

// Recovery closes reservations whose owner's lease has ended: it died, or was too slow and will find them closed; or whose client left. They stay charged.
type Recovery struct {
	Reservations []int64 `json:"reservations"`
}

// Commit closes a reservation. The release lies beside the records until it expires; its hash stays in the chain.
type Commit struct {
	Reservation int64     `json:"reservation"`
	Key         Hash      `json:"key"`
	Bytes       int       `json:"bytes"`            // of what is stored
	Payload     Hash      `json:"payload"`          // of what is stored
	Sealed      string    `json:"sealed,omitempty"` // names the key that it is encrypted with
	Spool       *SpoolRef `json:"spool,omitempty"`  // of a release of many groups what lies in a spool
	Expires     time.Time `json:"expires"`          // = the record's time: never stored
	Family      Hash      `json:"family,omitzero"`  // of releases from which other questions may be computed
}

// Failure closes a reservation that ran into a resource failure.
type Failure struct {
	Reservation int64  `json:"reservation"`
	Class       string `json:"class"`
}

// Epoch is a reload under another policy text.
type Epoch struct {
	Epoch   string `json:"epoch"`
	Dataset string `json:"dataset,omitempty"` // "" before version 3: the last opening's
}

// Freeze stops an analyst, or everybody, or lifts that.
type Freeze struct {
	Analyst string `json:"analyst"` // "": everybody
	On      bool   `json:"on"`
	By      string `json:"by"`
}

// Pardon forgets an analyst's resource failures, or everybody's, in all data sets: the owner has looked.
type Pardon struct {
	Analyst string `json:"analyst"` // "": everybody
	By      string `json:"by"`
}

// Grant gives an analyst, or a role, more of the data set's total in the window of its record: the total stays what it is, and what one may spend beyond the own quota
// others cannot spend any more. Quotas are no promise, so a grant is none.
type Grant struct {
	Dataset string  `json:"dataset"`
	Analyst string  `json:"analyst"` // "": a role
	Epsilon float64 `json:"epsilon"` // with the same share of the Renyi room and of the deltas
	By      string  `json:"by"`
	Reason  string  `json:"reason"`
	Role    string  `json:"role,omitempty"`
}

// to is who it is for.
func (g *Grant) to() payee {
	if g.Role != "" {
		return payee{true, g.Role}
	}
	return payee{name: g.Analyst}
}

// Promise is a new, larger total of a data set, from the window of its record on; or a longer lifetime, of all data sets. What was promised before was larger
// than it is now for nobody.
type Promise struct {
	Dataset  string         `json:"dataset"`
	Filter   *budget.Filter `json:"filter"`
	Lifetime *Lifetime      `json:"lifetime,omitempty"`
	By       string         `json:"by"`
	Reason   string         `json:"reason"`
}

// Fit is the filter of a window that begins: of the same promise as the one before, at the order that the policy in force asks for. It is written in the batch of the window's first charge, before that, and only where the
// filter is another than the one before. It stays in force until another one comes, or a larger promise.
type Fit struct {
	Dataset string         `json:"dataset"`
	Filter  *budget.Filter `json:"filter"`
}

// Checkpoint names the sums of all records before it, so that a start need not read them: they lie beside the records, and their hash is in the chain. What they say is
// recomputed from the records, and compared, by Verify, as every balance is; a start believes them as far as the chain that it reads, which begins with the checkpoint.
type Checkpoint struct {
	Sums   Hash     `json:"sums"`
	Bytes  int      `json:"bytes"`
	Stored *Segment `json:"stored,omitempty"` // releases stored since the last one; nil: none
}

// Segment names where stored releases are found that were committed between two checkpoints: their keys and terms, beside the records, written once. So what a checkpoint
// writes grows with what is new, not with all that is stored.
type Segment struct {
	Hash  Hash      `json:"hash"`
	Bytes int       `json:"bytes"`
	Until time.Time `json:"until"` // when its last release has expired
}

func (s Segment) isSame(t Segment) bool {
	return s.Hash == t.Hash && s.Bytes == t.Bytes && s.Until.Equal(t.Until)
}

// Departure ends a ledger's records in one place.
type Departure struct {
	ID string `json:"id"` // of the move
	To string `json:"to"`
	By string `json:"by"`
}

func (d *Departure) err() error {
	return fmt.Errorf("%w to %s, where it goes on: set ledger in the policy to that. (If the move was cut, dpsql budget move finishes it.)", ErrMoved, d.To)
}

// Arrival goes on with a ledger in another place.
type Arrival struct {
	ID   string `json:"id"`
	From string `json:"from"`
	By   string `json:"by"`
}
