// Package finish turns a release into the values that an analyst asked for: aggregates from noisy integers, their
// intervals, and the statement's finishing plan over them. All of it is post-processing of released values.
//
// Some values and intervals need more than the law of the noise:
//
//   - selected.go: a number of people by which a group was selected is shown only above the threshold. Under
//     query.min_people it is shown only from there on. Its interval allows for both.
//   - candidates.go: ORDER BY an aggregate with LIMIT shows the first groups (divide.Program.NoisyRowChoice). Their
//     intervals hold for all groups that may be among the first.
//   - lost.go: chosen bounds and caps take values away. The interval is widened by a quantile of Bayes' law over
//     generalised Pareto tails, given a noisy histogram of what people lose.
//   - consistent.go: numbers of grouping sets are adjusted so that groups add up to their totals. Their intervals are
//     those of the adjusted numbers.
//   - order.go: order statistics are read off the released nodes of their tree (package quantile).
//
// Where to add an aggregate: a statistic of moments has a row in statistics.go, with its value, its interval and what
// lost rows change. Other aggregates have their value in values.go and their interval in errors.go.
package finish
