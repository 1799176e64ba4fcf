package groups

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// AddSource finds the public values of key i, if it has any. What is no known form has none: groups are public by policy, literals and public tables alone (Analyze, (8)).
func (z *Grouper) AddSource(i int) error {
	id := z.Base(z.Out.Keys[i].Col)
	t := z.Out.Keys[i].Type
	if d, ok := z.Defs[id]; ok {
		if z.AddFixed(i, d.Expr, t, d.In.Parent != nil) || d.In.Parent != nil {
			return nil
		}
		if s, only := z.onlyLiteral(d.Expr); s != nil && z.addLiterals(i, s, only, d.Expr) {
			return nil
		}
		n := len(z.Out.Groups.Sources)
		if err := z.AddDerived(i, d.Expr); err != nil || len(z.Out.Groups.Sources) > n {
			return err
		}
		z.addWhole(i, d.Expr)
		return nil
	}
	s := z.Owner[id]
	if s == nil {
		return sqlerr.New(sqlerr.Internal, "a key is no column of the body")
	}
	attr := slices.Index(s.Scan.Columns, id)
	if !s.Private() && s.Scan.Rows != nil {
		z.addLiterals(i, s, id, &plan.Col{ID: id, T: t})
		return nil
	}
	if !s.Private() {
		z.addJoined(i, s, attr)
		return nil
	}
	c := s.Scan.Table.Columns[attr]
	if d := c.Domain; d != nil && d.From == nil {
		z.addDomain(i, s, attr)
		return nil
	}
	if p, a := z.publicEqual(id, t); p != nil {
		z.addJoined(i, p, a)
		return nil
	}
	switch {
	case c.Domain != nil:
		if z.Opts.Public != nil {
			allowed, _ := z.Allowed(s, id)
			z.append(sensitivity.Source{Keys: []int{i}, Table: c.Domain.From, Columns: []int{c.Domain.FromColumn}, Why: "values of " + z.TableColumn(s, attr),
				Complete: c.Domain.OrNull || !allowed(nil) || !z.CanBeNull(&plan.Col{ID: id, T: t}, interval.Stored), Unlisted: !refersTo(s.Scan.Table, attr, c.Domain)}, c.Domain.OrNull || s.Nullable())
			z.warnUnlisted(id, z.Out.Groups.Sources[len(z.Out.Groups.Sources)-1])
		}
	case t.OID == sqltype.OIDBool:
		z.append(sensitivity.Source{Keys: []int{i}, Tuples: booleans, Fixed: true, Why: "true and false"}, z.canKeyBeNull(&plan.Col{ID: id, T: t}))
	default:
		return z.AddDerived(i, &plan.Col{ID: id, T: t})
	}
	return nil
}

var booleans = [][]sqltype.Value{{false}, {true}}

func (z *Grouper) append(s sensitivity.Source, null bool) {
	if null && s.Table == nil && !slices.ContainsFunc(s.Tuples, isAllNull) {
		s.Tuples = append(slices.Clone(s.Tuples), make([]sqltype.Value, len(s.Keys)))
	}
	if null && s.Table != nil {
		z.Padded[len(z.Out.Groups.Sources)] = true
	}
	z.Out.Groups.Sources = append(z.Out.Groups.Sources, s)
}

func isAllNull(t []sqltype.Value) bool {
	return !slices.ContainsFunc(t, func(v sqltype.Value) bool { return v != nil })
}

// addDomain takes a list of the policy, but for what WHERE leaves out. NULL is in it only if listed, or where padding brings it.
func (z *Grouper) addDomain(i int, s *scope.ScanInfo, attr int) {
	src := sensitivity.Source{Keys: []int{i}, Why: "values of " + z.TableColumn(s, attr)}
	allowed, nodes := z.Allowed(s, s.Scan.Columns[attr])
	if nodes*len(s.Scan.Table.Columns[attr].Domain.Values) > interval.MostChecked {
		allowed = func(sqltype.Value) bool { return true }
	}
	for _, v := range s.Scan.Table.Columns[attr].Domain.Values {
		if !allowed(v) {
			continue
		}
		t := []sqltype.Value{nil}
		if v != nil {
			t[0] = Literal(v, z.Out.Keys[i].Type)
		}
		if !slices.ContainsFunc(src.Tuples, func(o []sqltype.Value) bool { return isSameTuple(o, t) }) {
			src.Tuples = append(src.Tuples, t)
		}
	}
	id := s.Scan.Columns[attr]
	src.Complete = slices.ContainsFunc(src.Tuples, isAllNull) || !allowed(nil) || !z.CanBeNull(&plan.Col{ID: id, T: z.TypeOf(id)}, interval.Stored)
	src.Unlisted = !z.isListed(s, attr)
	z.append(src, s.Nullable())
	if len(src.Tuples) > 0 {
		z.warnUnlisted(id, src)
	}
}

