package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Charges last only while the server syncs what is committed. An administrator may turn that off by a reload, at any time and for sessions that are open.
//
// Proof: claim: what write calls durable survives a crash of the server. (1) synchronous_commit is set by each session and by each transaction: what a session set, a reload does not change.
// (2) fsync and full_page_writes, which are the server's alone, are read within each transaction. (3) They are read again after its COMMIT: the process that has synced it had them on before and after.
// Not seen: both turned off and on again between (2) and (3).

// settings are what (1) sets and (2) reads. The format's %t: for the transaction alone.
const settings = "current_setting('fsync'), current_setting('full_page_writes'), " +
	"set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, %t)"

// durability is what a session answers to settings.
type durability struct{ fsync, pages, commit string }

// check refuses a server that may forget what it committed.
func (d durability) check() error {
	if d.fsync == "on" && d.pages == "on" {
		return nil
	}
	return fmt.Errorf("%w: the server runs with fsync %s and full_page_writes %s, so a crash may lose charges. Set both on there", ErrNotDurable, d.fsync, d.pages)
}

// durable makes a COMMIT of a session return only when it is on disk, there and on synchronous standbys where there are some.
func (s *server) durable(ctx context.Context, c *pgx.Conn) error {
	var (
		found   durability
		standby bool
	)
	if err := c.QueryRow(ctx, "SELECT "+fmt.Sprintf(settings, false)+", pg_is_in_recovery()").Scan(&found.fsync, &found.pages, &found.commit, &standby); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := found.check(); err != nil {
		return err
	}
	if standby {
		return fmt.Errorf("%w: the server is a standby", ErrUnavailable)
	}
	_, err := c.Exec(ctx, fmt.Sprintf("SET idle_in_transaction_session_timeout = %d; SET lock_timeout = %d; SET statement_timeout = 0", s.idle.Milliseconds(), oneCall.Milliseconds()/2))
	return readFailed(err)
}
