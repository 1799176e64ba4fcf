package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// The one rule that makes a view a view, and whether its reads use the reader's own rights.
const ruleQuery = `
	SELECT c.oid, r.ev_action::text, c.relkind = 'v' AND r.ev_type = '1' AND r.is_instead AND r.ev_qual::text = '<>',
		c.relkind = 'v' AND EXISTS (SELECT FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_invoker' AND option_value::bool)
	FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE r.rulename = '_RETURN' AND c.oid = ANY ($1::int8[]::oid[])`

// What the rule names: relations, also those that its tree does not show where it could not be read.
const dependsQuery = `
	SELECT DISTINCT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
	WHERE d.refclassid = 'pg_class'::regclass AND r.ev_class = ANY ($1::int8[]::oid[]) AND d.refobjid <> r.ev_class`

// What gives the same rows: partitions and heirs below, and the tables above.
const kinQuery = `
	WITH RECURSIVE down(oid) AS (
		SELECT unnest($1::int8[]::oid[]) UNION SELECT i.inhrelid FROM down JOIN pg_inherits i ON i.inhparent = down.oid),
	up(oid) AS (SELECT oid FROM down UNION SELECT i.inhparent FROM up JOIN pg_inherits i ON i.inhrelid = up.oid)
	SELECT n.nspname::text, c.relname::text, c.oid FROM up JOIN pg_class c ON c.oid = up.oid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.oid >= 16384 ORDER BY 1, 2`

// From whom row-level security hides rows of $2 where a view reads them: from its owner, or from whoever reads through it.
const hiddenQuery = `
	SELECT coalesce((
		SELECT quote_ident(e.rolname) FROM pg_class v JOIN pg_roles e ON CASE WHEN $3::bool THEN e.rolname = current_user ELSE e.oid = v.relowner END,
			pg_class t
		WHERE v.oid = $1::int8::oid AND t.oid = ANY ($2::int8[]::oid[]) AND t.relrowsecurity AND NOT e.rolsuper AND NOT e.rolbypassrls
			AND (t.relforcerowsecurity OR NOT pg_has_role(e.oid, t.relowner, 'USAGE')) LIMIT 1), '')`

// calledFunctions adds to the relations of r the functions that the rules of their views call, by themselves, through operators, and
// in bodies that PostgreSQL has parsed.
const calledFunctions = `
	f(oid) AS (
		SELECT x.oid FROM r JOIN pg_rewrite w ON w.ev_class = r.oid
			JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid, LATERAL (
			SELECT d.refobjid WHERE d.refclassid = 'pg_proc'::regclass
			UNION ALL SELECT o.oprcode FROM pg_operator o WHERE d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid) x(oid)
		UNION SELECT d.refobjid FROM f JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_proc'::regclass)`

// definitionQuery prints what a view is: its query and those of the views below it, and the functions of users that they call. Names are
// qualified, because search_path is empty.
const definitionQuery = `
	WITH RECURSIVE r(oid) AS (
		SELECT $1::int8::oid UNION SELECT d.refobjid FROM r JOIN pg_rewrite w ON w.ev_class = r.oid
			JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass),` + calledFunctions + `
	SELECT coalesce(string_agg(x, E'\n' ORDER BY x), '') FROM (
		SELECT c.oid::regclass::text || ' ' || pg_get_viewdef(c.oid) FROM r JOIN pg_class c USING (oid) WHERE c.relkind IN ('v', 'm')
		UNION ALL SELECT concat_ws(' ', p.oid::regprocedure, to_jsonb(p) - '{oid,proname,pronamespace,proowner,proacl,procost,prorows}'::text[], to_jsonb(a) - 'aggfnoid')
			FROM f JOIN pg_proc p USING (oid) LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE p.oid >= 16384) s(x)`

// view is one view's definition.
type view struct {
	oid      uint32
	query    *treeNode // nil if it is not understood
	plain    bool      // a view as CREATE VIEW makes it
	followed bool      // on the way to the bottom: views can be made to read each other
	invoker  bool
	hidden   string // the role from which rows of some table below are
	known    *functions
	reads    map[uint32]bool // directly
	volatile []string        // with those of the views below
	opaque   []string
	below    map[uint32]bool // all that it reads, through views
}

