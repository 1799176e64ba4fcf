package joins

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// joinSide is a leaf while a statement is analysed.
type joinSide struct {
	scans []*scope.ScanInfo
	conds []plan.Scalar // the statement's that read it alone, over its scans' columns
	unit  plan.ColID    // 0: public
	rows  uint64
	why   string
	keyed bool // rows follows from keys: nothing has to be cut
	rel   plan.Rel
	name  string
	names map[plan.ColID]string // of columns in the formula
	side  *elastic.Side
	cuts  []*keyCap // none: all rows are kept
}

func (p *joinSide) hasScan(s *scope.ScanInfo) bool { return slices.Contains(p.scans, s) }

// called names a leaf as no other one of the list is.
func (p *joinSide) called(list []*joinSide) string {
	var names []string
	for _, s := range p.scans {
		names = append(names, s.Name())
	}
	name := names[0]
	if len(names) > 1 {
		name = "(" + strings.Join(names, ", ") + ")"
	}
	for n := 2; slices.ContainsFunc(list, func(o *joinSide) bool { return o.name == name }); n++ {
		name = fmt.Sprintf("%s (%d)", strings.TrimSuffix(name, fmt.Sprintf(" (%d)", n-1)), n)
	}
	return name
}

// columnName is how the formula calls a column: with its scan's name where the leaf has several. Each column has a name of its own.
func (j *joining) columnName(p *joinSide, id plan.ColID) string {
	if name, ok := p.names[id]; ok {
		return name
	}
	s := j.Owner[id]
	i := slices.Index(s.Scan.Columns, id)
	name := s.Scan.Table.Columns[i].Name
	if len(p.scans) > 1 {
		name = s.Column(i)
	}
	for slices.Contains(slices.Collect(maps.Values(p.names)), name) {
		name += "'"
	}
	p.names[id] = name
	return name
}

// column is a leaf's column by its name in the formula.
func (p *joinSide) column(name string) plan.ColID {
	for id, n := range p.names {
		if n == name {
			return id
		}
	}
	return 0
}

