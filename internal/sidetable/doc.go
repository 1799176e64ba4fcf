// Package sidetable keeps one table beside a budget's ledger: in a SQLite file of its own, or in the PostgreSQL
// ledger's schema, where all proxies see it.
package sidetable
