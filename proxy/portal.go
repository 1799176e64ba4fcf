package proxy

import (
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// portal is a statement with its arguments, ready to run or running. It lives until its transaction ends. The answer is made
// at the first Execute, once, and later ones read on in it.
type portal struct {
	name      string
	statement *statement
	args      []sqltype.Value
	formats   []int16
	depth     int // how many savepoints were open when it was made
	made      time.Time

	rows   rowReader
	unread int  // about the answer's memory while there are rows to read
	broken bool // it failed, or it had no rows and is done

	// Of DECLARE.
	wound  bool // SCROLL was asked for
	hold   bool // it outlives its transaction
	binary bool

	bytes int // about its memory, the statement's with it, which may be closed meanwhile
}

func (p *portal) size() int { return p.bytes }

// gone gives the rest of its answer up.
func (p *portal) gone() { _ = p.rows.answer.Close() }

func argBytes(m *pgproto3.Bind) int {
	n := len(m.DestinationPortal) + 64
	for _, raw := range m.Parameters {
		n += len(raw) + 32
	}
	return n
}

// held is the depth of a cursor that outlived its transaction.
const held = -1
