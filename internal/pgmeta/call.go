package pgmeta

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Call implements plan.Meta.
func (s *Session) Call(kind funcs.Kind, name string, actual, declared []sqltype.OID, result sqltype.OID) *funcs.Func {
	f := &funcs.Func{Kind: kind, Name: name, Args: declared, Result: result}
	if kind == funcs.Operator {
		f.OnNull = name == "||"
		eval := operator(name, actual)
		if eval == nil {
			return nil
		}
		f.Eval = func(a []sqltype.Value, types []sqltype.Type, result sqltype.Type) (out sqltype.Value, err error) {
			defer guarded(name, &err)
			return eval(a, types, result)
		}
		if isMatch(name) {
			f.Slow = func(stop func() error, a []sqltype.Value, types []sqltype.Type, result sqltype.Type) (out sqltype.Value, err error) {
				defer guarded(name, &err)
				return match(stop, name, a)
			}
		}
		return f
	}
	fn, ok := functions[signature{name, len(actual)}]
	if !ok {
		if fn, ok = functions[signature{name, anyNumber}]; !ok {
			return nil
		}
	}
	f.OnNull, f.Outs = fn.onNull, fn.outs
	if fn.rows != nil {
		f.Rows = func(a []sqltype.Value, types []sqltype.Type) (out [][]sqltype.Value, err error) {
			defer guarded(name, &err)
			return fn.rows(s, a, types)
		}
		return f
	}
	f.Eval = func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (out sqltype.Value, err error) {
		defer guarded(name, &err)
		return fn.eval(s, a, types)
	}
	return f
}

// guarded ends the statement alone where a function of the catalogs panics: a mistake in it is no reason to lose the session. What it was given is public.
func guarded(name string, err *error) {
	if p := recover(); p != nil {
		*err = sqlerr.New(sqlerr.Internal, "internal error in %s", name).WithHint("The proxy's log has the cause.").WithCause(fmt.Errorf("panic in %s: %v\n%s", name, p, debug.Stack()))
	}
}

// operator computes comparisons of whatever has an order, and patterns that are not constants.
func operator(name string, actual []sqltype.OID) func([]sqltype.Value, []sqltype.Type, sqltype.Type) (sqltype.Value, error) {
	if len(actual) != 2 {
		return nil
	}
	decide := map[string]func(int) bool{
		"=": func(c int) bool { return c == 0 }, "<>": func(c int) bool { return c != 0 }, "<": func(c int) bool { return c < 0 },
		"<=": func(c int) bool { return c <= 0 }, ">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	}[name]
	if decide != nil {
		for _, o := range actual {
			if o == sqltype.OIDJSON {
				return nil
			}
		}
		return func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			if reflect.TypeOf(a[0]) != reflect.TypeOf(a[1]) {
				return nil, sqlerr.New(sqlerr.Internal, "%s of %s and %s cannot be computed", name, types[0], types[1]).WithCause(fmt.Errorf("%T and %T", a[0], a[1]))
			}
			return decide(sqltype.CompareAs(a[0], a[1], types[0])), nil
		}
	}
	if isMatch(name) {
		return func(a []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return match(func() error { return nil }, name, a)
		}
	}
	switch name {
	case "||":
		if !(sqltype.Type{OID: actual[0]}).IsArray() && !(sqltype.Type{OID: actual[1]}).IsArray() {
			return nil
		}
		return func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			var list []sqltype.Value
			var elem sqltype.OID
			for i, v := range a {
				t := types[i]
				if x, ok := v.(*sqltype.Array); ok {
					list, elem = append(list, x.Values...), x.Elem
				} else if e, is := t.Elem(); is { // NULL in place of an array is none
					elem = e.OID
				} else {
					list = append(list, v)
				}
			}
			if a[0] == nil && a[1] == nil {
				return nil, nil
			}
			return listOf(elem, list), nil
		}
	case "@>", "<@", "&&":
		return func(a []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			x, okX := a[0].(*sqltype.Array)
			y, okY := a[1].(*sqltype.Array)
			if !okX || !okY {
				return nil, sqlerr.New(sqlerr.Unsupported, "the operator %s of these types is not supported", name)
			}
			if name == "<@" {
				x, y = y, x
			}
			have := map[string]bool{}
			for _, v := range x.Values {
				have[string(sqltype.AppendKey(nil, v))] = v != nil
			}
			some, every := false, true
			for _, v := range y.Values {
				is := have[string(sqltype.AppendKey(nil, v))]
				some, every = some || is, every && is
			}
			if name == "&&" {
				return some, nil
			}
			return every, nil
		}
	}
	return nil
}

