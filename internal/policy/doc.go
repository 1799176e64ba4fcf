// Package policy reads the owner's policy file (design section 2), checks it against the live schema and publishes from it
// the catalog that each analyst sees. Every mistake of a file is reported at once, with line and column; what is not known,
// not built yet, missing or out of range is an error, never read and ignored.
//
// Start at parse.go, which reads the keys; those of budget and query are in budget.go, of tables in tables.go, of limits in
// limits.go. Files bind*.go compare what was read with the schema, and catalogs.go makes
// the analysts' catalogs of it.
package policy
