package pgmeta_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

const oidAny, oidAnyElement sqltype.OID = 2276, 2283

type typed struct {
	v   sqltype.Value
	oid sqltype.OID
}

// samples are values of a declared type.
func samples(declared sqltype.OID) (out []typed) {
	of := func(oid sqltype.OID, list ...sqltype.Value) {
		for _, v := range list {
			out = append(out, typed{v, oid})
		}
	}
	array := func(oid, elem sqltype.OID, list ...sqltype.Value) {
		of(oid, &sqltype.Array{Elem: elem}, &sqltype.Array{Elem: elem, Values: list, Dims: []int32{int32(len(list))}, Lower: []int32{1}}) //nolint:gosec // G115: two
	}
	switch t := (sqltype.Type{OID: declared, Typmod: -1}); {
	case declared == oidAny, declared == oidAnyElement:
		of(sqltype.OIDInt4, int64(1))
		of(sqltype.OIDFloat8, 1.5)
		of(sqltype.OIDBool, true)
		of(sqltype.OIDText, "it's")
		of(sqltype.OIDOid, int64(1259))
		array(1007, sqltype.OIDInt4, int64(1), nil)
	case declared == sqltype.OIDAnyArray:
		array(1007, sqltype.OIDInt4, int64(1), nil)
		array(1009, sqltype.OIDText, "a", nil)
	case declared == 1034:
		array(1034, 1033, "=r/ann", `"a""b"=r*w/ann`)
	case t.IsObject():
		of(declared, int64(0), int64(1259), int64(70000), int64(1)<<31)
	case t.IsInteger():
		of(declared, int64(-1), int64(0), int64(1), int64(1)<<31-1)
	case t.IsFloat():
		of(declared, 0.0, 1.5)
	case declared == sqltype.OIDBool:
		of(declared, false, true)
	case declared == sqltype.OIDChar:
		of(declared, "r", "", "x")
	case t.IsString():
		of(declared, "", "pg_class", `a.b."c`, "ann", "{", "%s %I %L")
	}
	return out
}

// TestEveryFunction calls the catalogs' functions, in all their overloads, with every object that there is and with odd values: they answer in the type that they have, or say PostgreSQL's own kind of error.
func TestEveryFunction(t *testing.T) {
	db := smallDatabase()
	s := &pgmeta.Session{Database: db}
	var objects []sqltype.Value
	seen := map[sqltype.Value]bool{}
	for _, name := range []string{"pg_class", "pg_type", "pg_proc", "pg_constraint", "pg_namespace", "pg_authid", "pg_operator", "pg_opclass", "pg_opfamily", "pg_cast", "pg_am", "pg_collation", "pg_ts_config", "pg_language"} {
		table, _ := db.Table("pg_catalog", name)
		rows := db.Rows(table)
		for i, row := range rows {
			if many := len(rows) > 500; !seen[row[0]] && (!many || i%9 == 0) {
				seen[row[0]] = true
				objects = append(objects, row[0])
			}
		}
	}
	calls := 0
	call := func(p *pgcat.Proc, f *funcs.Func, args []typed) {
		calls++
		values, types := make([]sqltype.Value, len(args)), make([]sqltype.Type, len(args))
		for i, a := range args {
			values[i], types[i] = a.v, sqltype.Type{OID: a.oid, Typmod: -1}
			if a.v == nil && !f.OnNull {
				return
			}
		}
		var err error
		if f.Rows != nil {
			_, err = f.Rows(values, types)
		} else {
			var v sqltype.Value
			result := sqltype.Type{OID: p.Result, Typmod: -1}
			if v, err = f.Eval(values, types, result); err == nil && v != nil && result.IsKnown() && p.Result != sqltype.OIDAnyArray {
				_, err = sqltype.Encode(s.Shown(v, result), result, sqltype.TextFormat, nil)
			}
		}
		var known *sqlerr.Error
		if err != nil && (!errors.As(err, &known) || known.ID == sqlerr.Internal.ID) {
			t.Errorf("%s%v: %v %v", p.Name, values, err, errors.Unwrap(err))
		}
	}
	var procs []*pgcat.Proc
	for _, name := range pgcat.ProcNames() {
		procs = append(procs, pgcat.Procs(name)...)
	}
	for _, name := range []string{"_pg_expandarray", "_pg_char_max_length", "_pg_char_octet_length", "_pg_numeric_precision", "_pg_numeric_precision_radix", "_pg_numeric_scale", "_pg_datetime_precision", "_pg_interval_type", "_pg_index_position"} {
		procs = append(procs, s.Procs("information_schema", name)...)
	}
	for _, p := range procs {
		f := s.Call(funcs.Function, p.Name, p.Args, p.Args, p.Result)
		if f == nil || p.Name == "pg_sleep" {
			continue
		}
		lists, base := make([][]typed, len(p.Args)), make([]typed, len(p.Args))
		for i, a := range p.Args {
			if lists[i] = samples(a); len(lists[i]) > 0 {
				base[i] = lists[i][len(lists[i])/2]
			} else {
				base[i] = typed{nil, a}
			}
		}
		call(p, f, base)
		for i, a := range p.Args {
			if (sqltype.Type{OID: a}).IsObject() {
				for _, o := range objects {
					lists[i] = append(lists[i], typed{o, a})
				}
			}
			for _, v := range append(lists[i], typed{nil, a}) {
				args := append([]typed{}, base...)
				args[i] = v
				call(p, f, args)
			}
		}
	}
	if calls < 20000 {
		t.Errorf("only %d calls", calls)
	}
}

// TestPanicIsAnError: a function of the catalogs that fails ends its statement, not the session.
func TestPanicIsAnError(t *testing.T) {
	s := &pgmeta.Session{Database: smallDatabase()}
	f := s.Call(funcs.Function, "quote_ident", []sqltype.OID{sqltype.OIDText}, []sqltype.OID{sqltype.OIDText}, sqltype.OIDText)
	_, err := f.Eval([]sqltype.Value{int64(1)}, []sqltype.Type{sqltype.Text}, sqltype.Text) // no text, which the binder never gives
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.Internal.ID || e.Unwrap() == nil {
		t.Errorf("%v", err)
	}
}

// TestEveryRelation reads the catalogs' relations, all of them.
func TestEveryRelation(t *testing.T) {
	db := smallDatabase()
	s := &pgmeta.Session{Database: db}
	session := map[string]plan.SessionValue{}
	for _, name := range []string{"current_catalog", "current_database", "current_user", "session_user", "user", "current_role", "current_schema"} {
		session[name] = plan.SessionValue{Value: "ann", Type: sqltype.Name}
	}
	run := func(sql string) (rows [][]sqltype.Value, err error) {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			return nil, err
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), db, plan.BindOptions{Meta: s, Session: session})
		if err != nil {
			return nil, err
		}
		return s.Run(context.Background(), q, nil, func(*plan.Table) ([][]sqltype.Value, error) { return nil, errors.New("no such table") })
	}
	names, err := run("SELECT n.nspname || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') AND n.nspname IN ('pg_catalog', 'information_schema') ORDER BY 1")
	if err != nil || len(names) < 190 {
		t.Fatal(len(names), err)
	}
	for _, n := range names {
		if _, err := run("SELECT * FROM " + n[0].(string)); err != nil {
			t.Errorf("%s: %v", n[0], err)
		}
	}
}
