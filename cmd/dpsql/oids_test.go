package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestOIDsStay: the numbers of tables, their types, keys, constraints, enums and labels are the same whatever other tables come and go and in whatever order, after a reload and after a restart: clients keep them.
func TestOIDsStay(t *testing.T) {
	pg := pgtest.Start(t)
	if err := pg.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("demo", `CREATE TYPE "Another" AS ENUM ('in', 'z');`+psqlSchema+`CREATE TABLE aaa (id int PRIMARY KEY, kind "Another"); CREATE TABLE zzz (id int PRIMARY KEY, kind "Another", state state, UNIQUE (id, state))`); err != nil {
		t.Fatal(err)
	}
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(psqlPolicy, pg.URL("demo"), verifier)
	const patients, wards = "  patients:\n    columns: {patient_id: {}, name: {description: \"as in the passport\"}, born: {}, \"Mixed Case\": {}}\n", "  wards: {public: true}\n"
	after := strings.NewReplacer("stays, wards]", "stays, zzz, wards, aaa]", wards, "  zzz: {public: true}\n"+wards+"  aaa: {public: true}\n").Replace(text)
	moved := strings.NewReplacer("stays, wards]", "stays, zzz]", patients, "", wards, "", "tables:\n", "tables:\n  zzz: {public: true}\n").Replace(text)
	moved = strings.Replace(moved, "budget:", patients+"budget:", 1)
	path := t.TempDir() + "/policy.yaml"
	write := func(policy string) {
		if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(conn *pgx.Conn) map[string]uint32 {
		rows, err := conn.Query(t.Context(), `SELECT 'relation ' || relname, oid, reltype, relkind::text FROM pg_class WHERE relnamespace = 2200 UNION ALL SELECT 'type ' || typname, oid, typarray, typtype::text FROM pg_type WHERE typnamespace = 2200
			UNION ALL SELECT 'constraint ' || conname, oid, conindid, contype::text FROM pg_constraint WHERE connamespace = 2200
			UNION ALL SELECT 'label ' || enumtypid::regtype::text || ' ' || enumlabel, oid, enumtypid, '' FROM pg_enum
			UNION ALL SELECT 'type of ' || attrelid::regclass::text || '.' || attname, atttypid, 0, '' FROM pg_attribute WHERE attrelid > 16384 AND attnum > 0`, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]uint32{}
		for rows.Next() {
			var name, kind string
			var oid, other uint32
			if err := rows.Scan(&name, &oid, &other, &kind); err != nil {
				t.Fatal(err)
			}
			out[name], out[name+" beside"] = oid, other
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		return out
	}
	same := func(when string, now, first map[string]uint32, least int) {
		t.Helper()
		common := 0
		for name, oid := range now {
			if before, ok := first[name]; ok {
				if common++; before != oid {
					t.Errorf("%s: %s was %d, is %d", when, name, before, oid)
				}
			}
		}
		if common < least {
			t.Errorf("%s: %d numbers are compared", when, common)
		}
	}
	write(text)
	s := serveDir(t, path)
	defer func() { s.kill() }()
	conn := connect(t, s.url("analyst"))
	first := numbers(conn)
	for _, name := range []string{"relation stays", "relation stays_pkey", "type state", "type _state", "constraint stays_patient_id_fkey", "label state Gone home", "type of stays.state"} {
		if first[name] == 0 {
			t.Errorf("there is no %s among %d", name, len(first))
		}
	}
	reload := func() {
		if out, err := program(t.Context(), "reload", "--config", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write(after)
	reload()
	more := numbers(conn)
	same("two tables came", more, first, len(first))
	if more["relation zzz"] == 0 || more["type Another"] == 0 && more[`label "Another" z`] == 0 {
		t.Error("the new tables are not there")
	}
	write(moved)
	reload()
	same("tables went and moved", numbers(conn), more, 40)
	s.kill()
	s = serveDir(t, path)
	same("restarted", numbers(connect(t, s.url("analyst"))), more, 40)
}
