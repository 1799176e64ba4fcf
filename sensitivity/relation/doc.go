// Package relation says what follows from a plan alone, from its expressions, and from types: whether private tables are
// read, how many rows a relation has by its form, which constants have one value everywhere. It knows no policy but for
// which tables are public, and nothing of units.
package relation
