// Package ops is what an owner watches a server by: an audit log of private statements, Prometheus counters and a health check.
// Nothing in it comes from private rows but how statements ended and how much of the budget they took, and none of it is for
// analysts.
package ops
