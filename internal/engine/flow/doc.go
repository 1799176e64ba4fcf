// Package flow bounds what rows of two units give. Such a row belongs to one unit of each of two kinds, such as a
// customer and a supplier. It is counted as far as a maximum flow between the kinds carries it, in which no unit
// passes more than a cap. The package works on secret weights. Nothing of it is printed.
//
// Memory is the memory that all statements of a proxy have for their graphs together (limits.flow_memory). Scores
// are what a cap is chosen by.
package flow
