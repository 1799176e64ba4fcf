// Package generate is a helper of tests. It makes random statements over the tables of a catalog, private and public
// ones, of every shape that an analyst may write. Many of them must be refused. A test may ask only that a statement
// is refused or right. A statement is made of choices, numbers from a Source, where 0 is always the simplest. So a
// Tape of them can be shrunk.
//
// TestGenerated of internal/engine/prooftest holds each statement against the neighbour test and against PostgreSQL, before
// clinics with odd values and without any person. The statement is refused or right, and never raises. Other texts
// of its meaning are claimed and charged alike: a tautology more, another order of joins, WITH for derived tables,
// derived tables around tables. A failure is shrunk to a small statement. Planted bugs must be found. The test fails
// if too few statements are accepted, or if no statement has some sort of plan node.
//
// A new shape of statements needs a production here: one way in a list. To look further:
//
//	GENERATE_SEED=7 GENERATE_STATEMENTS=2000 go test ./internal/engine/prooftest -run 'TestGenerated$' -v
//	COMPOSED_SEED=7 COMPOSED_STATEMENTS=5000 go test ./internal/engine/prooftest -run 'TestComposed$' -v
//
// TestComposed asks statements of this generator through the engine, on PostgreSQL and DuckDB. They call each row of
// the registry, nested 1 to 4 deep, in every place for an expression. The tables hold extreme values of all types,
// nothing, or only NULL. A statement must end alike in all of them: answered, or refused by one code before its
// charge. An unreadable value counts as a failure. TestComposedBites puts two former leaks back, which must be
// found.
package generate
