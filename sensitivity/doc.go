// Package sensitivity turns a bound plan into what may be measured of it. It finds the unit, how far one unit can
// change each measure, which groups are public, and what must be refused. It knows neither noise nor backends. All
// that it derives follows from the plan and the policy, never from private rows.
//
// # Passes
//
// A statement is analysed in passes. Each file lies in one of them, and uses what lies in its own pass or in one before
// it. TestPasses in internal/rooms has the list of files. Package relation comes before them: what follows from a plan
// alone. From the first pass to the last:
//
//   - results: what an analysis says, from Analysis to Measure and Formula.
//   - scope: the scans, conditions and computed columns of a body.
//   - interval: which values expressions have: intervals, grids, NULL and NaN.
//   - unit: the unit of each row, derived tables and subqueries, and how many rows a unit has.
//   - joins: rows that are joined off the unit.
//   - groups: which groups are answered, and in how many of them a unit may be.
//   - claims: what is measured, and how far one unit can change it.
//   - reuse: which statements share a release, and what a release says of another statement.
//   - explain: the lines of EXPLAIN.
//   - divide: which aggregates of a statement are released. File analyzer.go calls the other passes in order.
//
// The passes from scope on each have a struct, which embeds that of the pass before: scope, intervals, linker, grouper,
// measurer and analyzer. A relation inside a body is analysed by a linker of its own.
//
// # Which aggregates are released
//
// Divide looks for the aggregates whose private rows have not passed an aggregate over many units. These are
// released. All that stands above them is finishing, which package eval computes over releases, public relations and
// literals. Finishing may have any shape. A grouping set is a release of its own. If a release reads another
// release, that one is its input (inputs.go): a parameter, or rows as one array a column.
//
// File inner.go says which inner groups are released with noise before an outer aggregate reads them. That is a
// warning.
//
// What may stand below a release is filters, projections, joins, tables, anything public, and relations that
// derive.go makes into tables (plan.Scan.Rows). Such relations compute within the rows of each unit. They are
// aggregates, DISTINCT, windows (window.go), FULL JOINs (outer.go), LATERAL (lateral.go) and set operations. File
// subquery.go links the subqueries of conditions to the unit of the row around them.
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
// # Joined rows
//
// Private tables may be joined off the unit where the policy allows it. Files joined.go and joinbody.go bring them
// into leaves with one unit's rows each, capped by plan.Capped. Package elastic makes a formula of the tree of
// equalities. The formula's frequencies have two possible sources:
//
//   - A first scan measures them. Their smooth bound is released as an edge of a Choice.
//   - The policy declares them, and the print enforces them (truncate.go). The bound is then a number.
//
// File weighted.go is for the rows of two tables that are only counted: by key exactly, or by the weights of wPINQ.
//
// # Automatic bounds
//
// Where no bound is declared a measure has a Choice among candidate bounds, called edges (choice.go). A filtered
// measure may follow the choice of the same measure over all rows (follow.go). File sign.go finds values that are
// never negative. Only the upper end of their sum's interval allows for lost mass.
//
// # Rows of two units
//
// A row may belong to one unit of each of several kinds, such as a customer and a supplier. Field plan.Table.Of has
// its table as rows of each kind, with that kind's way to the unit. File pairs.go links the scans of a statement
// once for each kind, so that condition (3) of the proof holds for both kinds. Body.UnitCol is 0 then, so no print
// for one unit accepts such an analysis.
//
// # Order statistics
//
// File order_statistics.go shapes a tree of counts over the range of the values (Measure.Tree). MIN and MAX count each
// person by the person's own extreme value (Tree.Own), so they need no bound on rows. Without a declared range the tree
// covers the whole type, and its leaves widen with the value (opentree.go). The rank of such an answer is known, its
// distance is not. MODE and dp_top_k (pick.go) read candidates in place of leaves.
//
// # Lost mass
//
// File lost.go says which measures may lose something by a chosen bound or a cap, and how far one unit can move the
// number that estimates it.
package sensitivity
