// Package enginetest has what the tests of internal/engine and of internal/engine/prooftest share: databases with their
// policies and sessions, statements that are prepared and run, prints that are read without noise, and answers that are
// compared with PostgreSQL's. A test binary has one PostgreSQL, which Main ends. No product file may import it.
package enginetest
