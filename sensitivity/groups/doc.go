// Package groups says which groups are answered, and in how many of them a unit may be. Groups are public by
// literals, declared values, public tables and conditions on them (prune.go), or they are selected with noise.
package groups
