package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Hash is a SHA-256, written in hex.
type Hash [sha256.Size]byte

// MarshalText writes hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads exactly what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("ledger: %q is not a SHA-256 in hex", text)
	}
	copy(h[:], raw)
	return nil
}

// version is that of the records which this program writes. A ledger of any format from oldestFormat on may begin with records of every
// version, since a format is raised without rewriting a record. So these meanings of older records stay:
//   - version 1: an opening is of the only data set;
//   - versions 1 and 2: charges and epochs are of the last opening's data set, and charges name no epoch;
//   - versions 1 to 3: a charge's quota is a share of the data set's;
//   - versions 1 to 4: resource failures stop nobody.
const version = 6

// Record is one entry of the ledger. Exactly one of Head to Pardon is set.
type Record struct {
	Version  int       `json:"version"`
	Seq      int64     `json:"seq"`      // from 1, without gaps
	Previous Hash      `json:"previous"` // of the record before; zero in the first
	Time     time.Time `json:"time"`     // never before the record before
	Owner    string    `json:"owner"`    // the process that wrote it
	Head     *Head     `json:"head,omitempty"`
	Opening  *Opening  `json:"opening,omitempty"`
	Reserve  *Charge   `json:"reserve,omitempty"`
	Commit   *Commit   `json:"commit,omitempty"`
	Fail     *Failure  `json:"fail,omitempty"`
	Epoch    *Epoch    `json:"epoch,omitempty"`
	Freeze   *Freeze   `json:"freeze,omitempty"`
	Recovery *Recovery `json:"recovery,omitempty"`
	Grant    *Grant    `json:"grant,omitempty"`
	Promise  *Promise  `json:"promise,omitempty"`
	Fit      *Fit      `json:"fit,omitempty"`

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Departure  *Departure  `json:"departure,omitempty"`
	Arrival    *Arrival    `json:"arrival,omitempty"`
	Pardon     *Pardon     `json:"pardon,omitempty"`
}

// kinds is how many are set.
func (r *Record) kinds() int {
	n := 0
	for _, set := range []bool{r.Head != nil, r.Opening != nil, r.Reserve != nil, r.Commit != nil, r.Fail != nil, r.Epoch != nil, r.Freeze != nil, r.Recovery != nil, r.Grant != nil, r.Promise != nil, r.Fit != nil,
		r.Checkpoint != nil, r.Departure != nil, r.Arrival != nil, r.Pardon != nil} {
		if set {
			n++
		}
	}
	return n
}

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

// Charge is a reservation in its unit of account: the price tag and the order at which the loss was taken; and whose it is.
type Charge struct {
	Reservation
	Order   float64 `json:"order"`
	Dataset string  `json:"dataset,omitempty"` // "" before version 3: the last opening's
	Epoch   string  `json:"epoch,omitempty"`   // "" before version 3: the data set's

	Sealed *SealedText `json:"asked,omitempty"` // the statement's text; nil: none
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

// encode gives the bytes that are stored and hashed.
func (r *Record) encode() ([]byte, Hash, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, Hash{}, fmt.Errorf("ledger: %w", err)
	}
	return body, sha256.Sum256(body), nil
}

func decodeRecord(body []byte) (*Record, error) {
	var r Record
	if err := strict(body, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// strict refuses fields that this version does not know.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more after the end")
	}
	return nil
}

// Events are events as data: a list of {"name", "event"}.
type Events []dp.Event

type namedEvent struct {
	Name  string          `json:"name"`
	Event json.RawMessage `json:"event"`
}

// eventTypes has the type of each event that a ledger can hold, by its name.
var eventTypes = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range dp.Events() {
		types[e.Name()] = reflect.TypeOf(e)
	}
	return types
}()

// readEvent reads a valid event of a name.
func readEvent(name string, text []byte) (dp.Event, error) {
	t := eventTypes[name]
	if t == nil {
		return nil, fmt.Errorf("ledger: event %q is not one that a ledger holds", name)
	}
	into := reflect.New(t)
	if err := strict(text, into.Interface()); err != nil {
		return nil, err
	}
	e := into.Elem().Interface().(dp.Event)
	return e, e.Validate()
}

// MarshalJSON writes events that can be read back, and refuses others.
func (es Events) MarshalJSON() ([]byte, error) {
	out := make([]namedEvent, len(es))
	for i, e := range es {
		if e == nil {
			return nil, errors.New("ledger: no event")
		}
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if _, err := readEvent(e.Name(), text); err != nil {
			return nil, err
		}
		out[i] = namedEvent{e.Name(), text}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads valid, known events.
func (es *Events) UnmarshalJSON(text []byte) error {
	var in []namedEvent
	if err := strict(text, &in); err != nil {
		return err
	}
	out := make(Events, len(in))
	for i, e := range in {
		var err error
		if out[i], err = readEvent(e.Name, e.Event); err != nil {
			return err
		}
	}
	*es = out
	return nil
}
