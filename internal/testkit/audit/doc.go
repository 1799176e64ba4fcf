// Package audit is a helper of tests. It bounds from below the epsilon of what a training releases. It guesses from
// that which canaries were in the data (Steinke, Nasr, Jagielski 2023, "Privacy auditing with one (1) training
// run"). No product file may import it.
//
// TestAudit of package mlext plays it with every entry of the registry of methods, so a new method is audited at
// once. The packages of the methods plant bugs that must be above the claim. Noise and canaries follow from seeds
// (Source), which exist for tests alone.
package audit