// viewOf reads a view and those below it.
func (c *catalog) viewOf(oid uint32) (*view, error) {
	if v := c.views[oid]; v != nil {
		return v, nil
	}
	v := &view{oid: oid, reads: map[uint32]bool{}, below: map[uint32]bool{}}
	if c.views == nil {
		c.views = map[uint32]*view{}
	}
	c.views[oid] = v
	if err := c.rule(v); err != nil {
		return nil, err
	}
	read := slices.Sorted(maps.Keys(v.reads))
	inner, err := c.viewsAmong(read)
	if err != nil {
		return nil, err
	}
	for _, r := range read {
		v.below[r] = true
	}
	err = c.tx.QueryRow(c.ctx, hiddenQuery, int64(oid), int64s(read), v.invoker).Scan(&v.hidden)
	if err != nil {
		return nil, err
	}
	for _, r := range inner {
		w, err := c.viewOf(r)
		if err != nil {
			return nil, err
		}
		maps.Copy(v.below, w.below)
		v.hidden = cmp.Or(v.hidden, w.hidden)
		v.volatile = sortedSet(append(v.volatile, w.volatile...))
		v.opaque = sortedSet(append(v.opaque, w.opaque...))
	}
	return v, nil
}

// rule reads a view's own definition.
func (c *catalog) rule(v *view) error {
	at := []int64{int64(v.oid)}
	var text string
	err := c.each(ruleQuery, at, func(q pgx.Rows) error {
		var oid uint32
		return q.Scan(&oid, &text, &v.plain, &v.invoker)
	})
	if err != nil {
		return err
	}
	err = c.each(dependsQuery, at, func(q pgx.Rows) error {
		var oid uint32
		err := q.Scan(&oid)
		v.reads[oid] = true
		return err
	})
	if err != nil {
		return err
	}
	if v.query = queryOf(text); v.query == nil {
		v.volatile = []string{"a definition that dpsql does not understand"}
		return nil
	}
	walkTree(v.query, func(n *treeNode) {
		if oid := n.oid("relid"); oid != 0 && oid != v.oid {
			v.reads[oid] = true
		}
	})
	if v.known, err = c.functionsOf(v.query); err != nil {
		return err
	}
	v.volatile, v.opaque = v.known.effects(v.query)
	return nil
}

// queryOf gives a rule's one query, or nil if the text is not understood.
func queryOf(text string) *treeNode {
	tree, err := parseTree(text)
	list, ok := tree.([]any)
	if err != nil || !ok || len(list) != 1 {
		return nil
	}
	query, _ := list[0].(*treeNode)
	return query
}

func (c *catalog) viewsAmong(read []uint32) ([]uint32, error) {
	found, err := collectOIDs(c.tx.Query(c.ctx,
		`SELECT oid FROM pg_class WHERE oid = ANY ($1::int8[]::oid[]) AND relkind IN ('v', 'm') AND oid >= 16384 ORDER BY oid`, int64s(read)))
	var out []uint32
	for _, o := range found {
		out = append(out, uint32(o))
	}
	return out, err
}

func int64s(list []uint32) []int64 {
	out := make([]int64, len(list))
	for i, o := range list {
		out[i] = int64(o)
	}
	return out
}

// describeView puts what a view is made of on its relation.
func (c *catalog) describeView(e *entry) error {
	v, err := c.viewOf(e.oid)
	if err != nil {
		return err
	}
	facts := &sqltype.ViewFacts{Volatile: v.volatile, Opaque: v.opaque}
	e.View, e.RowSecurity = facts, v.hidden
	below := slices.Sorted(maps.Keys(v.below))
	err = c.each(kinQuery, int64s(below), func(q pgx.Rows) error {
		var name sqltype.QualifiedName
		var oid uint32
		err := q.Scan(&name.Schema, &name.Name, &oid)
		facts.Reads = append(facts.Reads, name)
		return err
	})
	if err != nil {
		return err
	}
	if e.Kind == sqltype.KindMatView {
		facts.Why = "it is a copy of an earlier time"
		return nil
	}
	base, plain, err := c.bottom(v)
	var why notSimple
	switch {
	case errors.As(err, &why):
		facts.Why = string(why)
		return nil
	case err != nil:
		return err
	}
	facts.Simple, facts.Base = true, sqltype.QualifiedName{Schema: base.Schema, Name: base.Name}
	facts.BaseColumns = map[string]string{}
	for i, at := range e.attnums {
		if j := slices.Index(base.attnums, plain[at]); j >= 0 && plain[at] != 0 {
			facts.BaseColumns[e.Columns[i].Name] = base.Columns[j].Name
			e.Columns[i].NotNull, e.Columns[i].TextBy = base.Columns[j].NotNull, base.Columns[j].TextBy
		}
	}
	e.passThrough(base)
	return nil
}

