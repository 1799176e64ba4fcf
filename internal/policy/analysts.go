package policy

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// role is a named list of rights, and a budget that its analysts have together.
type role struct {
	name    word
	may     []grant
	epsilon float64 // 0: none
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
		r, rights, budget := role{name: e.key}, false, false
		f.fields(e.value, what, []field{
			{name: "may", read: func(n ast.Node) { r.may, rights = f.may(n, what+".may"), true }},
			{name: "budget", read: func(n ast.Node) { r.epsilon, budget = f.quota(n, what+".budget"), true }},
		})
		if !rights && !budget {
			f.add(e.key.position, "%s gives nothing", what).hint("may: what its analysts may see, or budget: {epsilon: e}, which they have together")
		}
		if budget {
			f.p.Roles = append(f.p.Roles, Role{r.name.text, r.epsilon, r.name.position})
		}
		out = append(out, r)
	}
	return out
}

// everybody is what the owner's reports and pages call all analysts together.
const everybody = "everybody"

func (f *file) analysts(n ast.Node, roles []role) {
	entries, ok := f.mapping(n, "analysts")
	if !ok {
		return
	}
	f.analystsAt = at(n)
	for _, e := range entries {
		what := "analysts." + clip(e.key.text)
		if !analystName.MatchString(e.key.text) {
			f.add(e.key.position, "an analyst's name has at most 63 letters, digits, _ . @ and -, not %q", clip(e.key.text))
		}
		a := &Analyst{at: e.key.position, Name: e.key.text, Epsilon: f.p.Budget.Epsilon, MaxQueryEpsilon: 10 * f.p.Query.Epsilon}
		if strings.EqualFold(a.Name, everybody) {
			f.add(a.at, "%s: this is what all analysts together are called, as where dpsql freeze stops everybody", what).hint("give this analyst another name")
		}
		if f.p.HasRole(a.Name) {
			f.add(a.at, "%s: a role with a budget has this name too, so nobody could tell whom dpsql budget grant is for", what)
		}
		f.fields(e.value, what, []field{
			{name: "password", required: f.p.TLS.HasPasswords(), read: func(n ast.Node) {
				w, ok := f.secretText(n, what+".password", `"$(dpsql user hash)"  # type a password`)
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
			{name: "budget", read: func(n ast.Node) { a.Epsilon = f.quota(n, what+".budget") }},
			{name: "max_query_price", was: "max_query_epsilon", read: func(n ast.Node) {
				a.MaxQueryEpsilon, _ = f.float(n, what+".max_query_price", bounds{minEpsilon, maxEpsilon, true})
			}},
		})
		f.p.Analysts = append(f.p.Analysts, a)
	}
}

// retired reads the names that nobody gets any more.
func (f *file) retired(n ast.Node) {
	list, ok := f.items(n, "retired")
	if !ok {
		return
	}
	for _, it := range list {
		w, ok := f.text(it, "retired")
		if !ok {
			continue
		}
		f.p.Retired = append(f.p.Retired, w.text)
		if a, taken := f.p.Analyst(w.text); taken {
			f.add(a.at, "analysts.%s: this name is retired, on line %d: its models, charges and stored answers are another person's", clip(w.text), w.line).hint("give this analyst another name")
		}
	}
}

// memberships gives an analyst the rights of roles, and counts their statements against the roles' budgets.
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
				if of := (Role{r.name.text, r.epsilon, r.name.position}); r.epsilon > 0 && !slices.Contains(a.Roles, of) {
					a.Roles = append(a.Roles, of)
				} else if r.epsilon == 0 && !slices.Contains(a.OtherRoles, of.Name) {
					a.OtherRoles = append(a.OtherRoles, of.Name)
				}
				continue next
			}
			known = append(known, r.name.text)
		}
		p := f.add(w.position, "%s: no role %q is declared", what, clip(w.text))
		if near := Nearest(w.text, known); near != "" {
			p.hint("did you mean %s?", near)
		}
	}
	slices.Sort(a.OtherRoles)
	slices.SortFunc(a.Roles, func(a, b Role) int { return strings.Compare(a.Name, b.Name) })
}

// quota reads the budget of an analyst or a role: an epsilon, at most the data set's.
func (f *file) quota(n ast.Node, what string) (epsilon float64) {
	whole := f.p.Budget.Epsilon
	const ofWindows = "a quota is a share of the data set's budget and of each of its windows, set by epsilon"
	epsilon = whole
	f.fields(n, what, []field{
		{name: "epsilon", required: true, read: func(n ast.Node) {
			x, ok := f.float(n, what+".epsilon", bounds{minEpsilon, maxEpsilon, true})
			switch {
			case !ok || whole == 0:
			case x > whole:
				f.add(at(n), "%s.epsilon %g is more than the data set's %g", what, x, whole)
			default:
				epsilon = x
			}
		}},
		{name: "delta", instead: ofWindows},
		{name: "per", instead: ofWindows},
		{name: "lifetime", instead: ofWindows},
	})
	return epsilon
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
			f.add(w.position, "%s: %v", what, err).hint("names with spaces or other signs go into double quotes")
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
					if near := Nearest(column, known); near != "" {
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
