// Package release turns secret totals into released integers: it selects the groups, chooses the bounds, adds the
// noise, and keeps nothing else. It is the only place where the secret rows of a private statement are opened.
//
// # Chosen bounds
//
// Where bounds are chosen the backend returns buckets in place of totals. The Releaser chooses a bound and reads the
// totals off the buckets (chosen.go). File scale.go does so for the bound of joined rows. ReadLost adds noise to
// what people lose by the chosen bounds.
//
// # Order statistics
//
// ReadTree draws the noise of a tree's node when package quantile first looks at it. It keeps the blocks of nodes
// that were looked at. Package finish reads these again, in the same way.
//
// # Rows of two units
//
// File flow.go makes a graph of each group's pairs of rows. One list of edges serves all measures of a group, within
// limits.flow_memory (package flow). The graph's scores are what noise.BoundSelector chooses a cap by. The released values
// are the flows at that cap.
//
// # Large releases
//
// A release of more than limits.spool_groups groups is never in memory (many.go). Its rows are selected and get
// their noise one by one, as the backend streams them. The released groups are sorted on disk by package spool, so
// the order of the scan is lost before anybody reads them. A second row of a group is still noticed. Groups of a
// public domain get their noise as their rows come. Those without rows get it at the end. All of them are sorted by
// their place in the domain. After the snapshot is confirmed they go to the ledger's spool (ledger.Spool).
package release
