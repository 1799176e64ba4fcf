package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// wide has a column of every type.
const wideDDL = `CREATE TABLE wide (id integer PRIMARY KEY, i2 smallint, i4 integer, i8 bigint, n numeric, m numeric(10,2), r real, f double precision,
	t text, v varchar(10), w varchar, c char(3), b boolean, d date, ts timestamp);
	CREATE TABLE other (id bigint, i4 smallint, v text, m numeric(12,4), b boolean)`

func wideCatalog() catalog {
	table := func(oid uint32, name string, cols ...any) *plan.Table {
		t := &plan.Table{OID: oid, Schema: "public", Name: name, UnitCol: -1}
		for i := 0; i < len(cols); i += 2 {
			t.Columns = append(t.Columns, plan.TableColumn{Name: cols[i].(string), Type: cols[i+1].(sqltype.Type), Visible: true, NotNull: cols[i] == "id" && name == "wide"})
		}
		return t
	}
	varchar10, char3 := sqltype.Type{OID: sqltype.OIDVarchar, Typmod: 14}, sqltype.Type{OID: sqltype.OIDBPChar, Typmod: 7}
	wide := table(30001, "wide", "id", sqltype.Int4, "i2", sqltype.Int2, "i4", sqltype.Int4, "i8", sqltype.Int8, "n", sqltype.Numeric, "m", sqltype.NumericOf(10, 2),
		"r", sqltype.Float4, "f", sqltype.Float8, "t", sqltype.Text, "v", varchar10, "w", sqltype.Varchar, "c", char3, "b", sqltype.Bool, "d", sqltype.Date, "ts", sqltype.Timestamp)
	wide.Keys = [][]int{{0}}
	other := table(30002, "other", "id", sqltype.Int8, "i4", sqltype.Int2, "v", sqltype.Text, "m", sqltype.NumericOf(12, 4), "b", sqltype.Bool)
	return catalog{"wide": wide, "other": other}
}

var (
	wideColumns = []string{"i2", "i4", "i8", "n", "m", "r", "f", "t", "v", "w", "c", "b", "d", "ts"}
	wideTerms   = append([]string{"1", "1.5", "'1'", "null", "3000000000", "$1"}, wideColumns...)
	castNames   = []string{"int2", "int4", "bigint", "numeric", "numeric(5,1)", "real", "float8", "text", "varchar", "bool", "date", "timestamp"}
)

// typeStatements are generated: every operator, cast, conditional, function and aggregate over every combination of types.
func typeStatements() []string {
	var out []string
	add := func(format string, args ...any) {
		out = append(out, "select "+fmt.Sprintf(format, args...)+" from wide")
	}
	for _, a := range wideTerms {
		for _, b := range wideTerms {
			for _, op := range []string{"+", "/", "%", "=", "<", "||", "like"} {
				add("%s %s %s", a, op, b)
			}
			add("case when true then %s else %s end", a, b)
			add("coalesce(%s, %s)", a, b)
			add("nullif(%s, %s)", a, b)
			add("%s in (%s, i4)", a, b)
			add("%s in (%s)", a, b)
			add("%s between %s and 5", a, b)
			add("case %s when %s then 1 end", a, b)
			add("round(%s, %s)", a, b)
		}
		for _, c := range castNames {
			add("%s::%s", a, c)
		}
		for _, f := range []string{"-%s", "+%s", "lower(%s)", "upper(%s)", "length(%s)", "char_length(%s)", "abs(%s)", "round(%s)", "floor(%s)", "ceil(%s)", "not %s", "%s is null",
			"%s is true", "count(%s)", "count(distinct %s)", "sum(%s)", "avg(%s)", "min(%s)", "max(%s)"} {
			add(f, a)
		}
		out = append(out, "select 1 from wide where "+a, "select i4, count(*) from wide group by i4, "+a, "select i4 from wide order by "+a, "select i4 from wide limit "+a,
			"select distinct "+a+" from wide", "select t from wide where t = "+a)
	}
	return out
}

// TestTypes: PostgreSQL's Describe is the oracle of each generated statement's types, and of its refusals.
func TestTypes(t *testing.T) {
	ctx := context.Background()
	conn := connect(t)
	if _, err := conn.Exec(ctx, wideDDL); err != nil {
		t.Fatal(err)
	}
	cat := wideCatalog()
	list := append(typeStatements(), statements(t, "testdata/types.sql")...)
	bad, same, refused, words := 0, 0, 0, 0
	for _, sql := range list {
		want := describe(conn, sql)
		got := bound(t, cat, sql)
		switch {
		case got == want:
			same++
		case strings.HasPrefix(got, "0A000"):
			refused++
		case otherWords(sql, got, want):
			words++
		default:
			if bad++; bad <= 60 {
				t.Errorf("%s\n  got  %s\n  want %s", sql, got, want)
			}
		}
	}
	t.Logf("%d statements: %d as PostgreSQL, %d not supported, %d in other words, %d wrong", len(list), same, refused, words, bad)
}

// otherWords: the same SQLSTATE, said of another place or in other words. A simple CASE is at its WHEN for PostgreSQL; the front end
// refuses a call with too few arguments where it starts; a hint is not compared.
func otherWords(sql, got, want string) bool {
	g, _, ok := strings.Cut(got, " at ")
	w, _, _ := strings.Cut(want, " at ")
	if !ok || g != w {
		return false
	}
	return strings.HasPrefix(sql, "select case ") || g == sqlerr.DuplicateAlias.Code || g == sqlerr.InvalidColumnRef.Code || g == sqlerr.Syntax.Code ||
		strings.Contains(want, "invalid reference to FROM-clause entry") || strings.Contains(want, "for type timestamp:")
}

// describe is PostgreSQL's description of a statement, or the SQLSTATE of its refusal.
func describe(conn *pgx.Conn, sql string) string {
	ctx := context.Background()
	d, err := conn.PgConn().Prepare(ctx, "", sql, nil)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%s at %d: %s", pe.Code, pe.Position, pe.Message)
	}
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, f := range d.Fields {
		out = append(out, fmt.Sprintf("%s %d %d", f.Name, f.DataTypeOID, f.TypeModifier))
	}
	for _, p := range d.ParamOIDs {
		out = append(out, fmt.Sprintf("$ %d", p))
	}
	return strings.Join(out, ", ")
}

// bound is Bind's.
func bound(t *testing.T, cat plan.Catalog, sql string) string {
	q, err := bind(t, cat, sql)
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%s at %d: %s", e.Code, e.Pos, e.Message)
	}
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, o := range q.Outputs {
		out = append(out, fmt.Sprintf("%s %d %d", o.Name, o.Type.OID, o.Type.Typmod))
	}
	for _, p := range q.Params {
		out = append(out, fmt.Sprintf("$ %d", p.OID))
	}
	return strings.Join(out, ", ")
}
