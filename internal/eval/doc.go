// Package eval computes bound expressions and relational plans of every shape over typed rows, with PostgreSQL's
// rules for NULL, order and numbers. It serves the finishing of released values and the catalogs. Text is ordered by
// its bytes (collation C). What it lacks is refused as sqlerr.Unsupported, by Check, before anything has run. It
// keeps the rows that it is given as they are, and may share them with what it returns.
//
// # Aggregates
//
// File accumulate.go finds an aggregate by its name: add one there. Statistics of moments are in statistics.go, order
// statistics in ordered.go. One that is in none of them is not evaluated here, and Check says so.
//
// # Rows that come one by one
//
// The answer to a large release is computed as it is sent (stream.go). Filters, expressions and LIMIT work row by
// row. ORDER BY sorts on disk, and aggregates hold their groups. Joins, windows, UNION, DISTINCT of many rows, and
// finishing by the database need many rows at once. They hold them up to limits.finishing_memory, and are refused
// above it. The release is stored by then and answers other questions free.
package eval
