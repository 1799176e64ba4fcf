package ledger

import (
	"encoding/binary"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// storedRef is a commit that may still answer.
type storedRef struct {
	seq           int64
	reservation   int64
	analyst       string
	price         float64
	loss          dp.Loss
	made, expires time.Time
	of            *dataset
	epoch         string
	payload       Hash
	sealed        string
	family        Hash
	spool         *SpoolRef
	bytes         int64 // on disk, with the spool's
}

// holder is whose it is, and ending what it takes until when.
func (r *storedRef) holder() holder { return holder{r.of.head.Dataset, r.analyst} }

func (r *storedRef) ending() ending { return ending{r.expires, r.seq, r.bytes} }

// familyWord is a release's family as a word, "" for none.
func (r *storedRef) familyWord() string {
	if r.family == (Hash{}) {
		return ""
	}
	return string(r.family[:])
}

// spoolWord is what names a release's spool as a word, "" for none.
func (r *storedRef) spoolWord() string {
	if r.spool == nil {
		return ""
	}
	text := binary.BigEndian.AppendUint64(nil, uint64(r.spool.Chunks))
	return string(append(binary.BigEndian.AppendUint64(text, uint64(r.spool.Bytes)), r.spool.Hash[:]...))
}

// keyedRef is a stored release with its key.
type keyedRef struct {
	key Hash
	storedRef
}
