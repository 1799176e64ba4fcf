package ledger

import (
	"crypto/sha256"
	"errors"
	"iter"
)

// store keeps records in one order, durably, and releases beside them. It is used by one goroutine at a time.
type store interface {
	// begin opens a transaction and gives the records that others wrote since the last one known. With lock nobody else writes before it
	// ends. An error has written nothing.
	begin(known waterline, lock bool) ([]row, error)
	// write adds to the transaction and makes it durable. After an error that is errUncertain it may have happened all the same, after any
	// other it has not. The transaction is over either way.
	write(change) error
	// end gives up a transaction that wrote nothing.
	end()
	// payload reads a stored release within a transaction; nil if there is none.
	payload(seq int64) ([]byte, error)
	// chain reads all records after one; sums the last checkpoint's record and its sums; segment what lies beside a checkpoint; releases the numbers, sizes and hashes
	// of all stored releases, of those at least that came with the records up to head.
	chain(after int64) iter.Seq2[row, error]
	// span reads those after one, up to another.
	span(after, to int64) iter.Seq2[row, error]
	sums() (at row, text []byte, ok bool, err error)
	segment(seq int64) ([]byte, error)
	releases() (out map[int64]fingerprint, head int64, err error)
	// sizes are those of all stored releases, without reading them.
	sizes() (map[int64]int64, error)
	// sound asks the store itself whether it is damaged.
	sound() error
	// shared says that other processes write too: then errUncertain is resolved by reading again, and what is known may be old.
	shared() bool
	close() error
}

// row is a record as it is stored.
type row struct {
	seq  int64
	body []byte
	hash Hash
}

// change is what one transaction adds and drops.
type change struct {
	rows     []row
	releases []storedPayload
	gone     []int64
	sums     *sumsChange // of a checkpoint among the rows
}

// bytes are about how many a write takes: in the log, and from there in the file.
func (c *change) bytes() (n int64) {
	for _, r := range c.rows {
		n += int64(len(r.body))
	}
	for _, r := range c.releases {
		n += int64(len(r.payload))
	}
	if c.sums != nil {
		n += int64(len(c.sums.text) + len(c.sums.segment))
	}
	return 2 * n
}

// sumsChange is what lies beside a checkpoint's record, in place of the last one's sums; gone are segments that nobody needs any more.
type sumsChange struct {
	seq     int64
	text    []byte
	segment []byte // nil: none
	gone    []int64
}

type storedPayload struct {
	seq     int64
	payload []byte
}

// fingerprint is what a stored payload is.
type fingerprint struct {
	bytes int
	hash  Hash
}

func printOf(body []byte) fingerprint { return fingerprint{len(body), sha256.Sum256(body)} }

// errUncertain is a transaction of which nobody knows whether it is durable.
var errUncertain = errors.New("ledger: it is not known whether the last write is durable")

// errMark is a mark that could not be moved: what it should name is durable.
var errMark = errors.New("ledger: the mark beside the file cannot be moved")
