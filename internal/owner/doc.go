// Package owner is what an owner does before and beside serving: init, check, rehearse.
package owner
