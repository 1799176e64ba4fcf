package pgsyntax

// watch writes CREATE DP WATCH.
func (p *printer) watch(x *Watch) {
	p.str("CREATE DP WATCH ", ident(x.Name.Text), " AS ")
	p.query(x.Query)
	p.str(" THRESHOLD ", x.Threshold.Text)
	if x.Every.Text != "" {
		p.str(" EVERY ", quote(x.Every.Text))
	}
	if x.Times.Text != "" {
		p.str(" TIMES ", quote(x.Times.Text))
	}
	if len(x.With) > 0 {
		p.str(" WITH ")
		p.options(x.With)
	}
}

func (p *printer) dropWatch(x *DropWatch) {
	p.str("DROP DP WATCH ")
	if x.IfExists {
		p.str("IF EXISTS ")
	}
	p.str(ident(x.Name.Text))
}
