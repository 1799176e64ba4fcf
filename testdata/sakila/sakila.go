// Package sakila embeds the Sakila sample database (fictional people; see SOURCE.md for origin and licence) for tests and the
// quickstart. It holds no logic.
package sakila

import "embed"

// FS holds schema.sql, the gzipped CSV file of each table, and keys.sql, in that order of use.
//
//go:embed *.csv.gz schema.sql keys.sql
var FS embed.FS

// Tables are in an order in which each can be loaded.
var Tables = []string{"country", "city", "address", "language", "actor", "category", "film", "film_actor", "film_category", "staff", "store", "customer", "inventory", "rental", "payment"}
