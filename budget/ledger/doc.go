// Package ledger keeps what was spent of a data set's budget, durably and before the data is touched.
//
// A statement is reserved, then run, then each stage is committed with its release, or failed. A reservation checks
// all stages against the data set's filter and the quotas of the analyst and their roles. It is written and synced
// in one transaction. It counts as spent from the moment it is written, whatever becomes of it. Nothing is ever
// given back.
//
// Records are append-only, carry the events that were run as data, and are chained by their hashes. Balances are
// sums over them. A ledger that belongs to other people, or makes another promise, is refused. So is one whose
// records were changed: the error names the first broken record, and the file stays as it is. Checkpoints keep the
// sums so far, so that a start reads few records. Verify reads all.
//
// A budget may come back in calendar windows. Each window that was charged counts in full against a lifetime.
// Several data sets over the same people share one ledger and that lifetime. A file belongs to one process. A ledger
// in PostgreSQL is shared by several, each under a lease. An owner may grant budget, raise the promise, and move the
// ledger from one place to the other (move.go).
//
// Time is that of the records and never runs back, so a clock that is turned back reopens nothing. A mark beside the
// ledger shows that an older copy was put in its place. A mark of the data makes sure that one unit of one database
// has one ledger (datamark.go). A freeze stops an analyst, or everybody, until it is lifted. Too many resource
// failures in a window stop an analyst until the owner pardons them.
//
// # Spools
//
// A large release is stored in chunks, in a file NAME.ledger-spool/RESERVATION.spool. A shared ledger has them in
// rows of its table spool, so that every proxy can replay them. Each chunk is sealed with the cache's key and bound
// to the release, the reservation and its number. The COMMIT record has the number, length and hash of all chunks.
// File and folder are synced, or the rows committed, before that record is written.
//
// A replay checks the whole spool against the hash before its first row. A spool that is missing, cut or changed is
// a broken record (PV014). A spool is removed if no stored release has it and no open reservation may still write
// it. That happens at a start, and with the first charge after the release has expired. dpsql budget move takes
// spools along.
//
// # Files
//
// The files lie in groups. A file uses files of its own group and of the groups above it.
//
//	records: what is written, as data, and its codec
//	    hash errors window seal spool head payer events text charge kinds record
//	stores: SQLite's file and PostgreSQL's server, which keep records in one order, and spools and marks beside them
//	    disk format mark store spooldir file file_read durability server server_read spooltable place text_key datamark
//	state: the sum of the records, and what may follow them
//	    release account dataset held stored pile state state_releases lifetime stop fit balance accounts
//	    undo promise apply differs segment checkpoint chain
//	book: what is admitted, written in batches, answered and listed
//	    queue own book load expiry batch serving raise lookup inflight releases related write control
//	    charges history statements verify
//	ledgers: a book over each store, and the move from one to the other
//	    ledger link damage sqlite lease postgres post move move_file move_server move_spools
package ledger
