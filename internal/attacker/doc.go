// Package attacker is a helper of tests: an attacker who searches. It composes statements about one person and plays
// them against a proxy before a database with that person and one without. It trains a classifier on all that is
// seen, and evolves the statements whose answers tell most (Cretu et al. 2022, "QuerySnout"; Stevanoski et al. 2024,
// "QueryCheetah"). It must not beat the optimum for the charged losses against dpsql, and must beat it against
// careless proxies. No product file may import it.
package attacker
