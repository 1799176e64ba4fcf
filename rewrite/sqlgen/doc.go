// Package sqlgen prints SQL for a backend. Private prints the totals of a private statement with their bounds per
// unit. PublicQuery prints a statement over public tables alone, as it is. DistinctTuples reads the values of public
// columns. The package says of each returned column what it is.
//
// It never prints a private plan without its bounds. PublicQuery and DistinctTuples refuse any private table. No
// option, flag or build tag changes that. Analysts' constants travel as parameters. The policy's bounds are inline
// numbers.
//
// # Other statements that it prints
//
//   - Finishing: what is computed from released rows, for functions without an evaluation in Go. The released rows
//     are its parameters.
//   - Frequencies: how often values of join keys occur, for joins off the unit (frequencies.go).
//   - MostOften: how many rows of public tables a key value meets at most.
//   - TreeLeaves: the leaves of an order statistic's tree.
//   - Lost: what people lose by the bounds that were chosen. It has one number for each class of
//     sensitivity.LostSteps.
//
// # Shapes
//
// Files derived.go and window.go print the relations that are computed within each unit's rows. File histogram.go
// prints buckets in place of totals where a bound is chosen. File norm.go does so where whole vectors are scaled,
// and scans twice. File pairs.go prints one row for each group and pair of units. File weighted.go counts the joined
// rows of two tables, by key or by weight.
//
// # Aggregates
//
// A private aggregate is printed by its measures (sensitivity.Measure): counts and sums by measure.go, moments by
// moments.go, order statistics by leaves.go. So a new aggregate needs no file here, unless it has a new kind of
// measure. File aggregate.go prints aggregates within a person's rows, and over public tables.
//
// # Files
//
// The files lie in groups. A file uses files of its own group and of the groups above it.
//
//	statement: what is returned, and a printer with the columns that it can read
//	    part raising reading sqlgen dialect from printer given key decimal
//	expressions: each kind of expression, columns, and how long and deep a statement may be
//	    array column compare long scalar scores depth
//	relations: each kind of relation, and queries
//	    aggregate capped derived order quantified relation shapes window
//	public: statements over public tables and released rows
//	    public finishing
//	private: statements over private rows, with their bounds
//	    measure moments narrow private pairs tuple frequencies weighted histogram leaves distinct norm unitrows lost totals
package sqlgen