// JoinedBody is a body whose scans are of several units: leaves joined by equalities.
//
// Proof: claim: for databases that differ in all rows of one unit, the rows of Body.Rel that only one of the two has (as multisets of what is read of them) are at most Formula.At(f, k), f the frequencies of any database at most k units away. Conditions, whose numbers stand at the lines that enforce them:
//
//	(J0) Without an aggregate there is no formula, and nothing to be bounded: no total is read, and the groups are public (KnownGroups; min_people, which would count people, is refused by joinable), so the release follows from policy and statement alone.
//	(J1) A leaf is the scans of one component: in each of its rows all scans are of one unit (Analyze's (3), whose equalities are printed inside the leaf, whatever way the statement says them), which its unit column has; rows without one are dropped. Or it is a public scan.
//	(J2) A unit has at most m rows in a leaf: keys of the database say that it has one, or the print keeps m (plan.Capped by the unit, in an order of these rows' own columns). So with a unit its own rows in the leaf come and go, at most m, and no other's: what elastic.Side calls Rows.
//	(J3) Between leaves there are inner joins alone, and each leaf after the first has a column that equals one of a leaf before it, in every row. Every row of the body is one row of each leaf, for which all equalities of the elastic tree hold; what else is asked of it (conditions, computed columns, keys) is a function of that
//	     combination and of public tables. So a row that only one body has is one that only one tree's result has, and elastic.Rows counts those.
//	(J4) What is called unique is so in every database: the columns hold a key of some scan, from which the leaf's own equalities lead to a key of each other scan.
//	(J5) Equal columns are of one type, or both of whole numbers or of text, whose equality both backends and the frequencies' GROUP BY have alike: values of the one that equal a value of the other are one group.
//
// The frequencies are of the leaves as they are joined: capped, and filtered by the conditions that read the leaf alone. Source: Johnson, Near, Song, "Towards Practical Differential Privacy for SQL Queries", PVLDB 2018, section 3, with a unit's rows for a row.
func JoinedBody(z *unit.Linker) error {
	if err := joinable(z); err != nil {
		return err
	}
	if len(z.Aggs) == 0 { // (J0) no total is read
		z.Out.Body, z.Out.Joined = &sensitivity.Body{Rel: z.Input, Clamped: map[plan.ColID]sensitivity.Clamp{}, Safe: map[*plan.Call]int32{}, Linked: z.Linked}, &sensitivity.Joined{}
		return nil
	}
	for _, g := range z.Aggs {
		if err := OfJoined(g); err != nil && !z.Opts.Weighted {
			return err
		}
	}
	j := newJoining(z)
	if err := j.findSides(); err != nil {
		return err
	}
	if len(j.list) > mostJoined || !j.pairs() {
		return manyJoined(z.Out.Agg.Pos)
	}
	if err := j.order(); err != nil {
		return err
	}
	z.Out.Body = &sensitivity.Body{Clamped: map[plan.ColID]sensitivity.Clamp{}, Safe: map[*plan.Call]int32{}, Linked: z.Linked}
	left, err := j.build()
	if err != nil {
		return err
	}
	z.PersonsOnly = true              // the leaves are joined by persons
	z.NotNull = plan.NotNull(z.Input) // by the statement alone: of the capped leaves nothing is without a unit
	for _, s := range z.Scans {
		if s.Private() && s.Unit != 0 {
			z.NoteLost(s)
		}
	}
	z.NotNull = nil
	out := &sensitivity.Joined{}
	z.Out.Joined = out
	for _, p := range j.list {
		l := sensitivity.JoinSide{Name: p.name, Rows: p.rows, Why: p.why}
		for i, c := range p.cuts {
			if i > 0 {
				l.Cut += ", "
			}
			l.Cut += c.String()
		}
		out.Sides = append(out.Sides, l)
	}
	pairing, no := j.pairing(left)
	if z.Opts.Weighted {
		if no != nil {
			return no
		}
		out.Weighted = pairing
		return j.uncut()
	}
	out.Counted = pairing // nil where it is none
	if err := j.bounded(out); err != nil {
		return err
	}
	if z.Opts.DeltaZero && len(out.Frequencies) > 0 {
		return j.withoutDelta(out.Formula)
	}
	return nil
}

// bounded finds the formula, and what is measured of which leaves.
func (j *joining) bounded(out *sensitivity.Joined) (err error) {
	if out.Formula, err = j.formula(); err != nil {
		return err
	}
	if out.Formula.Longer(mostFormula) {
		return manyJoined(j.Out.Agg.Pos)
	}
	for _, q := range out.Formula.Frequencies {
		p := j.list[slices.IndexFunc(j.list, func(p *joinSide) bool { return p.side == q.Side })]
		fr := sensitivity.KeyFrequency{Side: p.rel}
		for _, name := range q.Columns {
			fr.Columns = append(fr.Columns, p.column(name))
		}
		out.Frequencies = append(out.Frequencies, fr)
	}
	return nil
}

// A formula may double with each leaf, of which each reads the equalities before it, and the smooth bound computes it at many distances.
const (
	mostJoined  = 12
	mostEqual   = 100  // pairs of columns of two leaves
	mostFormula = 5000 // characters
)

func manyJoined(pos int) error {
	return sqlerr.New(sqlerr.TooComplex, "too many tables are joined off the privacy unit, or too many of their columns are equal").At(pos).WithHint("Join fewer tables in one statement, by fewer columns, or more of them by unique keys.")
}

