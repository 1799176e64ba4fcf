package pgsyntax

// Synthesize is CREATE [OR REPLACE] DP SYNTHETIC TABLE.
type Synthesize struct {
	Pos     Pos
	Replace bool
	Name    Word
	With    []Option
	Query   *Select
}

// SyntheticTables is a statement about stored synthetic tables: Verb is SHOW or DROP.
type SyntheticTables struct {
	Pos      Pos
	Verb     string
	Name     Word
	IfExists bool
}

func (*Synthesize) node()      {}
func (*SyntheticTables) node() {}
