// Package describe writes what an analysis says as the lines of EXPLAIN.
package describe
