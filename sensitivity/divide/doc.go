// Package divide analyses a statement. Divide finds which of its aggregates are released, and Program.Analyze what may
// be measured of each. File analyzer.go calls the passes in order.
//
// # Which aggregates are released
//
// Divide looks for the aggregates whose private rows have not passed an aggregate over many units. These are
// released. All that stands above them is finishing, which package eval computes over releases, public relations and
// literals. Finishing may have any shape. A grouping set is a release of its own. If a release reads another
// release, that one is its input (inputs.go): a parameter, or rows as one array a column.
//
// File inner.go says which inner groups are released with noise before an outer aggregate reads them. That is a
// warning.
//
// What may stand below a release is filters, projections, joins, tables, anything public, and relations that
// package unit derives.
package divide
