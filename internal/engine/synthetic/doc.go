// Package synthetic answers CREATE DP SYNTHETIC TABLE and the statements about stored synthetic tables.
package synthetic
