// Package oracle holds tests only: it compares rewrite/pgsyntax with PostgreSQL's own parser (pg_query_go, whose C code takes a
// minute to build, hence a module of its own). For every statement that pgsyntax reads, PostgreSQL's tree of the text equals its
// tree of the print of ours; what PostgreSQL refuses is refused. Run by make test-long.
package oracle
