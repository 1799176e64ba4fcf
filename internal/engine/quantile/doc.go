// Package quantile reads order statistics off a tree of noisy counts. It sees released numbers only: its caller says
// what a node's children count, noise included. EndError is how many people may be beyond an answer to MIN or MAX
// whose range is not known.
package quantile
