// Package reuse says which statements share a release, by their canonical text, and what a stored release says of
// another statement.
package reuse
