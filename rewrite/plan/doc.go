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
// # Aggregates
//
// File aggregates.go has a row for each aggregate that is answered over private rows: add one there. File bind_own.go
// binds those of dpsql alone. File bind_agg.go binds the calls of all.
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
//
// # Files
//
// The files lie in groups. A file uses files of its own group and of the groups above it.
//
//	tree: the nodes of a plan, the catalog, and walks over a plan
//	    quote aggregates names catalog plan short shapes tuple meta capped places mapparts walk walked notnull noisy reads
//	texts: a plan as a text for people, and as one that equal plans share
//	    canonical nested normal normal_conditions readable over
//	values: constants and rows that are put into a plan
//	    listed listed_rows direct conditions
//	intervals: the intervals of expressions
//	    interval interval_noise share interval_columns order_of_hidden without_noise
//	binder: what the binder holds, and how it finds columns, types, functions and casts
//	    types binder selecting scope styled find coerce common poly typename resolve bind_expr
//	calls: operators, functions and values
//	    bind_operator bind_function bind_concat bind_times bind_order bind_meta meta_rows bind_value
//	groups: aggregates, windows, and what else a call can be
//	    bind_group bind_grouped bind_agg bind_own bind_call bind_interval bind_scores bind_window bind_series bind_nulls
//	queries: FROM, SELECT, WITH and set operations
//	    bind_from bind_query bind_select
//	expressions: subqueries, comparisons and lists, and the kinds of expressions
//	    bind_list bind_op bind_subquery bind
package plan
