// Package scope reads what a body of a statement is made of: its scans, the blocks in which conditions hold, and its
// computed columns. The passes after it embed Scope, each that of the pass before.
package scope
