// Package owner is what an owner does before and beside serving: init, check, rehearse, the socket of a running
// server, and the report of the budget.
package owner