// joinable refuses what may not stand beside a join off the unit.
func joinable(z *unit.Linker) error {
	refuse := func(pos int, what string) *sqlerr.Error {
		return sqlerr.New(sqlerr.JoinOffUnit, "%s beside a join off the privacy unit is not supported", what).At(pos)
	}
	switch {
	case z.Opts.Split.Salt != "":
		return refuse(z.Out.Agg.Pos, "a part of the units")
	case z.Opts.MinPeople > 0 && len(z.Out.Agg.Keys) > 0:
		return refuse(z.Out.Agg.Pos, "GROUP BY under the policy's min_people").WithHint("The rows of a group are of several people each. Leave GROUP BY out; or the owner can set query.min_people: none.")
	case len(z.Ownerless) > 0:
		return innerJoins(refuse(z.Ownerless[0].Pos, "an outer join"))
	case len(z.Blocks) > 1:
		return innerJoins(refuse(z.Blocks[1].Join.Pos, "an outer join"))
	}
	var lateral *plan.Join
	plan.VisitRels(z.Input, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok && s.Rows != nil {
			return true
		}
		if n, ok := r.(*plan.Join); ok && n.Lateral {
			lateral = n
		}
		return lateral == nil
	})
	if lateral != nil {
		return innerJoins(refuse(lateral.Pos, "LATERAL"))
	}
	var bad *plan.Subquery
	look := func(x plan.Scalar) {
		plan.VisitQueries(x, func(s *plan.Subquery) bool {
			if relation.HasPrivateTable(s.Query) {
				bad = s
			}
			return bad == nil
		})
	}
	for _, x := range z.Blocks[0].Conds {
		look(x)
	}
	for _, d := range z.Defs {
		look(d.Expr)
	}
	if bad != nil {
		return innerJoins(refuse(bad.Pos, "a subquery over private rows"))
	}
	return nil
}

func innerJoins(err *sqlerr.Error) error {
	return err.WithHint("Use inner joins of tables, or join them on the privacy unit.")
}

// joining brings a body's scans into leaves.
type joining struct {
	*unit.Linker
	eq   scope.Classes
	same []plan.ColID     // scans' columns that others are known to equal, in the order of the scans
	list []*joinSide      // in the order of the joins, once it is known
	link []scope.Equality // of columns of two leaves, each both ways, in the order of the scans
}

func newJoining(z *unit.Linker) *joining {
	j := &joining{Linker: z, eq: z.ClassesOf(z.Blocks[0])}
	known := map[plan.ColID]bool{}
	for from, to := range j.eq {
		known[from], known[to] = true, true
	}
	for _, s := range z.Scans {
		for _, c := range s.Scan.Columns {
			if known[c] {
				j.same = append(j.same, c)
			}
		}
	}
	return j
}

