// Package explain writes what an analysis says as the lines of EXPLAIN.
package explain
