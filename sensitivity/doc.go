// Package sensitivity says what may be measured of a statement: an Analysis, with its Measures, Groups and Formulas. The
// packages below it derive that from a bound plan, or refuse the statement. They find the unit, how far one unit can
// change each measure, and which groups are public. They know neither noise nor backends. All that they derive follows
// from the plan and the policy, never from private rows.
//
// # Passes
//
// A statement is analysed in passes. Each is a package, which imports this one and may import passes before it:
//
//   - scope: the scans, conditions and computed columns of a body.
//   - interval: which values expressions have: intervals, grids, NULL and NaN.
//   - unit: the unit of each row, derived tables and subqueries, and how many rows a unit has.
//   - joins: rows that are joined off the unit. It works on a unit.Linker.
//   - groups: which groups are answered, and in how many of them a unit may be.
//   - claims: what is measured, and how far one unit can change it.
//   - reuse: which statements share a release, and what a release says of another statement.
//   - divide: which aggregates of a statement are released. It calls the other passes in order.
//   - describe: the lines of EXPLAIN, which the engine asks for.
//   - prooftest: tests that hold claims against databases, with and without one unit.
//
// Packages relation and elastic come below this one. Relation says what follows from a plan alone. Elastic bounds how
// many joined rows one unit changes.
//
// Each of these structs embeds the one before: scope.Scope, interval.Intervals, unit.Linker, groups.Grouper and
// claims.Measurer.
//
// # Lost mass
//
// File lost.go says which measures may lose something by a chosen bound or a cap, and how far one unit can move the
// number that estimates it.
package sensitivity
