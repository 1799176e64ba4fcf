// Package neighbour is a helper of tests. It runs printed private statements on a real PostgreSQL or DuckDB with and
// without the rows of one unit, and compares every total, before noise, with what the analysis claims. Planted bugs
// must make it fail. The package has a catalog made from text, and a small clinic whose data breaks every
// declaration. No product file may import it.
package neighbour
