package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// kinds has a column of every type that expressions are made of.
var kindColumns = []string{"i2 int2", "i4 int4", "i8 int8", "n numeric", "m numeric(10,2)", "r float4", "f float8", "t text", "v varchar(10)", "w varchar",
	"c char(3)", "q \"char\"", "nm name", "b bool", "d date", "tm time", "tz timetz", "ts timestamp", "tp timestamp(3)", "tt timestamptz", "iv interval",
	"ih interval hour to minute", "u uuid", "by bytea", "j json", "jb jsonb", "o oid", "md mood", "ia int4[]", "ta text[]", "na numeric(5,2)[]", "ma mood[]",
	"ba bool[]", "da date[]", "mo money", "ip inet", "pt point", "rg int4range", "bt bit(4)", "vb bit varying(5)"}

// oracle is a PostgreSQL with the table kinds, and our catalog of it.
type oracle struct {
	conn *pgconn.PgConn
	cat  catalog
}

func newOracle(t *testing.T) *oracle {
	ctx := context.Background()
	conn := connect(t)
	for _, sql := range []string{"DROP TABLE IF EXISTS kinds", "DROP TYPE IF EXISTS mood", "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", "CREATE TABLE kinds (" + strings.Join(kindColumns, ", ") + ")"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	e := sqltype.Enum{Schema: "public", Name: "mood", Labels: []string{"sad", "ok", "happy"}}
	if err := conn.QueryRow(ctx, "SELECT oid, typarray FROM pg_type WHERE typname = 'mood'").Scan(&e.OID, &e.Array); err != nil {
		t.Fatal(err)
	}
	mood := sqltype.EnumType(e)
	moods, _ := sqltype.ArrayOf(mood)
	rows, err := conn.Query(ctx, "SELECT attname, atttypid, atttypmod FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attnum > 0 ORDER BY attnum")
	if err != nil {
		t.Fatal(err)
	}
	table := &plan.Table{OID: 30010, Schema: "public", Name: "kinds", UnitCol: -1}
	var c plan.TableColumn
	var typ sqltype.Type
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &typ.OID, &typ.Typmod}, func() error {
		c.Type, c.Visible = typ, true
		switch typ.OID {
		case mood.OID:
			c.Type = mood
		case moods.OID:
			c.Type = moods
		}
		table.Columns = append(table.Columns, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{conn: conn.PgConn(), cat: catalog{"kinds": table}}
}

// describe gives PostgreSQL's descriptions, many statements on the way at once.
func (o *oracle) describe(t *testing.T, list []string) []string {
	ctx := context.Background()
	out := make([]string, 0, len(list))
	const batch = 500
	for chunk := range slices.Chunk(list, batch) {
		p := o.conn.StartPipeline(ctx)
		for _, sql := range chunk {
			p.SendPrepare("", sql, nil)
			if err := p.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		for range chunk {
			text := ""
			for synced := false; !synced; {
				res, err := p.GetResults()
				var pe *pgconn.PgError
				switch x := res.(type) {
				case *pgconn.StatementDescription:
					text = described(x)
				case *pgconn.PipelineSync:
					synced = true
				default:
					if !errors.As(err, &pe) {
						t.Fatal(err)
					}
					text = fmt.Sprintf("%s at %d: %s", pe.Code, pe.Position, pe.Message)
				}
			}
			out = append(out, text)
		}
		if err := p.Close(); err != nil {
			var pe *pgconn.PgError
			if !errors.As(err, &pe) {
				t.Fatal(err)
			}
		}
	}
	return out
}

func described(d *pgconn.StatementDescription) string {
	var out []string
	for _, f := range d.Fields {
		out = append(out, fmt.Sprintf("%s %d %d", f.Name, f.DataTypeOID, f.TypeModifier))
	}
	for _, p := range d.ParamOIDs {
		out = append(out, fmt.Sprintf("$ %d", p))
	}
	return strings.Join(out, ", ")
}

// ours is what we say of a statement; id is a refusal's.
func (o *oracle) ours(sql string, binds func(*pgsyntax.Select, plan.Catalog, plan.BindOptions) (*plan.Query, error)) (text, id string) {
	var e *sqlerr.Error
	fail := func(err error) (string, string) {
		if errors.As(err, &e) {
			return fmt.Sprintf("%s at %d: %s", e.Code, e.Pos, e.Message), e.ID
		}
		return err.Error(), ""
	}
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return fail(err)
	}
	q, err := binds(st[0].Node.(*pgsyntax.Select), o.cat, plan.BindOptions{})
	if err != nil {
		return fail(err)
	}
	var out []string
	for _, c := range q.Outputs {
		out = append(out, fmt.Sprintf("%s %d %d", c.Name, c.Type.OID, c.Type.Typmod))
	}
	for _, p := range q.Params {
		out = append(out, fmt.Sprintf("$ %d", p.OID))
	}
	return strings.Join(out, ", "), ""
}

// verdicts counts how statements compare.
type verdicts struct {
	same, accepted, words, wrong int
	refused                      map[string]int
}

func (v *verdicts) String() string {
	var ids []string
	for id, n := range v.refused {
		ids = append(ids, fmt.Sprintf("%s %d", id, n))
	}
	sort.Strings(ids)
	return fmt.Sprintf("%d as PostgreSQL, of which %d accepted, %d in other words, %d wrong; refused: %s", v.same, v.accepted, v.words, v.wrong, strings.Join(ids, ", "))
}

func (o *oracle) compare(t *testing.T, list []string, binds func(*pgsyntax.Select, plan.Catalog, plan.BindOptions) (*plan.Query, error)) *verdicts {
	v := &verdicts{refused: map[string]int{}}
	want := o.describe(t, list)
	for i, sql := range list {
		got, id := o.ours(sql, binds)
		g, _, _ := strings.Cut(got, " at ")
		w, _, isError := strings.Cut(want[i], " at ")
		if !isError && got == want[i] {
			v.accepted++
		}
		switch {
		case got == want[i], elsewhere(got) == elsewhere(want[i]) && strings.Contains(want[i], " at 0: "):
			v.same++ // a position where PostgreSQL gives none is no difference
		case strings.HasPrefix(id, "unsupported"), id == sqlerr.InvalidParam.ID && !isError: // what PostgreSQL finds out when it runs
			v.refused[id]++
		case isError && g == w:
			if v.words++; os.Getenv("WORDS") != "" {
				t.Logf("%s\n  got  %s\n  want %s", sql, got, want[i])
			}
		default:
			if v.wrong++; v.wrong <= 40 {
				t.Errorf("%s\n  got  %s\n  want %s", sql, got, want[i])
			}
		}
	}
	return v
}

// elsewhere is a description of a refusal without its position.
func elsewhere(s string) string {
	code, rest, ok := strings.Cut(s, " at ")
	if !ok {
		return s
	}
	_, message, _ := strings.Cut(rest, ": ")
	return code + ": " + message
}

// operands are columns, an untyped literal and a parameter.
func operands() []string {
	out := []string{"null", "$1", "1", "1.5", "3000000000"}
	for _, c := range kindColumns {
		name, _, _ := strings.Cut(c, " ")
		out = append(out, name)
	}
	return out
}

// TestOperators: every operator of the catalog between every two types, of which each run takes a share.
func TestOperators(t *testing.T) {
	o := newOracle(t)
	rows, err := pgconnTexts(o.conn, "SELECT DISTINCT oprname FROM pg_operator ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	share := 0.02
	if os.Getenv("DPSQL_LONG") != "" {
		share = 1
	}
	var list []string
	for _, op := range rows {
		for _, a := range operands() {
			list = append(list, fmt.Sprintf("select %s %s from kinds", op, a))
			for _, b := range operands() {
				if rng.Float64() < share {
					list = append(list, fmt.Sprintf("select %s %s %s from kinds", a, op, b))
				}
			}
		}
	}
	t.Logf("%d statements: %v", len(list), o.compare(t, list, plan.Describe))
}

func pgconnTexts(conn *pgconn.PgConn, sql string) ([]string, error) {
	res, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range res[0].Rows {
		out = append(out, string(r[0]))
	}
	return out, nil
}
