package pgsyntax

// The expressions. Position is where the node starts (for Binary: its operator) in the analyst's text.

func (*Star) expr()       {}
func (*ColumnRef) expr()  {}
func (*Literal) expr()    {}
func (*Param) expr()      {}
func (*Unary) expr()      {}
func (*Binary) expr()     {}
func (*Is) expr()         {}
func (*Between) expr()    {}
func (*In) expr()         {}
func (*Quantified) expr() {}
func (*Exists) expr()     {}
func (*Subquery) expr()   {}
func (*Case) expr()       {}
func (*Cast) expr()       {}
func (*FuncCall) expr()   {}
func (*Array) expr()      {}
func (*Row) expr()        {}
func (*Subscript) expr()  {}
func (*Grouping) expr()   {}
func (*Collate) expr()    {}
func (*Field) expr()      {}
func (*Paren) expr()      {}
func (*NamedArg) expr()   {}
func (*Variadic) expr()   {}
func (*Ties) expr()       {}

// Position is where the node stands in the analyst's text.
func (x *Star) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *ColumnRef) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Literal) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Param) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Unary) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Binary) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Is) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Between) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *In) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Quantified) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Exists) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Subquery) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Case) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Cast) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *FuncCall) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Array) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Row) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Subscript) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Grouping) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Collate) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Field) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *NamedArg) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Variadic) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Ties) Position() Pos { return x.Pos }

// Position is where the node stands in the analyst's text.
func (x *Paren) Position() Pos { return x.Pos }