// findSides finds the leaves, their conditions, and how many rows of a unit each has (J1), (J2).
func (j *joining) findSides() error {
	for _, s := range j.Scans {
		at := slices.IndexFunc(j.list, func(p *joinSide) bool { return s.Private() && p.scans[0].Private() && p.scans[0].Comp == s.Comp })
		if at < 0 {
			j.list, at = append(j.list, &joinSide{names: map[plan.ColID]string{}}), len(j.list)
		}
		j.list[at].scans = append(j.list[at].scans, s)
	}
	for _, p := range j.list {
		p.name = p.called(j.list)
		if !p.scans[0].Private() {
			p.why = "public"
			continue
		}
		if err := j.rowsOf(p); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf is how many rows of a unit a leaf keeps (J2).
func (j *joining) rowsOf(p *joinSide) error {
	var why []string
	keyed, units := true, 0
	for _, s := range p.scans {
		keyed = keyed && unit.HasUniqueUnit(s.Scan.Table) && s.Path == nil
		if s.Unit != 0 {
			p.unit = s.Unit
			units++
		}
		switch t := s.Scan.Table; {
		case s.Determined(p.scans):
		case unit.HasUniqueUnit(t):
			why = append(why, "one row a unit in "+t.Name)
		case t.MaxRows > 0:
			why = append(why, fmt.Sprintf("max_rows_per_unit %d of %s", t.MaxRows, t.Name))
		}
	}
	if units == 0 {
		return sqlerr.New(sqlerr.Internal, "a leaf without a unit")
	}
	j.NoRows = nil
	p.rows, p.why = j.Product(p.scans, 0), strings.Join(why, " x ")
	if p.keyed = keyed; keyed {
		p.rows = 1
		return nil
	}
	clip := j.Opts.MaxRows
	if j.NoRows != nil && clip == 0 {
		return sqlerr.New(sqlerr.JoinOffUnit, "how many rows of %s one person has is not bounded, so one person could change any number of joined rows", j.NoRows.Scan.Table.Name).At(j.NoRows.Scan.Pos).
			WithHint("SET dpsql.clip = 10 counts so many rows of each person; or the owner can declare max_rows_per_unit of the table in the policy.")
	}
	if j.NoRows != nil || clip > 0 && clip < p.rows {
		p.rows, p.why, j.Out.Clipped = clip, "dpsql.clip", true
	}
	if j.NoRows = nil; p.rows > dp.MaxSensitivity {
		return interval.TooWide().At(p.scans[0].Scan.Pos)
	}
	return nil
}

// order puts the leaves so that each has an equality with those before it (J3): public ones that are joined by a unique key as soon as they can be, which add nothing, then what comes first.
func (j *joining) order() error {
	rest := j.list
	at := slices.IndexFunc(rest, func(p *joinSide) bool { return p.unit != 0 })
	done := []*joinSide{rest[at]}
	rest = slices.Delete(slices.Clone(rest), at, at+1)
	for len(rest) > 0 {
		next, unique := -1, false
		for i, p := range rest {
			columns := j.with(p, done)
			if len(columns) == 0 {
				continue
			}
			if own := p.unit == 0 && p.uniqueScan(columns); next < 0 || own && !unique {
				next, unique = i, own
			}
		}
		if next < 0 {
			return j.unjoined(done, rest)
		}
		done = append(done, rest[next])
		rest = slices.Delete(rest, next, next+1)
	}
	j.list = done
	return nil
}

// uniqueScan: a public scan's columns hold one of its keys.
func (p *joinSide) uniqueScan(columns []plan.ColID) bool {
	s := p.scans[0].Scan
	return slices.ContainsFunc(s.Table.Keys, func(k []int) bool {
		return len(k) > 0 && !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(columns, s.Columns[c]) })
	})
}

// with are the columns of a leaf that equal columns of others (J5).
func (j *joining) with(p *joinSide, others []*joinSide) (out []plan.ColID) {
	for _, e := range j.equalColumns(p, others) {
		if !slices.Contains(out, e.A) {
			out = append(out, e.A)
		}
	}
	return out
}

// pairs finds the columns of two leaves that are equal in every row, of types that tell values apart alike (J5); false: there are too many of them, which is counted before they are listed.
func (j *joining) pairs() bool {
	type keyClass struct {
		root plan.ColID
		of   sqltype.OID
	}
	leaf := map[*scope.ScanInfo]int{}
	for i, p := range j.list {
		for _, s := range p.scans {
			leaf[s] = i
		}
	}
	of := func(c plan.ColID) keyClass { return keyClass{j.eq.Find(c), keyKind(j.TypeOf(c))} }
	all, in := map[keyClass][]plan.ColID{}, map[keyClass]map[int]int{}
	for _, c := range j.same {
		if isJoinKeyType(j.TypeOf(c)) {
			k := of(c)
			if all[k] = append(all[k], c); in[k] == nil {
				in[k] = map[int]int{}
			}
			in[k][leaf[j.Owner[c]]]++
		}
	}
	twice := 0
	for k, leaves := range in {
		for _, n := range leaves {
			twice += n * (len(all[k]) - n)
		}
		if len(leaves) == 1 {
			delete(all, k)
		}
	}
	if twice > 2*mostEqual {
		return false
	}
	for _, a := range j.same {
		for _, b := range all[of(a)] {
			if leaf[j.Owner[a]] != leaf[j.Owner[b]] {
				j.link = append(j.link, scope.Equality{A: a, B: b})
			}
		}
	}
	return true
}

