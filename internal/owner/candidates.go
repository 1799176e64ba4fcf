package owner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// Candidate is a column that could be the unit.
type Candidate struct {
	Name                  string // table.column, as a policy spells it
	Schema, Table, Column string
	Reach                 int  // tables that lead to it along foreign keys
	People                bool // its name or columns look like people
	Score                 int
}

// Candidates lists what could be the unit, the likeliest first: tables with a key of one column, by how much they look like people
// and how many tables lead to them. backend is that of InitOptions.
func Candidates(rels []sqltype.Relation, backend string) ([]Candidate, error) {
	s, err := newSchema(rels, backend)
	if err != nil {
		return nil, err
	}
	return s.candidates(), nil
}

// Scores: a name that means people outweighs all columns, which outweigh reach; reach alone would choose the table of countries.
const (
	scorePerColumn = 12
	maxColumnScore = 48
	maxReachScore  = 40
)

var peopleNames = map[string]int{
	"patient": 100, "customer": 100, "person": 100, "citizen": 100, "resident": 95, "user": 90, "member": 90, "student": 90, "client": 90,
	"employee": 85, "subscriber": 90, "participant": 90, "subject": 80, "respondent": 90, "pupil": 90, "passenger": 85, "tenant": 75,
	"borrower": 85, "insured": 85, "policyholder": 90, "donor": 80, "taxpayer": 90, "voter": 90, "inhabitant": 90, "player": 70, "visitor": 70,
	"guest": 75, "worker": 80, "individual": 90, "people": 100, "household": 70, "family": 60, "account": 60, "profile": 50, "contact": 50,
	"staff": 60, "teacher": 60, "doctor": 50, "physician": 50, "applicant": 80, "candidate": 60, "holder": 50, "cardholder": 85, "driver": 60,
	"rider": 75, "courier": 75, "seller": 60, "buyer": 75, "sender": 60, "recipient": 60, "author": 60, "beneficiary": 85, "enrollee": 85, "kunde": 100, "patienten": 100, "cliente": 100, "usuario": 90, "personne": 100,
}

var peopleColumns = []string{"first_name", "firstname", "given_name", "last_name", "lastname", "surname", "family_name", "full_name", "birth", "birthday",
	"birthdate", "dob", "date_of_birth", "birth_date", "gender", "sex", "email", "e_mail", "ssn", "social_security_number", "marital_status", "race", "ethnicity", "age",
	"nationality", "username", "maiden_name", "middle_name", "phone", "death_date", "date_of_death"}

