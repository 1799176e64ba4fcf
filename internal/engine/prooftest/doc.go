// Package prooftest holds the engine to its proofs. Its tests compare neighbouring databases, compare answers without
// noise with PostgreSQL's, compute privacy losses, generate statements, and attack. Each has planted bugs that it must
// find. Tests of what a statement says and does are in package engine. What both use is in internal/testkit/enginetest.
package prooftest
