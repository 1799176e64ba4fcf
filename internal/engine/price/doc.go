// Package price prices a statement. It chooses the mechanism and splits what the price may cost (design section 7)
// over the measures and the selection of groups. It works from the analysis and the policy alone.
//
// # Automatic bounds
//
// A measure whose bound is chosen pays a share of its price for the choice. The events are dp.AboveThreshold for a
// bound by threshold, dp.Choice for one by the exponential mechanism, and dp.Clipped for noise whose scale follows
// the chosen bound.
//
// A bound is chosen upwards, by the sparse vector technique (noise.Threshold). The first candidate that few people
// exceed is taken. How many are few follows from the noise. The candidates are 1, 2, 3, 4, 6, 8 and so on. A larger
// bound costs noise in proportion to itself. The exponential mechanism would put a price on the logarithm of the
// bound, which is too dear for few people and many groups. One edge clips both signs of a sum.
//
// The cap of a flow between two kinds of units is chosen by the exponential mechanism (noise.BoundSelector). Its scores
// move within an interval of 3 parts. The sparse vector technique would pay twice the larger end of that interval.
//
// Quote.Settled turns the edges at which choices ended into those that are used. If there are few groups it takes one
// edge more. A sum with a range ends where the bound on its rows does.
//
// A Run says what noise the values have at the edges that were chosen. A stored release keeps its edges, and TopUp
// measures again at them. Lost gives the events of the lost mass.
package price
