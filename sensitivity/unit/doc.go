// Package unit links the scans of a body to one unit, and says how many rows a unit has.
//
// # Relations within a unit
//
// Derive makes tables of relations that compute within the rows of each unit (plan.Scan.Rows). They are aggregates,
// DISTINCT, windows (window.go), FULL JOINs (outer.go), LATERAL (lateral.go) and set operations. File subquery.go links
// the subqueries of conditions to the unit of the row around them. A relation inside a body is analysed by a Linker of
// its own.
//
// # Public tables that multiply rows
//
// File fanout.go multiplies the bound on a unit's rows by the number of rows of public tables that each of them
// meets. A plan.FrequencyReader reads that number.
//
// # Groups of one person
//
// File determine.go finds whether the grouping columns determine the unit, by keys and by declared ways to the unit.
// If they do, the unit's column is one more key of the printed statement.
//
// # Rows without a person
//
// Under rows_without_unit: own such a row is a unit of its own (plan.Table.OwnKey). File rowunits.go computes the
// unit's value. It is a text of the person's value, or of the table and key of the row at which the way to a person
// breaks. Under unit: coalesce(...) the first value of the columns comes before that, with its column's name
// (plan.Table.UnitElse).
//
// Body.Person is the stored column, for what the statement says about people. Body.UnitCol is the value by which
// prints bound a unit. Rows that are dropped for lack of a unit (Analysis.Lost), and groups of NULL that are not
// public (Analysis.NullGroups), are warnings.
//
// # Rows of two units
//
// A row may belong to one unit of each of several kinds, such as a customer and a supplier. Field plan.Table.Of has
// its table as rows of each kind, with that kind's way to the unit. File pairs.go links the scans of a statement
// once for each kind, so that condition (3) of divide.Analyze holds for both kinds. Body.UnitCol is 0 then, so no print
// for one unit accepts such an analysis.
package unit