func (s *schema) candidates() []Candidate {
	var out []Candidate
	for _, t := range s.tables {
		if !t.proposable() {
			continue
		}
		column, ok := t.keyColumn(s.backend == backendFiles)
		if !ok {
			continue
		}
		c := Candidate{Schema: t.rel.Schema, Table: t.rel.Name, Column: column, Reach: s.reach(t)}
		c.Name = policy.Qualified(s.policySchema(t), t.rel.Name, column)
		people := nameScore(t.rel.Name) + t.columnScore()
		c.People = people > 0
		c.Score = people + maxReachScore*c.Reach/max(len(s.tables)-1, 1)
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// CandidateWarnings says why the first candidate may not be who is to be protected, and what to do; nothing where it looks like people.
func CandidateWarnings(rels []sqltype.Relation, opt InitOptions) []string {
	s, err := newSchema(rels, opt.Backend)
	if err != nil {
		return nil
	}
	return s.candidateWarnings(s.candidates(), opt)
}

func (s *schema) candidateWarnings(list []Candidate, opt InitOptions) []string {
	if len(list) == 0 || list[0].People {
		return nil
	}
	table := inComment(s.spell(s.find(list[0].Schema, list[0].Table)))
	out := []string{fmt.Sprintf("%s is a guess: nothing says that rows of %s are people. What is hidden is one row of it, not a person who has several.", inComment(list[0].Name), table)}
	if list := s.personColumns(); len(list) > 0 {
		var names []string
		for _, c := range list {
			names = append(names, inComment(c))
		}
		return append(out, "These columns look as if they name people: "+strings.Join(names, ", ")+". To protect them, run "+opt.command(list[0]))
	}
	return append(out, "If a column says whose the rows are, run "+opt.command(anyUnit))
}

// personColumns are columns by whose names a row belongs to somebody, though no table of these people is there.
func (s *schema) personColumns() (out []string) {
	for _, t := range s.tables {
		for _, c := range t.rel.Columns {
			w := words(c.Name)
			of := slices.Contains(contactColumns, strings.Join(w, "_"))
			if n := len(w); n > 0 && slices.Contains([]string{"id", "no", "nr", "number", "key"}, w[n-1]) {
				of = n > 1 && peopleNames[singular(w[n-2])] > 0
			} else if n > 0 {
				of = of || peopleNames[singular(w[n-1])] > 0
			}
			if of && t.proposable() && policy.CanBeUnit(c.Type) && writableName(c.Name) && len(out) < mostNamed {
				out = append(out, policy.Qualified(s.policySchema(t), t.rel.Name, c.Name))
			}
		}
	}
	return out
}

// contactColumns hold one value a person, mostly.
var contactColumns = []string{"email", "e_mail", "email_address", "ssn", "social_security_number", "username"}

const mostNamed = 5

// keyColumn is the column that stands for a row: a key of one column that a constraint enforces. Files have none: there a column
// named like one will do, which opening them checks.
func (t *table) keyColumn(files bool) (string, bool) {
	canBeKey := func(name string) bool {
		c, ok := t.rel.Column(name)
		return ok && policy.CanBeUnit(c.Type) && writableName(name)
	}
	for _, k := range t.rel.Keys {
		if len(k) == 1 && canBeKey(k[0]) {
			return k[0], true
		}
	}
	if files {
		for _, c := range t.rel.Columns {
			if t.looksLikeKey(c.Name) && canBeKey(c.Name) {
				return c.Name, true
			}
		}
	}
	return "", false
}

func (t *table) looksLikeKey(column string) bool {
	return plainID(column) || strings.EqualFold(column, singular(t.rel.Name)+"_id") || strings.EqualFold(column, singular(t.rel.Name)+"id")
}

// reach counts the tables that lead to t, along any number of foreign keys.
func (s *schema) reach(t *table) int { return len(s.leading(t)) - 1 }

// leading are those tables, and t.
func (s *schema) leading(t *table) map[*table]bool {
	seen := map[*table]bool{t: true}
	for grown := true; grown; {
		grown = false
		for _, o := range s.tables {
			if seen[o] || !o.proposable() {
				continue
			}
			if slices.ContainsFunc(o.edges, func(e edge) bool { return seen[e.to] && !e.weak && o.usable(e) }) {
				seen[o], grown = true, true
			}
		}
	}
	return seen
}

// beside are the other candidates that look like people to whom rows of private tables lead too, with those tables: rows of two people.
func (s *schema) beside(candidates []Candidate) (out []Candidate, rows [][]*table) {
	for _, c := range candidates {
		other := s.find(c.Schema, c.Table)
		if !c.People || other == s.root || other.path != nil {
			continue
		}
		leading, both := s.leading(other), []*table(nil)
		for _, t := range s.tables {
			if t.path != nil && leading[t] {
				both = append(both, t)
			}
		}
		if len(both) > 0 {
			out, rows = append(out, c), append(rows, both)
		}
	}
	return out, rows
}

// nameScore looks at the last word first: a customer_order is an order.
func nameScore(name string) int {
	w := words(name)
	if len(w) == 0 {
		return 0
	}
	return peopleNames[singular(w[len(w)-1])]
}

func (t *table) columnScore() int {
	score := 0
	for _, c := range t.rel.Columns {
		if slices.Contains(peopleColumns, strings.Join(words(c.Name), "_")) {
			score += scorePerColumn
		}
	}
	if score < 2*scorePerColumn { // one column says nothing: a shop has a phone too
		return 0
	}
	return min(score, maxColumnScore)
}

// looksLikePeople is the test that keeps a table of people from being proposed as public.
func (t *table) looksLikePeople() bool {
	return nameScore(t.rel.Name) > 0 || t.columnScore() > 0 || slices.ContainsFunc(t.rel.Columns, func(c sqltype.RelationColumn) bool {
		return t.personal(c.Name) && !t.ownName(c.Name)
	})
}

// ownName reports the name of what a row stands for: name, or zone_name in a table of zones. Of people it is a person's.
func (t *table) ownName(column string) bool {
	w, of := words(column), words(t.rel.Name)
	if len(w) == 0 || w[len(w)-1] != "name" {
		return false
	}
	for i := range of {
		of[i] = singular(of[i])
	}
	return !slices.ContainsFunc(w[:len(w)-1], func(x string) bool {
		return !slices.Contains(of, singular(x)) || peopleNames[singular(x)] > 0 || slices.Contains(roleNames, singular(x))
	})
}

// roleNames are people too, but seldom the ones whose data it is.
var roleNames = []string{"owner", "agent", "manager", "nurse", "operator", "officer", "representative", "rep", "provider", "dispatcher", "parent", "child", "spouse", "partner", "guardian",
	"vendor", "supplier", "trader", "tutor", "lawyer", "attorney", "therapist", "actor", "artist", "user"}

// words splits a name at signs and at capitals, in lower case.
func words(name string) []string {
	var out []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && lower:
			end()
			fallthrough
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		lower = unicode.IsLower(r)
	}
	end()
	return out
}

// singular is a guess at an English word's singular, in lower case.
func singular(word string) string {
	w := strings.ToLower(word)
	switch {
	case w == "people" || strings.HasSuffix(w, "_people"):
		return strings.TrimSuffix(w, "people") + "person"
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:len(w)-1]
	}
	return w
}
