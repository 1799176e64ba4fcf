// Package pgmeta is the published catalog in the form of PostgreSQL's own catalogs. It has the relations of
// pg_catalog and information_schema with PostgreSQL 15's columns. In them is what PostgreSQL itself has (catalog.gz,
// written by gen), and rows for the tables that one analyst may see. Nothing in it comes from the database behind
// the proxy: sizes are those of empty tables, estimates are -1.
//
// Views are bound from PostgreSQL's own definitions. Conditions are moved to the relations that they are about, and
// package eval computes the statement.
package pgmeta
