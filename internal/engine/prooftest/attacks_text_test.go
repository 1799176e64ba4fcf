package prooftest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack05Errors: a statement that fails for one person's row alone. The careless proxy passes the database's error on.
func TestAttack05Errors(t *testing.T) {
	attackPairs(t, func(with, without asker) string {
		return tells(with, without,
			"select count(*) from patients where 1 / (patient_id - 1) > 0",
			"select count(*) from encounters where 1 / (case when patient_id = 1 then 0 else 1 end) > 0",
			"select sum(days / (patient_id - 1)) from encounters",
			"select count(*) from encounters where patient_id = 1 and big * 9223372036854775807 > 0",
			"select count(*) from encounters where case when patient_id = 1 then 2147483647 + days else 0 end > 0",
			"select count(*) from encounters where case when patient_id = 1 then big::int2 else 0 end > 0",
			"select count(*) from encounters where case when patient_id = 1 then diag || 'x' else '1' end::int4 > 0",
			"select avg(case when patient_id = 1 then score / 0 else score end) from encounters",
			"select count(*) from patients where patient_id = 1 and ln(-weight) > 0")
	})
}

// TestAttack09Functions: functions that wait, write, read files or settings, or draw numbers. The careless proxy has a list of forbidden
// names, as a filter on the text.
func TestAttack09Functions(t *testing.T) {
	calls := []string{"pg_sleep(0)", `pg_catalog."pg_sleep"(0)`, `"pg_sleep"(0)`, "pg_sleep_for('0s')", "random()", `"random"()`, "setseed(0.5)", "gen_random_uuid()",
		"current_setting('data_directory')", "set_config('search_path', 'public', false)", "lo_creat(-1)", "pg_read_file('PG_VERSION')", "pg_ls_dir('.')", "pg_backend_pid()", "txid_current()",
		"query_to_xml('select 1', true, true, '')", "pg_advisory_lock(1)", "nextval('s')", "dblink('', 'select 1')", "pg_relation_size('patients')", "getenv('HOME')", "read_text('/etc/passwd')",
		"version() || pg_current_logfile()", "pg_reload_conf()", "generate_series(1, 3)", "uuid()", "nextval('patients')", "inet_server_addr()"}
	// What clients ask on their way in is answered from the policy and the session, beside no table.
	harmless := []string{"pg_sleep(0)", `pg_catalog."pg_sleep"(0)`, `"pg_sleep"(0)`, "set_config('search_path', 'public', false)", "pg_backend_pid()", "pg_relation_size('patients')",
		"generate_series(1, 3)", "inet_server_addr()", "version() || pg_current_logfile()"}
	attack := func(ask asker) string {
		for _, c := range calls {
			for _, sql := range []string{"select " + c, "select count(*) from patients where (" + c + ") is not null", "select count(*) from patients group by " + c, "select * from " + c,
				"select " + c + ", count(*) from cities group by 1"} {
				allowed := slices.Contains(harmless, c) && (sql == "select "+c || sql == "select * from "+c)
				if got := ask(sql); got.err == "" && !allowed {
					return fmt.Sprintf("%s gives %v", sql, got.rows)
				}
			}
		}
		if got := ask("select pg_relation_size('patients'), reltuples from pg_class where relname = 'patients'"); got.err == "" && fmt.Sprint(got.rows) != "[[0 -1]]" {
			return fmt.Sprintf("sizes %v", got.rows)
		}
		return ""
	}
	enginetest.Tame.Open(t, funcs.Postgres)
	db := naive(t, "clinic_"+enginetest.Tame.Name)
	succeeds(t, attack(func(sql string) seen {
		for _, forbidden := range []string{"pg_sleep(", "random(", "dblink(", "lo_", "set_config(", "pg_read_file("} {
			if strings.Contains(sql, " "+forbidden) {
				return seen{err: "forbidden"}
			}
		}
		return db(sql)
	}))
	for _, d := range enginetest.Dialects {
		fails(t, attack(through(enginetest.ClinicSession(t, enginetest.Tame, d))))
	}
}

// TestAttack17Unlisted: what the policy does not list: a view of a private table, a table beside it, a schema's, a synonym in the
// search path, a temporary one. The careless proxy takes what it does not know for public.
func TestAttack17Unlisted(t *testing.T) {
	s, text, err := made(t, "attack_17", nil, "create view everyone as select * from patients", "create table notes as select patient_id, race from patients",
		"create schema other", "create table other.patients as select * from public.patients", "create table other.cities as select * from public.patients",
		"create materialized view kept as select * from patients", "create view kinds_and_more as select * from kinds")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"everyone", "notes", "other.patients", "other.cities", "kept", "kinds_and_more", `"public"."everyone"`, "pg_temp.everyone", "attack_17.public.notes"}
	attack := func(ask asker) string {
		for _, n := range names {
			for _, sql := range []string{"select * from " + n, "select count(*) from " + n, "select count(*) from cities c join " + n + " x on true", "table " + n} {
				if got := ask(sql); got.err == "" {
					return fmt.Sprintf("%s gives %d rows", sql, len(got.rows))
				}
			}
		}
		return ""
	}
	succeeds(t, attack(text))
	fails(t, attack(through(s)))
}

