package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
)

var _ backend.Auditor = (*DB)(nil)

// readerRole is the role that the script makes where the connected one should not be used at all.
const readerRole = "dpsql_reader"

const selfQuery = `
	SELECT r.oid, r.rolname::text, quote_ident(r.rolname), quote_ident(current_database()), r.rolsuper, r.rolcreatedb, r.rolcreaterole,
		r.rolreplication, r.rolbypassrls, current_setting('server_version_num')::int, EXISTS (SELECT FROM pg_roles WHERE rolname = $1)
	FROM pg_roles r WHERE r.rolname = current_user`

// Roles whose rights the role has or can take on, with the membership of its own that leads there, and what is dangerous in
// each: an attribute, or a role that PostgreSQL itself gives rights to.
const membershipsQuery = `
	WITH RECURSIVE m(oid, first) AS (
		SELECT roleid, roleid FROM pg_auth_members WHERE member = $1::int8::oid
		UNION SELECT a.roleid, m.first FROM m JOIN pg_auth_members a ON a.member = m.oid)
	SELECT m.oid, quote_ident(r.rolname), quote_ident(f.rolname), coalesce(quote_ident(g.rolname), ''),
		r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls OR m.oid < 16384
	FROM m JOIN pg_roles r ON r.oid = m.oid JOIN pg_roles f ON f.oid = m.first
	JOIN pg_auth_members own ON own.roleid = m.first AND own.member = $1::int8::oid LEFT JOIN pg_roles g ON g.oid = own.grantor
	ORDER BY 3, 2, 4`

// What the roles own here or in all databases; more than a few are counted only.
const ownedQuery = `
	SELECT d.refobjid, (array_agg(pg_describe_object(d.classid, d.objid, d.objsubid) ORDER BY d.classid, d.objid))[1:3], count(*)
	FROM pg_shdepend d WHERE d.deptype = 'o' AND d.refclassid = 'pg_authid'::regclass AND d.refobjid = ANY ($1::int8[]::oid[])
		AND d.dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
	GROUP BY d.refobjid`

// Rights that were granted to the roles, or to everybody (grantee 0), by where they are: what kind of thing, the thing, the
// columns. $2 are the relations that may be read. What everybody has is as PostgreSQL made it on its own things (made 2), and
// often meant by an extension on its own (made 1), but for writing. A grantor is told if it is not the owner; and whether only passing
// the right on is too much.
const grantsQuery = `
	WITH acl(kind, name, columns, owner, made, allowed, a) AS (
		SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, format('%I.%I', n.nspname, c.relname), '', c.relowner,
			CASE WHEN c.oid < 16384 THEN 2 WHEN EXISTS (SELECT FROM pg_depend d
				WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') THEN 1 ELSE 0 END,
			CASE WHEN c.oid = ANY ($2::int8[]::oid[]) THEN 'SELECT' END, aclexplode(c.relacl)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relacl IS NOT NULL AND n.nspname !~ '^pg_(toast|temp)'
		UNION ALL SELECT 'TABLE', format('%I.%I', n.nspname, c.relname), format(' (%I)', t.attname), c.relowner,
			CASE WHEN c.oid < 16384 THEN 2 ELSE 0 END, CASE WHEN c.oid = ANY ($2::int8[]::oid[]) THEN 'SELECT' END, aclexplode(t.attacl)
		FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE t.attacl IS NOT NULL AND NOT t.attisdropped
		UNION ALL SELECT 'SCHEMA', format('%I', nspname), '', nspowner, 0, 'USAGE', aclexplode(nspacl) FROM pg_namespace WHERE nspacl IS NOT NULL
		UNION ALL SELECT 'DATABASE', format('%I', datname), '', datdba, 0, 'CONNECT', aclexplode(coalesce(datacl, acldefault('d', datdba)))
		FROM pg_database WHERE datname = current_database()
		UNION ALL SELECT 'FOREIGN SERVER', format('%I', srvname), '', srvowner, 0, NULL, aclexplode(srvacl)
		FROM pg_foreign_server WHERE srvacl IS NOT NULL
		UNION ALL SELECT CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, oid::regprocedure::text, '', proowner,
			CASE WHEN oid < 16384 THEN 2 ELSE 0 END, NULL, aclexplode(coalesce(proacl, acldefault('f', proowner)))
		FROM pg_proc WHERE prosecdef OR oid < 16384 AND proacl IS NOT NULL),
	held AS (
		SELECT kind, name, columns, owner, allowed, made, (a).grantee, (a).grantor, (a).privilege_type, (a).is_grantable FROM acl
		WHERE (a).grantee = ANY ($1::int8[]::oid[]) AND (a).grantee <> owner)
	SELECT kind, name, grantee, coalesce(quote_ident(r.rolname), ''), bool_or(is_grantable), coalesce(privilege_type = allowed, false),
		string_agg(privilege_type || columns, ', ' ORDER BY privilege_type, columns)
	FROM held LEFT JOIN pg_roles r ON r.oid = grantor AND grantor <> owner
	WHERE (allowed IS NULL OR privilege_type <> allowed OR is_grantable)
		AND NOT (grantee = 0 AND (made = 2 OR made = 1 AND privilege_type NOT IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')))
	GROUP BY kind, name, grantee, 4, 6 ORDER BY kind, name, grantee, 4, 6`

