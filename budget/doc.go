// Package budget turns events (what was run on private data) into losses, and decides with them whether a data set's budget
// admits one more statement. It is pure: it holds no state, touches no file and knows neither plans nor noise.
//
// A Filter is fixed from the policy for the life of a budget window. It has two sides, a sum of pure epsilons and a sum of
// Renyi losses at one order, and beside them a sum of approximate deltas. A statement counts in all of them and passes if
// the deltas have room and either side has. An analyst's quota is the same share of each room. Losses, sums and thresholds
// are rounded up, rooms and limits down; an event that nobody listed is refused.
package budget
