// Package claims says what is measured, and how far one unit can change each measure.
//
// # Aggregates
//
// File aggregates.go says of each aggregate what is measured: add one there. A statistic of moments has a row in
// moments.go instead, and one of order is in order_statistics.go.
//
// # Automatic bounds
//
// Where no bound is declared a measure has a Choice among candidate bounds, called edges (choice.go). A filtered
// measure may follow the choice of the same measure over all rows (follow.go).
//
// # Order statistics
//
// File order_statistics.go shapes a tree of counts over the range of the values (Measure.Tree). MIN and MAX count each
// person by the person's own extreme value (Tree.Own), so they need no bound on rows. Without a declared range the tree
// covers the whole type, and its leaves widen with the value (opentree.go). The rank of such an answer is known, its
// distance is not. MODE and dp_top_k (pick.go) read candidates in place of leaves.
package claims
