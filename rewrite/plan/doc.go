// Package plan holds the bound plan: names are resolved, types are those that PostgreSQL gives, and each column has
// one id. The package also has the binder, which makes the plan from the syntax tree. It knows neither privacy nor
// backends. It defines the catalog that it needs.
//
// The binder plans SELECTs of every shape, also those that package sensitivity refuses later (shapes.go). A query of
// WITH becomes a derived table under another name, bound anew for each reader.
//
// # Statements over the catalogs
//
// A statement is bound with a Meta beside it if it reads PostgreSQL's catalogs, or calls a function that only they
// have, and reads no table of the data. It may then use functions of the catalogs, functions that return rows,
// recursive queries, and casts from any text. A statement over data may use none of these.
//
// # Intervals
//
// Intervals makes the interval of an expression over columns that have one. IntervalColumns finds or makes these
// columns in a plan, for dp_low of derived columns and for computed output columns. File interval_noise.go takes the
// noise of sums, differences, quotients and totals together. File share.go finds a count that
// is divided by a count of which it is a part. The value and its interval are then cut to the range of a share.
//
// # Predictions over arrays
//
// Package mlext writes a call of dp_scores, with all coefficients as one text. No statement can write that call: the
// binder knows it only in texts that OwnScores has marked. The plan holds a hash of the coefficients, so a stored
// answer belongs to them.
package plan
