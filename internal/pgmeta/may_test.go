package pgmeta_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// sameError compares also the words of an error.
func (s *sides) sameError(t *testing.T, sql string) {
	t.Helper()
	rows, err := s.conn.Query(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	var want *pgconn.PgError
	if !errors.As(err, &want) {
		t.Errorf("%s: PostgreSQL takes it", sql)
		return
	}
	got, _, err := s.run(sql)
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != want.Code || e.Message != want.Message {
		t.Errorf("%s: %v %v, want %s %s", sql, got, err, want.Code, want.Message)
	}
}

// TestMay: what a role may do is said of objects that there are, as PostgreSQL says it to an owner.
func TestMay(t *testing.T) {
	s := open(t)
	for _, sql := range []string{
		"SELECT has_table_privilege('patients', 'select'), has_table_privilege('pg_class'::regclass, 'insert, SELECT'), has_table_privilege('postgres', 'patients', 'select'), has_table_privilege(10, 'patients', 'select')",
		"SELECT relname, has_table_privilege('public', oid, 'select'), has_table_privilege('pg_monitor', oid, 'select'), has_table_privilege(99999, oid, 'select, update') FROM pg_class WHERE relkind IN ('r', 'v')",
		"SELECT has_table_privilege(99999::oid, 'select'), has_schema_privilege(99999::oid, 'usage'), has_column_privilege(99999::oid, 'x', 'select'), has_type_privilege(99999::oid, 'usage'), has_function_privilege(99999::oid, 'execute'), " +
			"has_language_privilege(99999::oid, 'usage'), has_database_privilege(99999::oid, 'connect'), has_tablespace_privilege(99999::oid, 'create'), has_sequence_privilege(99999::oid, 'usage'), " +
			"has_server_privilege(99999::oid, 'usage'), has_foreign_data_wrapper_privilege(99999::oid, 'usage'), has_any_column_privilege(99999::oid, 'select')",
		"SELECT has_column_privilege('patients', 'patient_id', 'select'), has_column_privilege('patients', 1::int2, 'select'), has_column_privilege('patients', 'ctid', 'select'), has_column_privilege('patients', (-1)::int2, 'select'), " +
			"has_column_privilege('pg_class'::regclass, 99::int2, 'select'), has_column_privilege('pg_class'::regclass, 0::int2, 'select'), has_column_privilege('public', 'patients', 99::int2, 'select'), " +
			"has_column_privilege('public', 'patients', 'patient_id', 'select')",
		"SELECT has_schema_privilege('public', 'usage'), has_schema_privilege('public', 'public', 'usage'), has_schema_privilege('public', 'public', 'create'), has_schema_privilege('public', 'pg_toast', 'usage')",
		"SELECT proname, has_function_privilege('public', oid, 'execute') FROM pg_proc", "SELECT lanname, has_language_privilege('public', oid, 'usage') FROM pg_language",
		"SELECT has_database_privilege('demo', 'connect'), has_database_privilege('public', 'demo', 'temp'), has_database_privilege('public', 'demo', 'create'), has_type_privilege('int4', 'usage'), has_type_privilege('public', 'integer', 'usage')",
		"SELECT pg_has_role('postgres', 'usage'), pg_has_role('pg_monitor', 'postgres', 'member'), pg_has_role('pg_monitor', 10, 'member'), pg_has_role(10, 'member')",
		"SELECT a.rolname, b.rolname, pg_has_role(a.oid, b.oid, 'usage'), pg_has_role(a.rolname, b.oid, 'member') FROM pg_authid a, pg_authid b WHERE a.oid <> 10", "SELECT pg_has_role('pg_database_owner', 'member')",
		"SELECT nspname, has_schema_privilege('pg_write_all_data', oid, 'usage') FROM pg_namespace", "SELECT has_table_privilege('pg_read_all_data', 'patients', 'select'), has_table_privilege('pg_write_all_data', 'patients', 'select'), has_table_privilege('pg_write_all_data', 'patients', 'delete')",
		"SELECT pg_get_serial_sequence('patients', 'patient_id'), row_security_active('patients'), row_security_active(1)",
	} {
		if reason := s.compare(t, sql); reason != "" {
			t.Errorf("%s: %s", sql, reason)
		}
	}
	for _, call := range []string{
		"has_table_privilege('nosuch', 'select')", "has_table_privilege('no.such', 'select')", "has_table_privilege('pg_catalog.such', 'select')", `has_table_privilege('"No"', 'select')`,
		"has_table_privilege('nosuch', 'patients', 'select')", "has_table_privilege('patients', 'nosuch')", "has_table_privilege('patients', 'select, nosuch ')", "has_table_privilege(99999::oid, 'nosuch')",
		"has_column_privilege('patients', 'nosuch', 'select')", "has_column_privilege('nosuch', 'x', 'select')", "has_column_privilege('patients', 'patient_id', 'delete')", "has_any_column_privilege('nosuch', 'select')",
		"has_schema_privilege('nosuch', 'usage')", "has_schema_privilege('nosuch', 'public', 'usage')", "has_database_privilege('nosuch', 'connect')", "has_type_privilege('nosuch', 'usage')", "has_type_privilege('no.such', 'usage')",
		"has_function_privilege('nosuch()', 'execute')", "has_language_privilege('nosuch', 'usage')", "has_tablespace_privilege('nosuch', 'create')", "has_server_privilege('nosuch', 'usage')",
		"has_foreign_data_wrapper_privilege('nosuch', 'usage')", "has_sequence_privilege('nosuch', 'usage')", "has_sequence_privilege('patients', 'usage')", "has_parameter_privilege('nosuch', 'work_mem', 'set')",
		"has_parameter_privilege('work_mem', 'nosuch')", "pg_has_role('nosuch', 'usage')", "pg_has_role('public', 'usage')", "pg_has_role('nosuch', 'postgres', 'usage')", "pg_has_role('postgres', 'Nosuch')",
		"pg_get_serial_sequence('nosuch', 'x')", "pg_get_serial_sequence('patients', 'nosuch')", "row_security_active('nosuch')",
		`'"X"'::regclass`, `'"X""y".z'::regclass`, `'public."X"'::regclass`, `'"X"'::regtype`, `'pg_catalog."X"'::regtype`, `'"X"'::regrole`, `'"X"'::regnamespace`, `'"X"'::regproc`, `'"X"()'::regprocedure`, `'"X"'::regconfig`, `'"X"'::regdictionary`, `'"X"'::regcollation`,
	} {
		s.sameError(t, "SELECT "+call)
	}
	// Reading is all that there is: PostgreSQL lets an owner do more.
	got, _, err := s.run("SELECT has_table_privilege('patients', 'insert'), has_column_privilege('patients', 'patient_id', 'update'), has_schema_privilege('public', 'create'), has_database_privilege('demo', 'temp'), " +
		"has_tablespace_privilege('pg_default', 'create'), has_table_privilege('patients', 'select with grant option'), pg_has_role('postgres', 'usage with admin option')")
	if err != nil || strings.Join(got[0], "") != "fffffff" {
		t.Errorf("%v %v", got, err)
	}
}
