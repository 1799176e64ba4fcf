package ledger

import (
	"crypto/sha256"
	"fmt"
	"iter"
)

// readRow reads a record that follows those so far.
func readRow(one row, st *state) (*Record, error) {
	if sha256.Sum256(one.body) != one.hash {
		return nil, fmt.Errorf("its text does not have its hash")
	}
	r, err := decodeRecord(one.body)
	if err != nil {
		return nil, err
	}
	if one.seq != r.Seq {
		return nil, fmt.Errorf("number %d stands in place %d", r.Seq, one.seq)
	}
	return r, st.check(r)
}

// readChain checks each record against those before it, adds it to st and then yields it. The first that does not hold ends the sequence with a
// *CorruptError.
func readChain(rows iter.Seq2[row, error], st *state) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for one, err := range rows {
			if err != nil {
				yield(nil, broken(st.seq+1, err))
				return
			}
			r, err := readRow(one, st)
			if err != nil {
				yield(nil, &CorruptError{Seq: st.seq + 1, Reason: err.Error()})
				return
			}
			st.add(r, one.hash)
			if !yield(r, nil) {
				return
			}
		}
	}
}
