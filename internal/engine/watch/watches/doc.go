// Package watches keeps watches beside the ledger, each sealed by the key of statements' texts. What a watch
// compares with is in Secret, which no list has.
package watches
