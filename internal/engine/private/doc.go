// Package private runs a private statement, from the look-up of stored releases to the answer. Start at private.go.
//
// Function Run.ask runs the stages together. It reserves them in one transaction of the ledger, reads them in one
// snapshot, confirms the schema, commits the releases and finishes the answer.
//
// The design (section 3) commits each release before the next stage reads it. Package private commits all of them at
// once, after the snapshot is confirmed, which ends the snapshot. No release is shown or stored before that. If the
// process dies earlier, the charges stay, and nobody has seen a release.
//
// # Public tables
//
// Public rows beside the releases are read in the statement's snapshot. How often public tables multiply a person's
// rows is held for 5 seconds and read again in the snapshot, before the charge. A statement whose public tables have
// grown since is analysed again (Run.checkMultiplicities).
//
// # Order statistics
//
// The first scan selects groups and chooses bounds, as for a count. A second scan in the same snapshot reads the
// leaves of the trees. It keeps of each unit the rows and groups that the bounds allow (trees.go).
package private
