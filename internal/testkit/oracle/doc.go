// Package oracle asks PostgreSQL's own parser (pg_query_go, whose C code takes minutes to build, hence a module of its own) about
// rewrite/pgsyntax. For every statement that pgsyntax reads, PostgreSQL's tree of the text equals its tree of the print of ours; what
// PostgreSQL refuses is refused. Its tests are run by make test-long. Its folder corpus is the runner behind make corpus.
package oracle
