package pgmeta_test

import "testing"

// TestDefinitions: PostgreSQL's own functions, views and expressions are defined as PostgreSQL defines them, all of them; sizes are an empty server's.
func TestDefinitions(t *testing.T) {
	s := open(t)
	for _, sql := range []string{
		"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE prokind <> 'a'",
		"SELECT pg_get_function_sqlbody(oid) FROM pg_proc",
		"SELECT pg_get_functiondef(2147)", // an aggregate
		"SELECT proname, pg_get_expr(proargdefaults, 0), pg_get_function_arguments(oid) FROM pg_proc WHERE pronargdefaults > 0",
		"SELECT relname, pg_get_viewdef(oid), pg_get_viewdef(oid, true), pg_get_viewdef(oid, false), pg_get_viewdef(oid, 0) FROM pg_class WHERE relkind = 'v'",
		"SELECT pg_get_viewdef('pg_tables'), pg_get_viewdef('information_schema.tables', true), pg_get_viewdef('patients'::regclass), pg_get_viewdef(1)",
		"SELECT relname, pg_table_size(oid), pg_relation_size(oid), pg_relation_size(oid, 'fsm'), pg_indexes_size(oid), pg_size_pretty(pg_total_relation_size(oid)), pg_size_pretty(pg_table_size(oid)) " +
			"FROM pg_class WHERE relnamespace = 'public'::regnamespace",
		"SELECT classid::regclass, CASE WHEN deptype <> 'e' THEN objid END, objsubid, refclassid::regclass, refobjid, refobjsubid, deptype FROM pg_depend WHERE (deptype = 'e' OR objid IN (SELECT oid FROM pg_class WHERE relnamespace = 2200 " +
			"UNION ALL SELECT oid FROM pg_constraint WHERE connamespace = 2200 UNION ALL SELECT oid FROM pg_type WHERE typnamespace = 2200))",
		"SELECT pg_table_size(1), pg_total_relation_size(NULL::regclass)",
	} {
		if reason := s.compare(t, sql); reason != "" {
			t.Errorf("%s: %s", sql, reason)
		}
	}
}