// warnUnlisted notes that rows may have values of a column that are in no group. Conditions that ask for values are told of elsewhere (noteUnlisted).
func (z *Grouper) warnUnlisted(id plan.ColID, src sensitivity.Source) {
	if src.Unlisted && !slices.ContainsFunc(z.Blocks[0].Conds, func(x plan.Scalar) bool {
		of, _ := z.askedConsts(x)
		return of == id
	}) {
		z.Out.UnlistedGroups = append(z.Out.UnlistedGroups, z.Out.VisibleName(id))
	}
}

// isListed: rows that the conditions keep have none but listed values of a column, by its constraints, its type or the conditions.
func (z *Grouper) isListed(s *scope.ScanInfo, attr int) bool {
	c, id := s.Scan.Table.Columns[attr], s.Scan.Columns[attr]
	isThere := func(v sqltype.Value) bool { return slices.Contains(c.Domain.Values, v) }
	switch {
	case c.Domain.Enforced:
		return true
	case c.Type.OID == sqltype.OIDBool:
		return isThere(false) && isThere(true)
	case c.Type.IsEnum():
		e, _ := c.Type.Enum()
		return !slices.ContainsFunc(e.Labels, func(label string) bool { return !isThere(label) })
	}
	return slices.ContainsFunc(z.Blocks[0].Conds, func(x plan.Scalar) bool {
		of, consts := z.askedConsts(x)
		return of == id && consts != nil && !slices.ContainsFunc(consts, func(k *plan.Const) bool { return !isThere(k.Value) })
	})
}

// refersTo: the database holds all values of a column to those of the table that the policy takes its list from.
func refersTo(t *plan.Table, attr int, d *plan.Domain) bool {
	return slices.ContainsFunc(t.References, func(r plan.Reference) bool {
		return r.Table == d.From && slices.Equal(r.Columns, []int{attr}) && slices.Equal(r.RefColumns, []int{d.FromColumn})
	})
}

func isSameTuple(a, b []sqltype.Value) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && sqltype.Compare(a[i], b[i]) != 0 {
			return false
		}
	}
	return true
}

// addJoined takes a column of a public scan; columns of one scan are one source.
func (z *Grouper) addJoined(i int, s *scope.ScanInfo, attr int) {
	if z.Opts.Public == nil || s.Scan.Rows != nil { // of a table alone: its values are read without the statement's conditions
		return
	}
	if at, ok := z.Joined[s]; ok {
		src := &z.Out.Groups.Sources[at]
		src.Keys, src.Columns = append(src.Keys, i), append(src.Columns, attr)
		return
	}
	z.Joined[s] = len(z.Out.Groups.Sources)
	z.append(sensitivity.Source{Keys: []int{i}, Table: s.Scan.Table, Columns: []int{attr}, Joined: true, Complete: true, Why: "rows of " + s.Scan.Table.Name}, s.Nullable())
}

// publicEqual finds a column of a public scan that equals the private one in every row.
func (z *Grouper) publicEqual(id plan.ColID, t sqltype.Type) (*scope.ScanInfo, int) {
	if !relation.HasOneSpelling(t) {
		return nil, 0
	}
	eq := z.ClassesOf(z.Blocks[0])
	for _, s := range z.Scans {
		if s.Private() || s.Nullable() || s.Scan.Rows != nil {
			continue
		}
		for i, c := range s.Scan.Columns {
			if eq.Same(c, id) && s.Scan.Table.Columns[i].Type.OID == t.OID {
				return s, i
			}
		}
	}
	return nil, 0
}

// AddFixed takes expressions with few results by their form: constants, CASE over constants, booleans, calls of functions that have listed Results.
func (z *Grouper) AddFixed(i int, x plan.Scalar, t sqltype.Type, padded bool) bool {
	vals, why, ok := z.results(x, t)
	if ok {
		if !padded {
			vals = z.reachableResults(x, vals, t)
		}
		src := sensitivity.Source{Keys: []int{i}, Fixed: true, Why: why}
		for _, v := range vals {
			tuple := []sqltype.Value{v}
			if !slices.ContainsFunc(src.Tuples, func(o []sqltype.Value) bool { return isSameTuple(o, tuple) }) {
				src.Tuples = append(src.Tuples, tuple)
			}
		}
		z.append(src, padded)
	}
	return ok
}

func (z *Grouper) results(x plan.Scalar, t sqltype.Type) ([]sqltype.Value, string, bool) {
	switch n := x.(type) {
	case *plan.Const:
		if n.Value == nil {
			return []sqltype.Value{nil}, "a constant", true
		}
		return []sqltype.Value{Literal(n.Value, t)}, "a constant", true
	case *plan.Call:
		if v, ok := relation.ConstantCall(n); ok {
			return []sqltype.Value{Literal(v, t)}, "a constant", true
		}
		if n.Fn.Results != nil {
			out := []sqltype.Value{nil}
			for _, v := range n.Fn.Results {
				out = append(out, Literal(v, t))
			}
			return nullLast(out), "the places of a model's scores", true
		}
		if n.Fn.Name == funcs.ChoiceName {
			out := []sqltype.Value{nil}
			for _, a := range n.Args[1:] {
				vals, _, ok := z.results(a, t)
				if !ok {
					return nil, "", false
				}
				out = append(out, vals...)
			}
			return nullLast(out), "the classes of a model", true
		}
	case *plan.Case:
		var out []sqltype.Value
		parts := []plan.Scalar{}
		for _, w := range n.Whens {
			parts = append(parts, w.Result)
		}
		if n.Else != nil {
			parts = append(parts, n.Else)
		} else {
			out = append(out, nil)
		}
		for _, p := range parts {
			vals, _, ok := z.results(p, t)
			if !ok {
				return nil, "", false
			}
			out = append(out, vals...)
		}
		return nullLast(out), "the results of CASE", true
	}
	if t.OID != sqltype.OIDBool {
		return nil, "", false
	}
	if z.canKeyBeNull(x) {
		return []sqltype.Value{false, true, nil}, "true and false", true
	}
	return []sqltype.Value{false, true}, "true and false", true
}