// TestAttack18Catalogs: statistics, sizes, sequences and estimates that follow the rows. The careless proxy passes metadata statements on,
// as drivers need them.
func TestAttack18Catalogs(t *testing.T) {
	attack := func(with, without asker) string {
		for _, sql := range []string{
			"select reltuples from pg_class where relname = 'patients'", "select reltuples::text, relpages from pg_catalog.pg_class where relname = 'encounters'",
			"select n_live_tup from pg_stat_user_tables where relname = 'patients'", "select most_common_vals::text from pg_stats where tablename = 'patients'",
			"select n_distinct from pg_stats where tablename = 'encounters' and attname = 'patient_id'", "explain verbose select * from encounters", "explain verbose select count(*) from encounters where patient_id = 1",
			"explain analyze select count(*) from encounters", "explain (analyze, costs off) select count(*) from patients", "select pg_total_relation_size('encounters')",
			"select estimated_size from duckdb_tables() where table_name = 'patients'", "select * from pragma_storage_info('patients')", "select count(*) from information_schema.columns",
			"explain verbose select race, count(*) from patients group by 1", "explain verbose select * from patients",
		} {
			if a, b := fmt.Sprint(with(sql)), fmt.Sprint(without(sql)); a != b {
				return fmt.Sprintf("%s gives %s and %s", sql, a, b)
			}
		}
		return ""
	}
	with, out := naivePair(t)
	with("analyze")
	out("analyze")
	succeeds(t, attack(with, out))
	for _, d := range enginetest.Dialects {
		fails(t, attack(pair(t, d)))
	}
}

// TestAttack27SecondPerson: a transfer has a giver, whose row it is, and a receiver. The careless policy does not know that the second column
// is a person: what one receiver's rows change is then beyond every claim. dpsql does not open before such a table, and answers
// nothing about it once the policy says that the rows belong to both; `unprotected` is the owner's word that the second person is
// outside the promise.
func TestAttack27SecondPerson(t *testing.T) {
	const table = "create table transfers (giver int4 not null, receiver int4 not null)"
	rows := "insert into transfers select 2 + g % 30, 1 from generate_series(1, 60) g"
	key := "alter table transfers add foreign key (receiver) references patients (patient_id), add foreign key (giver) references patients (patient_id)"
	policyWith := func(extra string) []string {
		return []string{"  visits:\n    unit: patient_id", "  transfers:\n    unit: giver -> patients.patient_id\n    max_rows_per_unit: 1\n    columns: {giver: {}, receiver: {" + extra + "}}\n  visits:\n    unit: patient_id",
			"visits, stays, cities", "visits, stays, transfers, cities"}
	}
	const question = "select count(*) from transfers where receiver = 1"
	// attack says how far a receiver moves the un-noised total beyond the claim, if the statement is answered.
	attack := func(s *session.Session, err error) string {
		if err != nil {
			return ""
		}
		p, err := enginetest.Prepare(s, question)
		if err != nil {
			return ""
		}
		total, claim := enginetest.Totals(t, p)[""][0].Uint64(), p.Analysis().Measures[0].PerGroup
		if total <= claim {
			return ""
		}
		return fmt.Sprintf("%d rows of one receiver, the claim is %d", total, claim)
	}
	s, _, err := made(t, "attack_27_careless", policyWith(""), table, rows)
	if err != nil {
		t.Fatal(err)
	}
	succeeds(t, attack(s, nil))
	s, _, err = made(t, "attack_27", policyWith(""), table, rows, key)
	if err == nil || !strings.Contains(err.Error(), "second way to a unit") {
		t.Errorf("opened: %v", err)
	}
	fails(t, attack(s, err))
	both := policyWith("")
	both[1] = strings.Replace(both[1], "    max_rows_per_unit: 1\n", "    max_rows_per_unit: 1\n    also_unit: receiver -> patients.patient_id\n", 1)
	s, _, err = made(t, "attack_27_both", both, table, rows, key)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, attack(s, nil))
	if got := through(s)(question); !strings.HasPrefix(got.err, sqlerr.PrivateShape.Code) {
		t.Errorf("%+v", got)
	}
	if _, _, err = made(t, "attack_27_unprotected", policyWith("unprotected: true"), table, rows, key); err != nil {
		t.Errorf("unprotected: %v", err)
	}
}

// TestAttack28Hidden: an analyst without rights asks for a hidden table, a hidden column and a neighbour in the alphabet of each, and asks
// again what somebody with rights has paid for. One careless proxy looks at rights after it has bound the names, the other gives
// stored releases to whoever asks.
func TestAttack28Hidden(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, clerk := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "clerk")
	const paid = "select race, count(*) from patients group by 1"
	enginetest.Ask(t, ann, paid)
	rightsLast := func(sql string) seen {
		if got := through(ann)(sql); got.err != "" {
			return got
		}
		return seen{err: "permission denied"}
	}
	templates := []string{"select count(*) from T", "select count(*) from public.T", "select T.days from patients", "explain verbose select count(*) from T", "select count(C) from patients",
		"select count(*) from patients where C is null", "select C, count(*) from patients group by 1", "select count(*) from patients order by C", "select count(*) from (select C from patients) x"}
	attack := func(ask asker) string {
		for _, template := range templates {
			for _, word := range [][2]string{{"encounters", "encountesr"}, {"prescriptions", "prescriptiosn"}, {"weight", "weigth"}, {"race", "rade"}} {
				filled := func(w string) string { return strings.NewReplacer("T", w, "C", w).Replace(template) }
				hidden, absent := ask(filled(word[0])), ask(filled(word[1]))
				if a, b := strings.ReplaceAll(fmt.Sprint(hidden), word[0], "?"), strings.ReplaceAll(fmt.Sprint(absent), word[1], "?"); a != b {
					return fmt.Sprintf("%s: %s and %s", template, a, b)
				}
			}
		}
		if got := ask(paid); got.err == "" {
			return fmt.Sprintf("%s gives %v", paid, got.rows)
		}
		return ""
	}
	succeeds(t, attack(rightsLast))
	succeeds(t, attack(func(sql string) seen {
		if sql == paid {
			return through(ann)(sql)
		}
		return through(clerk)(sql)
	}))
	fails(t, attack(through(clerk)))
}
