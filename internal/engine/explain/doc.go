// Package explain answers EXPLAIN of any statement.
package explain