// equalColumns are the pairs of a leaf's columns and those of others, of j.link.
func (j *joining) equalColumns(p *joinSide, others []*joinSide) (out []scope.Equality) {
	for _, e := range j.link {
		if p.hasScan(j.Owner[e.A]) && slices.ContainsFunc(others, func(o *joinSide) bool { return o.hasScan(j.Owner[e.B]) }) {
			out = append(out, e)
		}
	}
	return out
}

// isJoinKeyPair: values of either type that equal one value of the other are one group of GROUP BY, in both backends (J5): there is one equality of whole numbers of all widths, and one of text and varchar, which the frequencies' groups have too.
func isJoinKeyPair(a, b sqltype.Type) bool {
	return isJoinKeyType(a) && isJoinKeyType(b) && keyKind(a) == keyKind(b)
}

// keyKind is one type for all that have one equality.
func keyKind(t sqltype.Type) sqltype.OID {
	switch {
	case t.IsInteger():
		return sqltype.OIDInt8
	case relation.IsVarText(t):
		return sqltype.OIDText
	}
	return t.OID
}

// isJoinKeyType: values of the type that "=" holds equal are one group of GROUP BY, in both backends (J5).
func isJoinKeyType(t sqltype.Type) bool {
	return relation.HasOneSpelling(t) && t.OID != sqltype.OIDTimetz || t.OID == sqltype.OIDNumeric || t.OID == sqltype.OIDBPChar
}

// unjoined refuses leaves that no equality of columns joins, or none that may be a key.
func (j *joining) unjoined(done, rest []*joinSide) error {
	s, p := rest[0].scans[0], done[len(done)-1].scans[0]
	refuse := func(format string, args ...any) *sqlerr.Error {
		err := sqlerr.New(sqlerr.JoinOffUnit, format, args...).At(s.Scan.Pos)
		if b := j.JoinOf(s, p, j.Blocks[0]); b != nil {
			err = err.At(b.Pos)
		}
		return err
	}
	for _, r := range rest {
		for _, a := range j.same {
			for _, b := range j.same {
				if !isJoinKeyType(j.TypeOf(a)) && r.hasScan(j.Owner[a]) && slices.ContainsFunc(done, func(o *joinSide) bool { return o.hasScan(j.Owner[b]) }) && j.eq.Same(a, b) {
					at := j.Owner[a]
					return refuse("nothing joins %s with the other tables but an equality of %s, and %s are no key of a join off the privacy unit: equal ones may be spelled in several ways", at.Name(), at.Column(slices.Index(at.Scan.Columns, a)), j.TypeOf(a)).
						WithHint("Join it by = of a column of each of another type too: whole numbers, numeric, text, boolean, dates or times; or join the tables on the privacy unit.")
				}
			}
		}
	}
	return refuse("nothing joins %s with the other tables but conditions that are no equality of two columns of one type", s.Name()).
		WithHint("Join it by = of a column of each, of one type (whole numbers of any width are one, and texts): how often a value occurs there bounds what one person changes.")
}

// OfJoined refuses aggregates that are not sums over joined rows.
func OfJoined(g plan.AggItem) error {
	refuse := func(what string) error {
		return sqlerr.New(sqlerr.JoinOffUnit, "%s over rows that are joined off the privacy unit is not supported", what).At(g.Pos).
			WithHint("COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x) and AVG(x) of values with a declared range are there.")
	}
	switch g.Fn {
	case plan.CountRows, plan.Count:
		return nil
	case plan.Sum, plan.Avg:
		if !g.Distinct {
			return nil
		}
		return refuse(string(g.Fn) + "(DISTINCT ...)")
	}
	return refuse(string(g.Fn))
}
