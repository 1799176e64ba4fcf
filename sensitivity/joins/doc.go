// Package joins bounds joins of different people's rows, where the policy allows them.
//
// Files joined.go and joinbody.go bring such rows into leaves with one unit's rows each, capped by plan.Capped. Package
// elastic makes a formula of the tree of equalities. The formula's frequencies have two possible sources:
//
//   - A first scan measures them. Their smooth bound is released as an edge of a Choice.
//   - The policy declares them, and the print enforces them (truncate.go). The bound is then a number.
//
// File weighted.go is for the rows of two tables that are only counted: by key exactly, or by the weights of wPINQ.
package joins
