// Package nested is a helper of tests. It nests calls of the registry in one another, over columns that hold the
// extreme values of their types, in statements about private rows. A form that is total for each argument alone may
// still raise on what another form, or a CASE, hands to it.
//
// TestNested of sensitivity/prooftest runs what is admitted on PostgreSQL. Nothing may raise, and one unit changes no total
// by more than is claimed. To look further:
//
//	NESTED_SEED=7 NESTED_STATEMENTS=20000 go test ./sensitivity/prooftest -run 'TestNested$' -v
package nested
