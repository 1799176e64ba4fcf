package proxy

import (
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// kept is what a session keeps between messages: its statements, its portals and their answers, within the limits.
type kept struct {
	limits     *Options
	statements shelf[*statement] // "" is the unnamed one
	portals    shelf[*portal]
	active     *portal // the one that runs
	holding    int     // bytes of answers, as it last said
}

func newKept(limits *Options) kept {
	return kept{limits: limits, statements: newShelf[*statement](), portals: newShelf[*portal]()}
}

// keep refuses to hold so many bytes more.
func (k *kept) keep(bytes int) error {
	if held := k.statements.bytes + k.portals.bytes; held+bytes > k.limits.MaxStatementBytes {
		return sqlerr.New(sqlerr.SessionLimit, "the statements and portals of a session can hold about %d bytes; this one needs %d, %d are held",
			k.limits.MaxStatementBytes, bytes, held).WithHint("Close those that are not needed any more (DEALLOCATE), or send the statement by the simple protocol.")
	}
	return nil
}

// keepStatement gives a prepared statement its name.
func (k *kept) keepStatement(name string, st *statement) error {
	if _, taken := k.statements.get(name); taken && name != "" {
		return sqlerr.New(sqlerr.DuplicateStmt, "prepared statement \"%s\" already exists", name)
	}
	if len(k.statements.items) >= k.limits.MaxStatements {
		return sqlerr.New(sqlerr.SessionLimit, "a session can hold %d prepared statements", k.limits.MaxStatements).
			WithHint("Close those that are not needed any more (DEALLOCATE).")
	}
	st.bytes += len(name)
	st.made = time.Now()
	if err := k.keep(st.size()); err != nil {
		return err
	}
	k.statements.put(name, st)
	return nil
}

func (k *kept) findStatement(name string) (*statement, error) {
	if st, ok := k.statements.get(name); ok {
		return st, nil
	}
	if name == "" {
		return nil, sqlerr.New(sqlerr.InvalidStatement, "unnamed prepared statement does not exist")
	}
	return nil, sqlerr.New(sqlerr.InvalidStatement, "prepared statement \"%s\" does not exist", name)
}

// dropStatements forgets the named statements; the unnamed one is not DEALLOCATE's.
func (k *kept) dropStatements() {
	k.statements.dropIf(func(name string, _ *statement) bool { return name != "" })
}

func (k *kept) roomForPortal() error {
	if len(k.portals.items) < k.limits.MaxPortals {
		return nil
	}
	return sqlerr.New(sqlerr.SessionLimit, "a session can hold %d portals", k.limits.MaxPortals).WithHint("Close those that are not needed any more.")
}

func (k *kept) findPortal(name string) (*portal, error) {
	if p, ok := k.portals.get(name); ok {
		return p, nil
	}
	return nil, sqlerr.New(sqlerr.InvalidPortal, "portal \"%s\" does not exist", name)
}

// roomForAnswer refuses to run one statement more while the session's portals hold too much that was not read. Nothing is spent
// then. What is held is at most the limit and one answer.
func (k *kept) roomForAnswer() error {
	held := k.unread()
	if held < k.limits.MaxAnswerBytes {
		return nil
	}
	return sqlerr.New(sqlerr.SessionLimit, "the portals of this session hold about %d bytes of unread answers, the limit is %d", held, k.limits.MaxAnswerBytes).
		WithHint("Read them to the end or close them. Nothing was spent.")
}

// holdPortals keeps the cursors WITH HOLD of a transaction that went well.
func (k *kept) holdPortals() {
	for _, p := range k.portals.items {
		if p.hold {
			p.depth = held
		}
	}
}

// closePortals is CLOSE ALL, which leaves its own.
func (k *kept) closePortals() {
	k.portals.dropIf(func(_ string, p *portal) bool { return p != k.active })
}

// dropPortals forgets the portals made under more than depth savepoints; held means all of the transaction.
func (k *kept) dropPortals(depth int) {
	k.portals.dropIf(func(_ string, p *portal) bool { return p.depth > depth })
}

// unread is what the session's portals hold.
func (k *kept) unread() (bytes int) {
	for _, p := range k.portals.items {
		bytes += p.unread
	}
	return bytes
}
