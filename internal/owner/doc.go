// Package owner is what an owner does before and beside serving: init, check, rehearse, the report of the budget, and
// the forecast of when it ends. A Service is a running server in the owner's hands: the socket and the console ask it.
package owner