func isMatch(operator string) bool {
	return strings.TrimSuffix(strings.TrimPrefix(operator, "!"), "*") == "~"
}

// match computes an operator of regular expressions whose pattern need not be a constant.
func match(stop func() error, name string, a []sqltype.Value) (sqltype.Value, error) {
	base := strings.TrimPrefix(name, "!")
	row, err := funcs.Lookup(funcs.Operator, base, sqltype.OIDText, sqltype.OIDText).With(funcs.Constants{Values: a[1:2]})
	if err != nil {
		return nil, err
	}
	v, err := row.Slow(stop, a, nil, sqltype.Bool)
	if b, ok := v.(bool); ok && base != name {
		return !b, err
	}
	return v, err
}

// View implements plan.Meta.
func (s *Session) View(t *plan.Table) (*pgsyntax.Select, error) {
	key := t.Schema + "." + t.Name
	r := builtin()[key]
	if r == nil || r.view == "" || empty(r) {
		return nil, nil
	}
	if q, ok := views.Load(key); ok {
		return q.(*pgsyntax.Select), nil
	}
	st, err := pgsyntax.Parse(readable.Replace(r.view))
	if err != nil {
		return nil, err
	}
	q := st[0].Node.(*pgsyntax.Select)
	views.Store(key, q)
	return q, nil
}

// views has the parsed definitions of views.
var views sync.Map

// empty are views of what only a server has, and has nothing of here; their definitions read what is not published.
func empty(r *relation) bool {
	if r.schema != pgCatalog {
		return r.name == "triggers" || r.name == "triggered_update_columns"
	}
	for _, prefix := range []string{"pg_stat_progress", "pg_stat_replication", "pg_stat_subscription", "pg_stat_wal", "pg_stat_archiver", "pg_stat_bgwriter", "pg_stat_slru", "pg_stat_recovery",
		"pg_stat_xact", "pg_stats", "pg_replication", "pg_available_extension", "pg_locks", "pg_prepared_xacts", "pg_file_settings", "pg_hba", "pg_ident", "pg_backend_memory",
		"pg_shmem", "pg_config", "pg_publication_tables", "pg_timezone", "pg_stat_database_conflicts", "pg_stat_user_functions"} {
		if strings.HasPrefix(r.name, prefix) {
			return true
		}
	}
	return false
}

// readable has what views call with whole rows as these functions compute it.
var readable = strings.NewReplacer(
	"information_schema._pg_truetypid(a.*, t.*)", "(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END)",
	"information_schema._pg_truetypmod(a.*, t.*)", "(CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)",
	"information_schema._pg_truetypid(a.*, at.*)", "(CASE WHEN at.typtype = 'd' THEN at.typbasetype ELSE a.atttypid END)",
	"information_schema._pg_truetypmod(a.*, at.*)", "(CASE WHEN at.typtype = 'd' THEN at.typtypmod ELSE a.atttypmod END)",
)

// Procs implements plan.Meta: the functions of information_schema.
func (s *Session) Procs(schema, name string) []*pgcat.Proc {
	if schema != infSchema {
		return nil
	}
	return infProcs[name]
}

// Type implements plan.Meta: domains of information_schema are what they are made of; row types and enums are the tables'.
func (s *Session) Type(schema, name string) (sqltype.Type, bool) {
	if schema == infSchema {
		switch name {
		case "sql_identifier":
			return sqltype.Name, true
		case "character_data":
			return sqltype.Varchar, true
		case "yes_or_no":
			return sqltype.Type{OID: sqltype.OIDVarchar, Typmod: 3 + 4}, true
		case "cardinal_number":
			return sqltype.Int4, true
		case "time_stamp":
			return sqltype.Type{OID: sqltype.OIDTimestamptz, Typmod: 2}, true
		}
	}
	return sqltype.Type{}, false
}
