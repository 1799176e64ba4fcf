package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// The states of a charge. Each counts as spent.
const (
	StateReserved  = "reserved"  // its statement runs, or its answer is not durable yet
	StateCommitted = "committed" // answered
	StateFailed    = "failed"    // its statement ended without an answer
	StateCancelled = "cancelled" // its client left or cancelled it, or its server, which lived, gave it up
	StateRecovered = "recovered" // its server died before it ended, or was too slow
)

// OwnCharge is a charge as the analyst who paid it may see it.
type OwnCharge struct {
	Number     int64 // of this analyst's charges, from 1: not the record's, which counts those of others
	At         time.Time
	Window     time.Time // its start; zero in a budget without windows
	Statement  Hash
	State      string
	Price      float64
	Loss       dp.Loss
	Order      float64  // at which Loss.Renyi was taken: its window's
	Mechanisms []string // names of the events, each once
	Total      dp.Loss  // this analyst's in the window, up to this charge
	Text       string   // what was asked; "" where it cannot be read, or is no longer kept at hand

	Reservation int64 // the record: for who serves, never for an analyst

	sealed *SealedText
}

// ownMost is how many charges of each analyst are kept at hand: the last ones.
const ownMost = 10_000

// ownChunk is how many records are read before statements that wait get their turn.
const ownChunk = 500

// ownCharges knows the charges of the served data set by who paid them. They are read from the records when first asked for, then as the ledger grows.
type ownCharges struct {
	mu      sync.Mutex // one reads at a time; taken before io
	seq     int64      // of the last record that was read
	dataset string     // of the last opening: whose charges of versions 1 and 2 are
	by      map[string]*payer
	open    map[int64]openOwn // reserved, by record
}

// openOwn is a charge and the process that made it.
type openOwn struct {
	*OwnCharge
	owner string
}

// payer is one analyst's: charges are the last ownMost, or a few more.
type payer struct {
	charges []*OwnCharge
	number  int64
	window  time.Time
	total   dp.Loss

	withText []*OwnCharge // the latest with a text, which have bytes in all
	bytes    int
}

// ownRecord is what is read of a record: it was checked before it was counted.
type ownRecord struct {
	Time  time.Time `json:"time"`
	Owner string    `json:"owner"`
	Head  *struct {
		Dataset string `json:"dataset"`
	} `json:"head"`
	Opening *Opening `json:"opening"`
	Reserve *struct {
		Analyst   string  `json:"analyst"`
		Dataset   string  `json:"dataset"`
		Statement Hash    `json:"statement"`
		Price     float64 `json:"price"`
		Order     float64 `json:"order"`
		Loss      dp.Loss `json:"loss"`
		Events    []struct {
			Name string `json:"name"`
		} `json:"events"`
		Sealed *SealedText `json:"asked"`
	} `json:"reserve"`
	Commit *struct {
		Reservation int64 `json:"reservation"`
	} `json:"commit"`
	Fail     *Failure  `json:"fail"`
	Recovery *Recovery `json:"recovery"`
}

// add counts one record.
func (o *ownCharges) add(one row, head *Head) error {
	if sha256.Sum256(one.body) != one.hash || one.seq != o.seq+1 {
		return fmt.Errorf("its text does not have its hash, or its number %d does not follow", one.seq)
	}
	var r ownRecord
	if err := json.Unmarshal(one.body, &r); err != nil {
		return err
	}
	o.seq = one.seq
	switch {
	case r.Head != nil && o.dataset == "": // that of version 1, whose openings name none
		o.dataset = r.Head.Dataset
	case r.Opening != nil:
		if r.Opening.Dataset != "" {
			o.dataset = r.Opening.Dataset
		}
		o.end(StateRecovered, r.Opening.Recovered...)
	case r.Recovery != nil:
		for _, id := range r.Recovery.Reservations {
			state := StateRecovered
			if o.open[id].owner == r.Owner { // closed by the process that made it
				state = StateCancelled
			}
			o.end(state, id)
		}
	case r.Commit != nil:
		o.end(StateCommitted, r.Commit.Reservation)
	case r.Fail != nil:
		o.end(StateFailed, r.Fail.Reservation)
	case r.Reserve != nil:
		dataset := r.Reserve.Dataset
		if dataset == "" {
			dataset = o.dataset
		}
		if dataset != head.Dataset {
			return nil
		}
		c := &OwnCharge{At: r.Time, Window: windowAt(head.Window, r.Time).Start, Statement: r.Reserve.Statement, State: StateReserved, Price: r.Reserve.Price, Loss: r.Reserve.Loss, Order: r.Reserve.Order, Reservation: one.seq, sealed: r.Reserve.Sealed}
		for _, e := range r.Reserve.Events {
			if !slices.Contains(c.Mechanisms, e.Name) {
				c.Mechanisms = append(c.Mechanisms, e.Name)
			}
		}
		o.charged(r.Reserve.Analyst, r.Owner, c)
	}
	return nil
}

// charged adds an analyst's charge.
func (o *ownCharges) charged(analyst, owner string, c *OwnCharge) {
	if o.by == nil {
		o.by, o.open = map[string]*payer{}, map[int64]openOwn{}
	}
	p := o.by[analyst]
	if p == nil {
		p = &payer{}
		o.by[analyst] = p
	}
	if !p.window.Equal(c.Window) {
		p.window, p.total = c.Window, dp.Loss{}
	}
	p.number++
	p.total = p.total.Plus(c.Loss)
	c.Number, c.Total = p.number, p.total
	if p.charges = append(p.charges, c); len(p.charges) >= 2*ownMost {
		p.charges = slices.Clone(p.charges[len(p.charges)-ownMost:])
	}
	p.keepText(c)
	o.open[c.Reservation] = openOwn{c, owner}
}

// keepText keeps a charge's text at hand, in place of the oldest where there are too many.
func (p *payer) keepText(c *OwnCharge) {
	if c.sealed == nil {
		return
	}
	p.withText, p.bytes = append(p.withText, c), p.bytes+len(c.sealed.Text)
	for ; p.bytes > ownTextMost || len(p.withText) > ownMost; p.withText = p.withText[1:] {
		p.bytes -= len(p.withText[0].sealed.Text)
		p.withText[0].sealed = nil
	}
}

// end closes charges, if they are of this data set.
func (o *ownCharges) end(state string, records ...int64) {
	for _, id := range records {
		if c := o.open[id]; c.OwnCharge != nil {
			c.State = state
			delete(o.open, id)
		}
	}
}

// ownTextMost is how many bytes of texts are kept at hand for one analyst: the latest.
const ownTextMost = 16 << 20