// bottom follows simple views down to their table, with the attributes that are plain all the way.
//
// Proof: claim: a chain of simple views is one. A row of the upper view comes from exactly one row of the lower one, that from
// one row of its relation, and so on; a composition of such maps is such a map. The last is (1) a table whose rows are its own,
// or those of its partitions: not a copy, nor what a foreign server says, nor the heirs' too.
func (c *catalog) bottom(v *view) (*entry, map[int16]int16, error) {
	if !v.plain || v.query == nil || v.followed {
		return nil, nil, notSimple("its definition is not one that dpsql understands")
	}
	v.followed = true
	defer func() { v.followed = false }()
	s, err := simple(v.query, v.known)
	if err != nil {
		return nil, nil, err
	}
	if s.base < firstUserOID {
		return nil, nil, notSimple("it reads a system catalog")
	}
	found, err := c.entries([]int64{int64(s.base)})
	if err != nil {
		return nil, nil, err
	}
	if len(found) != 1 {
		return nil, nil, notSimple("what it reads is not there")
	}
	below := found[0]
	switch below.Kind {
	case sqltype.KindTable: // (1) rows of its own, or of its partitions
		if below.virtual {
			return nil, nil, notSimple(fmt.Sprintf("%s.%s has virtual generated columns", below.Schema, below.Name))
		}
		return below, s.plain, nil
	case sqltype.KindView:
		w, err := c.viewOf(s.base)
		if err != nil {
			return nil, nil, err
		}
		base, deeper, err := c.bottom(w)
		var why notSimple
		if errors.As(err, &why) {
			return nil, nil, notSimple(fmt.Sprintf("it reads the view %s.%s, where %s", below.Schema, below.Name, string(why)))
		}
		plain := map[int16]int16{}
		for own, at := range s.plain {
			plain[own] = deeper[at]
		}
		return base, plain, err
	}
	return nil, nil, notSimple(fmt.Sprintf("%s.%s is no plain table", below.Schema, below.Name))
}

// passThrough gives a simple view what its base's constraints say of its rows.
//
// Proof: claims: (1) a key of the base whose columns the view shows is one of the view, since its rows are some of the base's,
// each once. (2) A foreign key of the base tells to whom the view's rows belong whether or not its columns are shown: hidden ones
// get a name that is no column of the view, so that they cannot be taken for one that has their name.
func (e *entry) passThrough(base *entry) {
	shown := map[string]string{}
	for i := len(e.Columns) - 1; i >= 0; i-- { // of several, the first
		if b, ok := e.View.BaseColumns[e.Columns[i].Name]; ok {
			shown[b] = e.Columns[i].Name
		}
	}
	rename := func(columns []string) (out []string, all bool) {
		all = true
		for _, name := range columns {
			as, ok := shown[name]
			if all = all && ok; !ok {
				as = e.hiddenName(base.Name, name)
			}
			out = append(out, as)
		}
		return out, all
	}
	for _, k := range base.Keys {
		if key, all := rename(k); all { // (1) a key whose columns are all shown
			e.Keys = append(e.Keys, key)
		}
	}
	for _, k := range base.ForeignKeys { // (2) shown or not
		k.Columns, _ = rename(k.Columns)
		e.ForeignKeys = append(e.ForeignKeys, k)
	}
	for _, u := range base.Unenforced {
		u.Columns, _ = rename(u.Columns)
		e.Unenforced = append(e.Unenforced, u)
	}
}

func (e *entry) hiddenName(table, name string) string {
	for {
		if _, taken := e.Column(name); !taken {
			return name
		}
		name = table + "." + name
	}
}
