// Package answer has what a statement is answered with: columns, rows that memory holds or that are asked for one by
// one, and the report of EXPLAIN. It knows neither statements nor releases.
package answer
