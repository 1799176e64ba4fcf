// Package stage analyses, bounds and prints a private statement, and finds which stored releases tell of it.
//
// # Stages
//
// A statement may have several releases. Each of them is a stage, which divide.Divide finds. A stage is
// analysed, bounded, printed, made and stored as if it had been asked alone, at its part of the price.
//
// # Joins off the unit
//
// boundJoins finds which bounds a statement may have: by measured frequencies, by declared ones, or both. Where
// both are possible the statement takes the one with the smaller expected error when it is asked. Earlier releases
// over the same joins count too (bounding_methods.go).
package stage
