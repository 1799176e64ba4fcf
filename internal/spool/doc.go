// Package spool sorts more items than memory should hold. It is an external merge sort over a file without a name.
// The file's blocks are sealed with a key that is in memory alone and dies with the process. No other process, and
// no later one, can read them.
package spool
