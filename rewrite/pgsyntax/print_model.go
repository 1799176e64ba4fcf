package pgsyntax

// train writes TRAIN DP MODEL.
func (p *printer) train(x *Train) {
	if x.Replace {
		p.str("CREATE OR REPLACE DP MODEL ")
	} else {
		p.str("TRAIN DP MODEL ")
	}
	p.str(ident(x.Name.Text), " USING ", ident(x.Model.Text))
	if len(x.Args) > 0 {
		p.options(x.Args)
	}
	if x.Method.Text != "" {
		p.str(" METHOD ", ident(x.Method.Text))
	}
	p.str(" TARGET ", ident(x.Target.Text))
	if len(x.With) > 0 {
		p.str(" WITH ")
		p.options(x.With)
	}
	p.str(" AS ")
	p.query(x.Query)
}

func (p *printer) evaluate(x *Evaluate) {
	p.str("EVALUATE DP MODEL ", owned(x.Owner, x.Name))
	if len(x.With) > 0 {
		p.str(" WITH ")
		p.options(x.With)
	}
	for i, c := range x.By {
		p.str([]string{" GROUP BY ", ", "}[min(i, 1)], ident(c.Text))
	}
	p.str(" ON ")
	p.query(x.Query)
}

func (p *printer) models(x *Models) {
	switch x.Verb {
	case "SHOW":
		p.str("SHOW DP MODELS")
		return
	case "RENAME":
		p.str("ALTER DP MODEL ", owned(x.Owner, x.Name), " RENAME TO ", ident(x.To.Text))
		return
	}
	p.str(x.Verb, " DP MODEL ")
	if x.IfExists {
		p.str("IF EXISTS ")
	}
	p.str(owned(x.Owner, x.Name))
	if before := map[string]string{"GRANT": " TO ", "REVOKE": " FROM ", "EXPORT": " AS "}[x.Verb]; before != "" {
		p.str(before, ident(x.To.Text))
	}
}

func owned(owner, name Word) string {
	if owner.Text == "" {
		return ident(name.Text)
	}
	return ident(owner.Text) + "." + ident(name.Text)
}

func (p *printer) options(list []Option) {
	p.str("(")
	for i, o := range list {
		if i > 0 {
			p.str(", ")
		}
		p.str(ident(o.Name.Text), " = ")
		if o.List {
			p.str("(")
		}
		for j, v := range o.Values {
			if j > 0 {
				p.str(", ")
			}
			p.str(quote(v.Text))
		}
		if o.List {
			p.str(")")
		}
	}
	p.str(")")
}
