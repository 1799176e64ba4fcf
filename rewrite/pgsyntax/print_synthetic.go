package pgsyntax

// synthesize writes CREATE DP SYNTHETIC TABLE, with its options before the query.
func (p *printer) synthesize(x *Synthesize) {
	p.str("CREATE ")
	if x.Replace {
		p.str("OR REPLACE ")
	}
	p.str("DP SYNTHETIC TABLE ", ident(x.Name.Text))
	if len(x.With) > 0 {
		p.str(" WITH ")
		p.options(x.With)
	}
	p.str(" AS ")
	p.query(x.Query)
}

func (p *printer) syntheticTables(x *SyntheticTables) {
	if x.Verb == "SHOW" {
		p.str("SHOW DP SYNTHETIC TABLES")
		return
	}
	p.str("DROP DP SYNTHETIC TABLE ")
	if x.IfExists {
		p.str("IF EXISTS ")
	}
	p.str(ident(x.Name.Text))
}
