package pgsyntax

// cube writes CREATE DP CUBE.
func (p *printer) cube(x *Cube) {
	p.str("CREATE DP CUBE ", ident(x.Name.Text), " AS ")
	p.query(x.Query)
	if len(x.With) > 0 {
		p.str(" WITH ")
		p.options(x.With)
	}
}

func (p *printer) dropCube(x *DropCube) {
	p.str("DROP DP CUBE ")
	if x.IfExists {
		p.str("IF EXISTS ")
	}
	p.str(ident(x.Name.Text))
}
