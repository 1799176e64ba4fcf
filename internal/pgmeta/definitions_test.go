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
		"SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint", "SELECT * FROM information_schema.check_constraints WHERE constraint_schema = 'information_schema'",
		"SELECT quote_literal(1), quote_literal(1.5), quote_literal(true), quote_literal(1259::oid), quote_literal('x'), quote_nullable(NULL), quote_nullable(2)",
		"SELECT proname, n, pg_get_function_arg_default(p.oid, n) FROM pg_proc p, generate_series(0, 12) n WHERE pronargdefaults > 0",
		"SELECT k, acldefault(k::\"char\", 10), e.* FROM unnest(ARRAY['c','r','s','d','f','l','L','n','p','t','F','S','T']) k, aclexplode(acldefault(k::\"char\", 10)) e",
		"SELECT nameconcatoid(relname, oid), nameconcatoid(repeat('x', 63)::name, oid) FROM pg_class WHERE oid < 12000",
		"SELECT n, pg_encoding_to_char(n), pg_char_to_encoding(pg_encoding_to_char(n)) FROM generate_series(-1, 43) n",
		"SELECT * FROM ts_token_type('default'), ts_token_type(3722) b", "SELECT * FROM ts_token_type('nothing')",
		"SELECT pg_describe_object(1259, oid, 0) FROM pg_class WHERE relnamespace <> 99", "SELECT pg_describe_object(1247, oid, 0) FROM pg_type", "SELECT pg_describe_object(1255, oid, 0) FROM pg_proc",
		"SELECT pg_describe_object(1259, attrelid, attnum) FROM pg_attribute WHERE attrelid < 12000 AND attnum > 0", "SELECT pg_describe_object(2606, oid, 0) FROM pg_constraint",
		"SELECT pg_describe_object(2617, oid, 0) FROM pg_operator", "SELECT pg_describe_object(2605, oid, 0) FROM pg_cast", "SELECT pg_describe_object(2616, oid, 0) FROM pg_opclass",
		"SELECT pg_describe_object(2753, oid, 0) FROM pg_opfamily", "SELECT pg_describe_object(2601, oid, 0) FROM pg_am", "SELECT pg_describe_object(2612, oid, 0) FROM pg_language",
		"SELECT pg_describe_object(2615, oid, 0) FROM pg_namespace WHERE oid < 12000", "SELECT pg_describe_object('pg_ts_config'::regclass, oid, 0) FROM pg_ts_config", "SELECT pg_describe_object('pg_ts_dict'::regclass, oid, 0) FROM pg_ts_dict",
		"SELECT pg_describe_object('pg_extension'::regclass, oid, 0) FROM pg_extension", "SELECT pg_describe_object(classid, objid, 0) FROM pg_depend WHERE deptype = 'e'",
		"SELECT pg_describe_object(0, 0, 0), pg_describe_object(1259, 1, 0), pg_describe_object(1259, 1259, 99), pg_describe_object(1259, 1259, -1), pg_describe_object(1259, 1259, 2)",
		"SELECT * FROM information_schema.routines", "SELECT * FROM information_schema.parameters", "SELECT * FROM information_schema.table_privileges", "SELECT * FROM information_schema.column_privileges WHERE table_schema = 'public'",
		"SELECT * FROM information_schema.routine_privileges", "SELECT * FROM information_schema.usage_privileges WHERE object_type <> 'COLLATION'", "SELECT * FROM information_schema.udt_privileges",
		"SELECT * FROM information_schema.check_constraint_routine_usage",
		"SELECT pg_table_size(1), pg_total_relation_size(NULL::regclass)",
	} {
		if reason := s.compare(t, sql); reason != "" {
			t.Errorf("%s: %s", sql, reason)
		}
	}
}
