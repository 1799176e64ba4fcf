package proxy

// transaction is PostgreSQL's state machine. There is nothing to commit: what rolls back is settings, what ends is portals.
type transaction struct {
	block    bool // between BEGIN and COMMIT
	broken   bool // the block failed
	implicit bool // a message's or a pipeline's own transaction
	queried  bool // a query was run in it
	begin    snapshot
	saves    []savepoint
	modes    map[string]string // transaction_isolation and the like, where they are not the session's
}

type savepoint struct {
	name string
	at   snapshot
}

// status is the byte of ReadyForQuery.
func (t *transaction) status() byte {
	switch {
	case t.broken:
		return 'E'
	case t.block:
		return 'T'
	}
	return 'I'
}

func (t *transaction) failed() bool { return t.broken }

func (t *transaction) setMode(name, value string) {
	next := map[string]string{name: value}
	for k, v := range t.modes {
		if k != name {
			next[k] = v
		}
	}
	t.modes = next
}