func nullLast(vals []sqltype.Value) []sqltype.Value {
	slices.SortStableFunc(vals, func(a, b sqltype.Value) int {
		switch {
		case a == nil && b != nil:
			return 1
		case a != nil && b == nil:
			return -1
		}
		return 0
	})
	return vals
}

// ReadSource reads the values of a public table. Where they are too many, or hold what is no value of the key's type, the keys
// count as unknown.
func (z *Grouper) ReadSource(at int) error {
	s := &z.Out.Groups.Sources[at]
	if s.Table == nil {
		return nil
	}
	if !s.Table.Public {
		return sqlerr.New(sqlerr.Internal, "%s is not public", s.Table.Name)
	}
	limit := int(min(z.Opts.MaxPublicGroups, maxTuples))
	here, around, attrs, cols := []condition(nil), []condition(nil), s.Columns, []plan.ColID(nil)
	if of := z.scanOf(at); of != nil {
		here, around, attrs, cols = z.rowConditions(of, s)
	}
	tuples, err := z.Opts.Public.Distinct(z.Ctx, s.Table, attrs, limit)
	if err == nil && len(tuples) > limit && len(attrs) > len(s.Columns) { // with fewer columns there are fewer
		own := func(c condition) bool {
			return slices.ContainsFunc(c.cols, func(id plan.ColID) bool { return slices.Index(cols, id) >= len(s.Columns) })
		}
		here, around = slices.DeleteFunc(here, own), slices.DeleteFunc(around, own)
		tuples, err = z.Opts.Public.Distinct(z.Ctx, s.Table, s.Columns, limit)
	}
	if err != nil {
		return err
	}
	if len(tuples) > limit {
		s.Keys = nil
		return nil
	}
	present, padded := keep(here, cols, len(tuples)), keep(around, cols, 1)
	if id := z.Base(z.Out.Keys[s.Keys[0]].Col); !s.Joined && z.Owner[id] != nil {
		if allowed, nodes := z.Allowed(z.Owner[id], id); nodes*len(tuples) <= interval.MostChecked {
			present = func(t []sqltype.Value) bool { return allowed(t[0]) }
		}
	}
	var out [][]sqltype.Value
	seen := map[string]bool{}
	for _, t := range tuples {
		c := make([]sqltype.Value, len(s.Keys))
		skip := !present(t)
		for i, v := range t[:len(c)] {
			if v != nil {
				c[i] = Literal(v, z.Out.Keys[s.Keys[i]].Type)
			}
			skip = skip || v == nil && !s.Joined // NULL is a value of a domain only where the policy lists it
		}
		if key := TupleText(c); !skip && !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	if of := cols; len(out) < len(tuples) {
		if of == nil {
			of = z.keyBases(s)
		}
		z.keepListed(of[:min(len(of), len(tuples[0]))], tuples)
	}
	if null := make([]sqltype.Value, len(s.Keys)); z.Padded[at] && !seen[TupleText(null)] && padded(make([]sqltype.Value, len(cols))) {
		out = append(out, null)
	}
	s.Tuples = out
	return nil
}

// scanOf is the public scan whose columns a source's keys are; nil for none.
func (z *Grouper) scanOf(at int) *scope.ScanInfo {
	for s, i := range z.Joined {
		if i == at && z.Out.Groups.Sources[at].Joined {
			return s
		}
	}
	return nil
}

// maxTuples keeps the reading of one source in memory whatever the policy says.
const maxTuples = 1_000_000

// TupleText is equal for equal tuples of canonical values and no others.
func TupleText(t []sqltype.Value) string {
	var b []byte
	for _, v := range t {
		kind, text := "", ""
		switch x := v.(type) { // the usual ones, without reflection
		case int64:
			kind, text = "int64", strconv.FormatInt(x, 10)
		case string:
			kind, text = "string", x
		case decimal.Decimal:
			kind, text = "decimal.Decimal", x.String()
		default:
			kind, text = fmt.Sprintf("%T", v), fmt.Sprint(v)
		}
		b = append(append(strconv.AppendInt(append(b, kind...), int64(len(text)), 10), ':'), text...)
		b = append(b, ';')
	}
	return string(b)
}
