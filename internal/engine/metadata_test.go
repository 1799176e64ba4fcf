package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestMissingFunction: a statement over no table that neither the data's functions nor the catalogs' can answer is refused for the function that is missing, not for the first that one of them lacks.
func TestMissingFunction(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for sql, names := range map[string]string{
		"SELECT quote_ident('x'), pg_current_wal_lsn()":                       "pg_current_wal_lsn",
		"SELECT pg_current_wal_lsn(), quote_ident('x')":                       "pg_current_wal_lsn",
		"SELECT array_position(ARRAY[1, 2], 2), pg_current_wal_lsn()":         "pg_current_wal_lsn",
		"SELECT pg_encoding_to_char(6), abs(-1), pg_current_wal_insert_lsn()": "pg_current_wal_insert_lsn",
		"SELECT pg_identify_object('pg_class'::regclass, 1259, 0)":            "pg_identify_object",
	} {
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Message, "function "+names+"(") || e.Pos != strings.Index(sql, names)+1 {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
