// Package prooftest holds what the analysis claims against databases: printed statements are run with and without the rows
// of one unit, before noise. Each claim has planted bugs that its test must find. Its tests have one PostgreSQL, and
// databases of DuckDB in memory. The unit tests of the analysis lie beside its packages.
package prooftest
