package policy

import (
	"github.com/goccy/go-yaml/ast"
)

// role is a named list of rights.
type role struct {
	name word
	may  []grant
}

func (f *file) roles(n ast.Node) (out []role) {
	entries, ok := f.mapping(n, "roles")
	if !ok {
		return nil
	}
	for _, e := range entries {
		what := "roles." + clip(e.key.text)
		if !analystName.MatchString(e.key.text) {
			f.add(e.key.position, "a role's name has at most 63 letters, digits, _ . @ and -, not %q", clip(e.key.text))
		}
		r := role{name: e.key}
		f.fields(e.value, what, []field{
			{name: "may", required: true, read: func(n ast.Node) { r.may = f.may(n, what+".may") }},
		})
		out = append(out, r)
	}
	return out
}

func (f *file) analysts(n ast.Node, roles []role) {
	entries, ok := f.mapping(n, "analysts")
	if !ok {
		return
	}
	for _, e := range entries {
		what := "analysts." + clip(e.key.text)
		if !analystName.MatchString(e.key.text) {
			f.add(e.key.position, "an analyst's name has at most 63 letters, digits, _ . @ and -, not %q", clip(e.key.text))
		}
		a := &Analyst{at: e.key.position, Name: e.key.text, Epsilon: f.p.Budget.Epsilon, Share: 1,
			MaxQueryEpsilon: 10 * f.p.Query.Epsilon}
		f.fields(e.value, what, []field{
			{name: "password", required: true, read: func(n ast.Node) {
				w, ok := f.secretText(n, what+".password")
				if !ok {
					return
				}
				if err := checkVerifier(w.text); err != nil {
					f.add(w.position, "%s.password: %v", what, err).hint("make one with dpsql user hash")
				}
				a.Verifier = w.text
			}},
			{name: "may", read: func(n ast.Node) { a.may = append(a.may, f.may(n, what+".may")...) }},
			{name: "roles", read: func(n ast.Node) { f.memberships(n, a, what+".roles", roles) }},
			{name: "budget", read: func(n ast.Node) { f.quota(n, a, what+".budget") }},
			{name: "max_query_epsilon", read: func(n ast.Node) {
				a.MaxQueryEpsilon, _ = f.float(n, what+".max_query_epsilon", bounds{minEpsilon, maxEpsilon, true})
			}},
		})
		f.p.Analysts = append(f.p.Analysts, a)
	}
}

// memberships gives an analyst the rights of roles.
func (f *file) memberships(n ast.Node, a *Analyst, what string, roles []role) {
	list, ok := f.items(n, what)
	if !ok {
		return
	}
next:
	for _, it := range list {
		w, ok := f.text(it, what)
		if !ok {
			continue
		}
		var known []string
		for _, r := range roles {
			if r.name.text == w.text {
				a.may = append(a.may, r.may...)
				continue next
			}
			known = append(known, r.name.text)
		}
		p := f.add(w.position, "%s: no role %q is declared", what, clip(w.text))
		if near := nearest(w.text, known); near != "" {
			p.hint("did you mean %s?", near)
		}
	}
}

func (f *file) quota(n ast.Node, a *Analyst, what string) {
	whole := f.p.Budget.Epsilon
	const ofWindows = "an analyst's quota is a share of the data set's budget and of each of its windows, set by epsilon"
	f.fields(n, what, []field{
		{name: "epsilon", required: true, read: func(n ast.Node) {
			x, ok := f.float(n, what+".epsilon", bounds{minEpsilon, maxEpsilon, true})
			switch {
			case !ok || whole == 0:
			case x > whole:
				f.add(at(n), "%s.epsilon %g is more than the data set's %g", what, x, whole)
			default:
				a.Epsilon, a.Share = x, share(x, whole)
			}
		}},
		{name: "delta", instead: ofWindows},
		{name: "per", instead: ofWindows},
		{name: "lifetime", instead: ofWindows},
	})
}

// may reads a list of tables and columns.
func (f *file) may(n ast.Node, what string) (out []grant) {
	list, ok := f.items(n, what)
	if !ok {
		return nil
	}
	for _, it := range list {
		w, ok := f.text(it, what)
		if !ok {
			continue
		}
		parts, err := parseDotted(w.text, 3)
		if err != nil {
			f.add(w.position, "%s: %v", what, err)
			continue
		}
		if g, ok := f.grant(w, parts, what); ok {
			out = append(out, g)
		}
	}
	return out
}

// grant resolves table, schema.table, table.column and schema.table.column; what could be two of them is refused.
func (f *file) grant(w word, parts []string, what string) (grant, bool) {
	var found []grant
	if len(parts) <= 2 {
		if t := f.find(parts); t != nil {
			found = append(found, grant{w.position, t, ""})
		}
	}
	if len(parts) >= 2 {
		column := parts[len(parts)-1]
		if t := f.find(parts[:len(parts)-1]); t != nil {
			if t.column(column) == nil && !t.allColumns {
				if len(found) == 0 {
					p := f.add(w.position, "%s: table %s lists no column %s", what, t, clip(column))
					var known []string
					for _, c := range t.columns {
						known = append(known, c.name.text)
					}
					if near := nearest(column, known); near != "" {
						p.hint("did you mean %s.%s?", t, near)
					}
					return grant{}, false
				}
			} else {
				found = append(found, grant{w.position, t, column})
			}
		}
	}
	switch len(found) {
	case 0:
		f.unknownTable(w.position, what, parts)
	case 1:
		return found[0], true
	default:
		f.add(w.position, "%s: %s is both a table and a column", what, clip(w.text)).hint("write schema.table.column")
	}
	return grant{}, false
}
