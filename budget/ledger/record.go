package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

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
