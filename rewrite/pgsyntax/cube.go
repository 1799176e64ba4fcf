package pgsyntax

// Cube is CREATE DP CUBE name AS query [WITH (...)].
type Cube struct {
	Pos   Pos
	Name  Word
	Query *Select
	With  []Option
}

// DropCube is DROP DP CUBE [IF EXISTS] name.
type DropCube struct {
	Pos      Pos
	Name     Word
	IfExists bool
}

func (*Cube) node()     {}
func (*DropCube) node() {}
