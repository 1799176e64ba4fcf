//go:build race

package engine

// raced: statistics of hundreds of thousands of draws say nothing of races, and would take ten times as long.
const raced = true
