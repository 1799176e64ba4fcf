// Package watch has the statements about watches, and the looks of a server. A watch is a count that is looked at
// again and again for one price. Start at watch.go.
package watch