// Rights on what will be made later.
const defaultsQuery = `
	SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I %s', o.rolname, coalesce('IN SCHEMA ' || quote_ident(n.nspname), '')),
		CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'n' THEN 'SCHEMAS' WHEN 'T' THEN 'TYPES' ELSE 'ROUTINES' END,
		x.grantee, string_agg(x.privilege_type, ', ' ORDER BY x.privilege_type)
	FROM pg_default_acl d JOIN pg_roles o ON o.oid = d.defaclrole LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace, aclexplode(d.defaclacl) x
	WHERE x.grantee = ANY ($1::int8[]::oid[]) AND x.grantee <> d.defaclrole AND d.defaclobjtype IN ('r', 'S', 'n')
	GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

// What the listed relations need of $1 itself or of everybody: the schema's USAGE, and SELECT, of the table or of columns. Those without are told.
const needsQuery = `
	SELECT c.oid, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname), quote_ident(n.nspname),
		EXISTS (SELECT FROM aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) x WHERE x.grantee IN (0, $1::int8::oid) AND x.privilege_type = 'USAGE'),
		EXISTS (SELECT FROM aclexplode(c.relacl) x WHERE x.grantee IN (0, $1::int8::oid) AND x.privilege_type = 'SELECT'),
		ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			AND EXISTS (SELECT FROM aclexplode(a.attacl) x WHERE x.grantee IN (0, $1::int8::oid) AND x.privilege_type = 'SELECT')),
		ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT')),
		ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), has_schema_privilege(n.oid, 'USAGE')
	FROM unnest($2::int8[]) WITH ORDINALITY w(oid, i) JOIN pg_class c ON c.oid = w.oid::oid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY w.i`

// Relations that a view reads with its reader's own rights have to be readable too, below a view that reads with its owner's as well.
const throughInvokersQuery = `
	WITH RECURSIVE through(oid, by_reader) AS (
		SELECT oid::oid, true FROM unnest($1::int8[]) u(oid)
		UNION SELECT d.refobjid, EXISTS (SELECT FROM pg_options_to_table(v.reloptions) WHERE option_name = 'security_invoker' AND option_value::bool)
		FROM through JOIN pg_class v ON v.oid = through.oid
			JOIN pg_rewrite r ON r.ev_class = v.oid JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
		WHERE d.refclassid = 'pg_class'::regclass AND v.relkind = 'v' AND d.refobjid <> v.oid)
	SELECT oid FROM through WHERE by_reader`

// Whether row-level security binds a reader of the relations who owns none of them and may not read past it.
const hidesQuery = `SELECT EXISTS (SELECT FROM pg_class WHERE oid = ANY ($1::int8[]::oid[]) AND relrowsecurity)`

// Audit compares the connected role's rights with what reading the listed relations needs: nothing else. Rights through
// other roles count whether or not they are inherited, and so do everybody's (PUBLIC). A superuser or an owner of anything is
// told to leave dpsql a role of its own: taking rights from such a role would break what it is for. Not looked at: what PUBLIC may do with the
// system's own things, large objects, tablespaces, languages and parameters. BYPASSRLS is needed where row-level security would hide rows
// of a listed relation, and too much elsewhere. That a role lacks it Describe says (sqltype.Relation.RowSecurity): it is no finding, but the script grants it.
func (d *DB) Audit(ctx context.Context, listed []backend.Listed) (*backend.Audit, error) {
	var out *backend.Audit
	err := d.inSnapshot(ctx, func(t pgx.Tx) error {
		a := &audit{catalog: catalog{ctx: ctx, tx: t}, leads: map[uint32]string{}, columns: map[uint32][]string{}}
		var oids []int64
		for _, l := range listed {
			of, err := named(ctx, t, []backend.RelationName{l.RelationName})
			if err != nil {
				return err
			}
			for _, oid := range of {
				oids, a.columns[uint32(oid)] = append(oids, oid), l.Columns //nolint:gosec // G115: an oid
			}
		}
		var err error
		if a.listed, err = collectOIDs(t.Query(ctx, throughInvokersQuery, oids)); err != nil {
			return err
		}
		out, err = a.run()
		return err
	})
	return out, err
}

// audit is one Audit.
type audit struct {
	catalog
	listed     []int64
	columns    map[uint32][]string // that are read of those that are listed themselves
	self       role
	exists     bool              // readerRole does
	hides      bool              // row-level security does, of what is listed
	roles      []int64           // the role, those that it is a member of, and 0
	leads      map[uint32]string // role: the statement that ends the membership which leads to it
	reachable  []membership
	findings   []backend.Finding
	statements []string
}

type role struct {
	oid                                              uint32
	name, ident, database                            string
	super, createDB, createRole, replication, bypass bool
	version                                          int
}

type membership struct {
	oid         uint32
	name, first string
	dangerous   bool
	fix         string
}

func (a *audit) run() (*backend.Audit, error) {
	r := &a.self
	err := a.tx.QueryRow(a.ctx, selfQuery, readerRole).Scan(&r.oid, &r.name, &r.ident, &r.database, &r.super, &r.createDB, &r.createRole,
		&r.replication, &r.bypass, &r.version, &a.exists)
	if err != nil {
		return nil, err
	}
	if err := a.tx.QueryRow(a.ctx, hidesQuery, a.listed).Scan(&a.hides); err != nil {
		return nil, err
	}
	a.roles = []int64{int64(r.oid), 0}
	if err := a.memberships(); err != nil {
		return nil, err
	}
	unfit, err := a.unfit()
	if err != nil {
		return nil, err
	}
	if unfit { // what was granted to it beside does not matter; what everybody has does
		a.roles, a.statements = []int64{0}, nil
	} else {
		a.attributes()
		a.dangers()
	}
	for _, step := range []func() error{a.grants, a.defaults, func() error { return a.needs(unfit) }} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out := &backend.Audit{Role: r.name, Findings: a.findings, Script: a.script(unfit)}
	if unfit {
		out.Instead = readerRole
	}
	return out, nil
}

func (a *audit) add(fix, what string, args ...any) {
	a.findings = append(a.findings, backend.Finding{What: fmt.Sprintf(what, args...), Fix: fix})
	a.do(fix)
}

func (a *audit) do(statement string) {
	if !slices.Contains(a.statements, statement) {
		a.statements = append(a.statements, statement)
	}
}

// memberships reads what other roles lead to.
func (a *audit) memberships() error {
	q, err := a.tx.Query(a.ctx, membershipsQuery, int64(a.self.oid))
	if err != nil {
		return err
	}
	a.reachable, err = pgx.CollectRows(q, func(row pgx.CollectableRow) (membership, error) {
		var m membership
		var grantor string
		err := row.Scan(&m.oid, &m.name, &m.first, &grantor, &m.dangerous)
		m.fix = fmt.Sprintf("REVOKE %s FROM %s", m.first, a.self.ident)
		if a.self.version >= 160000 && grantor != "" { // each grantor's grant is one of its own there
			m.fix += " GRANTED BY " + grantor
		}
		m.fix += ";"
		return m, err
	})
	for _, m := range a.reachable {
		if a.leads[m.oid] != "" {
			a.leads[m.oid] += "\n"
		} else {
			a.roles = append(a.roles, int64(m.oid))
		}
		a.leads[m.oid] += m.fix
	}
	return err
}

// unfit reports a role that should not be the proxy's at all.
func (a *audit) unfit() (bool, error) {
	own := a.ownRole()
	unfit := a.self.super
	if unfit {
		a.findings = append(a.findings, backend.Finding{What: fmt.Sprintf("the role %s is a superuser", a.self.name), Fix: own})
	}
	err := a.each(ownedQuery, a.roles, func(q pgx.Rows) error {
		var of uint32
		var some []string
		var n int64
		if err := q.Scan(&of, &some, &n); err != nil {
			return err
		}
		what := strings.Join(some, ", ")
		if more := n - int64(len(some)); more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		if of == a.self.oid {
			a.findings = append(a.findings, backend.Finding{What: fmt.Sprintf("the role %s owns %s", a.self.name, what), Fix: own})
			unfit = true
		} else if !a.self.super {
			a.add(a.leads[of], "the role %s can act as the owner of %s", a.self.name, what)
		}
		return nil
	})
	return unfit, err
}

// ownRole makes the proxy's own role.
func (a *audit) ownRole() string {
	if a.exists {
		return "-- dpsql has to connect as " + readerRole
	}
	return fmt.Sprintf("CREATE ROLE %s LOGIN;", readerRole)
}

func (a *audit) attributes() {
	for _, x := range []struct {
		has       bool
		name, may string
	}{
		{a.self.createDB, "CREATEDB", "make databases"},
		{a.self.createRole, "CREATEROLE", "make roles"},
		{a.self.replication, "REPLICATION", "read everything by replication"},
		{a.self.bypass && !a.hides, "BYPASSRLS", "read past row-level security"},
	} {
		if x.has {
			a.add(fmt.Sprintf("ALTER ROLE %s NO%s;", a.self.ident, x.name), "the role %s may %s", a.self.name, x.may)
		}
	}
}

func (a *audit) dangers() {
	for _, m := range a.reachable {
		if m.dangerous {
			a.add(m.fix, "the role %s is a member of %s", a.self.name, via(m))
		}
	}
}

func via(m membership) string {
	if m.name == m.first {
		return m.name
	}
	return m.name + ", through " + m.first
}

// grants finds rights that reading does not need.
func (a *audit) grants() error {
	q, err := a.tx.Query(a.ctx, grantsQuery, a.roles, a.listed)
	if err != nil {
		return err
	}
	defer q.Close()
	for q.Next() {
		var kind, name, grantor, rights string
		var grantee uint32
		var grantable, passOnly bool
		if err := q.Scan(&kind, &name, &grantee, &grantor, &grantable, &passOnly, &rights); err != nil {
			return err
		}
		what, cascade := rights, ""
		if grantable {
			cascade = " CASCADE"
		}
		if passOnly {
			what, rights = "the right to pass on "+rights, "GRANT OPTION FOR "+rights
		}
		thing := strings.ToLower(kind) + " " + name
		revoke := func(from string) string {
			return asGrantor(grantor, fmt.Sprintf("REVOKE %s ON %s %s FROM %s%s;", rights, kind, name, from, cascade))
		}
		switch grantee {
		case 0:
			a.add(revoke("PUBLIC"), "everybody has %s on %s", what, thing)
		case a.self.oid:
			a.add(revoke(a.self.ident), "the role %s has %s on %s", a.self.name, what, thing)
		default:
			a.add(a.leads[grantee], "the role %s has %s on %s through another role", a.self.name, what, thing)
		}
	}
	return q.Err()
}

// asGrantor revokes what a role granted that is not the owner: an administrator's REVOKE takes back the owner's grants only.
func asGrantor(grantor, statement string) string {
	if grantor == "" {
		return statement
	}
	return fmt.Sprintf("SET LOCAL ROLE %s; %s RESET ROLE;", grantor, statement)
}

// defaults finds rights on what does not exist yet.
func (a *audit) defaults() error {
	return a.each(defaultsQuery, a.roles, func(q pgx.Rows) error {
		var where, kind, rights string
		var grantee uint32
		if err := q.Scan(&where, &kind, &grantee, &rights); err != nil {
			return err
		}
		where = strings.TrimSpace(where)
		revoke := func(from string) string { return fmt.Sprintf("%s REVOKE %s ON %s FROM %s;", where, rights, kind, from) }
		what := strings.ToLower(kind)
		switch grantee {
		case 0:
			a.add(revoke("PUBLIC"), "everybody will have %s on later %s", rights, what)
		case a.self.oid:
			a.add(revoke(a.self.ident), "the role %s will have %s on later %s", a.self.name, rights, what)
		default:
			a.add(a.leads[grantee], "the role %s will have %s on later %s through another role", a.self.name, rights, what)
		}
		return nil
	})
}

// needs grants what is missing, or would be after the memberships end that give it.
func (a *audit) needs(unfit bool) error {
	to, oid := a.self.ident, int64(a.self.oid)
	if unfit {
		to, oid = readerRole, 0
	}
	if a.hides && (unfit || !a.self.bypass) {
		a.do(fmt.Sprintf("ALTER ROLE %s BYPASSRLS;", to))
	}
	leaves := unfit || slices.ContainsFunc(a.statements, func(s string) bool {
		return slices.ContainsFunc(a.reachable, func(m membership) bool { return strings.Contains(s, m.fix) })
	})
	q, err := a.tx.Query(a.ctx, needsQuery, oid, a.listed)
	if err != nil {
		return err
	}
	defer q.Close()
	for q.Next() {
		var of uint32
		var rel backend.RelationName
		var name, schema string
		var usage, whole, inside bool
		var granted, readable, every []string
		if err := q.Scan(&of, &rel.Schema, &rel.Name, &name, &schema, &usage, &whole, &granted, &readable, &every, &inside); err != nil {
			return err
		}
		lacks := func(has []string) (columns []string) {
			for _, c := range a.columns[of] {
				if !slices.Contains(has, c) && slices.Contains(every, c) {
					columns = append(columns, pgx.Identifier{c}.Sanitize())
				}
			}
			return columns
		}
		some := len(a.columns[of]) == 0 // any column will do
		unread := some && len(readable) == 0 || len(lacks(readable)) > 0
		if inside && !unread && !leaves {
			continue
		}
		var missing []string
		if !usage {
			missing = append(missing, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;", schema, to))
		}
		if columns := lacks(granted); !whole && len(columns) > 0 {
			missing = append(missing, fmt.Sprintf("GRANT SELECT (%s) ON TABLE %s TO %s;", strings.Join(columns, ", "), name, to))
		} else if !whole && some && len(granted) == 0 {
			missing = append(missing, fmt.Sprintf("GRANT SELECT ON TABLE %s TO %s;", name, to))
		}
		for _, grant := range missing {
			a.do(grant)
		}
		if !inside || unread {
			f := backend.Finding{What: fmt.Sprintf("the role %s may not read %s", a.self.name, name), Fix: strings.Join(missing, "\n")}
			if _, own := a.columns[of]; own && inside {
				f.Unread = rel
			}
			a.findings = append(a.findings, f)
		}
	}
	return q.Err()
}

// script puts the statements together, in one transaction.
func (a *audit) script(unfit bool) string {
	if len(a.findings) == 0 && len(a.statements) == 0 {
		return ""
	}
	var b strings.Builder
	if slices.ContainsFunc(a.statements, func(s string) bool { return strings.Contains(s, "FROM PUBLIC") }) {
		b.WriteString("-- REVOKE ... FROM PUBLIC takes a right from every role: grant it again to those that need it.\n")
	}
	b.WriteString("BEGIN;\n")
	if unfit {
		if !a.exists {
			fmt.Fprintf(&b, "CREATE ROLE %s LOGIN; -- then set its password: \\password %s\n", readerRole, readerRole)
		}
		fmt.Fprintf(&b, "GRANT CONNECT ON DATABASE %s TO %s;\n", a.self.database, readerRole)
	}
	for _, s := range a.statements {
		b.WriteString(s + "\n")
	}
	b.WriteString("COMMIT;\n")
	return b.String()
}
