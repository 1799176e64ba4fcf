// Package engine runs one statement from its text to its answer: bind, analyse, price, reserve, read, release,
// commit, finish. It is the only caller of the ledger. Start reading at statement.go: Prepare does what
// follows from the statement, the policy and the settings. Prepared.Run does the rest.
//
// # Packages
//
// Each package uses those before it. Packages answer, flow, price, release, quantile and finish come before them all.
//
//   - server: what all sessions share: Engine, its policy and schema, turns, and what the owner does to it.
//   - session: one connection's settings, errors and dpsql's own tables. File kind.go has what each statement keeps.
//   - stage: a private statement that is analysed, bounded and printed, and which stored releases tell of it.
//   - private: one execution of it, from the look-up of stored releases to the answer.
//   - catalog: statements over PostgreSQL's catalogs, statements for rows of people, and dp_predict.
//   - explain: EXPLAIN of a SELECT. That of TRAIN is in package model.
//   - model: TRAIN, EVALUATE and the statements about stored models.
//   - cube, watch, synthetic: CREATE DP CUBE, CREATE DP WATCH, and CREATE DP SYNTHETIC TABLE.
//   - engine: Prepare and Prepared, which choose the kind of a statement and run it. File rehearse.go prices statements
//     without running them.
//
// Package prooftest tests the proofs. Tests of one package are beside it, and those of whole statements here.
//
// # Locks and queues
//
// A statement takes what it needs in this order. It waits only for what comes later than what it holds, so there is
// no deadlock.
//
//  1. Locks of releases (Run.Lock). Statements of one analyst that ask for the same releases at one price
//     run one after the other. Others wait for the release itself, at its reservation (private.Run.AskOnce).
//     A statement takes the locks of all its stages in the order of their keys, and holds them until it is answered.
//     A stage that reads released inputs has no key before these exist. A statement under dpsql.fresh takes no lock,
//     because its releases are its own.
//  2. A turn to decode large stored releases, per analyst (Staged.Reading). A statement over synthetic rows takes one
//     turn per analyst, and then one of all analysts (Queues.Synthetic, Queues.AllSynthetic), and nothing else.
//  3. A turn at the database, per analyst (Session.Turn, limits.statements_at_once), in order of arrival. Then a
//     connection.
//  4. Memory for the pairs of rows of two units (flow.Memory). It is given back before the release is committed. A
//     statement waits while another one that holds memory does not wait. If all of them wait, one gives back what it
//     holds. It reads again in its snapshot when the others have ended, with nobody beside it (flow.Memory.Exclusive).
//  5. The ledger's queue of records, and the ledger's own lock, in the file or in PostgreSQL.
//
// Proxies lock nothing between them. The ledger decides reservations one after the other. It refuses a reservation
// whose release is being made, or was made meanwhile, and has written nothing then (ledger.InFlightError). Function
// Run.AskOnce gives back its turns and its connection, keeps the locks of item 1, waits until the other reservation
// is closed, and looks again. It does so ten times at most. After that the statement is charged beside the others. A
// statement that has a reservation waits for no other reservation.
//
// # Large releases
//
// A release above limits.spool_groups is on disk, and its answer is computed while it is sent (Stream). Package
// release says how it is made, package ledger how it is stored. Only a cursor that asks for SCROLL can go back, and
// it holds its rows. These statements need all groups in memory, up to limits.release_groups: order statistics,
// MODE, dp_top_k, numbers of distinct values, and totals of public groups whose bounds are chosen. A release on disk
// is not topped up. Only its own question finds it, so the same question at a higher price is a new release.
package engine
