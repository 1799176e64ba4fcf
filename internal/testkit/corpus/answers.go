package corpus

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// fill puts rows into the tables that are empty: few values, so that joins meet and groups are larger than one; NULL where it may be. A
// table whose checks refuse them stays empty.
func (w *world) fill() error {
	if _, err := w.conn.Exec(w.ctx, "SET session_replication_role = replica"); err != nil { // no foreign keys
		return err
	}
	for n, t := range w.tables {
		var list, values []string
		for i, c := range t.Columns {
			x := sample(c.Type, n*64+i)
			if x == "" {
				continue
			}
			if !c.NotNull {
				x = fmt.Sprintf("CASE WHEN abs(hashint4(g + %d)) %% 9 > 0 THEN %s END", n*31+i, x)
			}
			list, values = append(list, quote(c.Name)), append(values, x)
		}
		table := quote(t.Schema) + "." + quote(t.Name)
		sql := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series(1, 60) g WHERE NOT EXISTS (SELECT FROM %s) ON CONFLICT DO NOTHING",
			table, strings.Join(list, ", "), strings.Join(values, ", "), table)
		var refused *pgconn.PgError
		if _, err := w.conn.Exec(w.ctx, sql); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	_, err := w.conn.Exec(w.ctx, "RESET session_replication_role; ANALYZE")
	return err
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// sample is an expression over g that gives a column's values; "" for none.
func sample(t sqltype.Type, salt int) string {
	h := fmt.Sprintf("abs(hashint4(g * 7 + %d))", salt)
	switch {
	case t.IsInteger():
		return h + " % 25"
	case t.IsNumber():
		return h + " % 400 / 16.0 - 5"
	case t.IsString():
		return fmt.Sprintf("(ARRAY['a', 'b', 'Ä', 'Brand#1', '1990', 'TN', 'x ', 'M'])[%s %% 8 + 1]", h)
	}
	from := map[sqltype.OID]string{
		sqltype.OIDBool: h + " % 2 = 0", sqltype.OIDDate: "date '1998-11-20' + " + h + " % 700", sqltype.OIDTimestamp: "timestamp '2024-02-28 23:00' + interval '37 min' * (" + h + " % 100)",
		sqltype.OIDTimestamptz: "timestamptz '2024-03-30 23:00+00' + interval '37 min' * (" + h + " % 100)", sqltype.OIDInterval: "interval '1 day 3 min' * (" + h + " % 9)",
		sqltype.OIDTime: "time '23:00' + interval '37 min' * (" + h + " % 9)", sqltype.OIDUUID: "md5((" + h + " % 9)::text)::uuid",
		sqltype.OIDJSONB: "jsonb_build_object('a', " + h + " % 5)", sqltype.OIDJSON: "json_build_object('a', " + h + " % 5)", sqltype.OIDBytea: "decode(to_hex(" + h + " % 9 + 16), 'hex')",
	}
	return from[t.OID]
}

// answered compares the rows of a statement with those of its print, where neither the clock nor the choice of rows makes them differ.
func (w *world) answered(st statement, q *plan.Query) (string, error) {
	if q.Clock {
		return "", nil
	}
	printed, err := sqlgen.PublicQuery(q, funcs.Postgres)
	if err != nil {
		return "not printed: " + err.Error(), nil //nolint:nilerr // it is the finding
	}
	want, wantErr := w.rows(st.text, make([][]byte, len(q.Params)), nil)
	args, oids := make([][]byte, len(printed.Args)), make([]uint32, len(printed.Args))
	for i, a := range printed.Args {
		oids[i] = uint32(a.Type.OID)
		if a.Value != nil {
			args[i] = []byte(sqltype.FormatText(a.Value, a.Type))
		}
	}
	got, gotErr := w.rows(printed.SQL, args, oids)
	var said, refused *pgconn.PgError
	switch {
	case wantErr != nil && !errors.As(wantErr, &said):
		return "", wantErr
	case gotErr != nil && !errors.As(gotErr, &refused):
		return "", gotErr
	case said != nil && refused != nil && said.Code == refused.Code:
		return "", nil //nolint:nilerr // both refuse alike
	case (said != nil) != (refused != nil) || said != nil:
		return fmt.Sprintf("answers: %v, the print's %v: %s", wantErr, gotErr, printed.SQL), nil //nolint:nilerr // the difference is what was found
	case len(got) != len(want):
		return fmt.Sprintf("%d rows, the print's %d: %s", len(want), len(got), printed.SQL), nil
	case chosen(q.Root):
		return "", nil
	}
	slices.Sort(got)
	slices.Sort(want)
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("row %s, the print's %s: %s", want[i], got[i], printed.SQL), nil
		}
	}
	return "", nil
}

// chosen: which rows are answered depends on the order of equals.
func chosen(r plan.Rel) bool {
	return !plan.VisitRels(r, func(r plan.Rel) bool {
		switch r.(type) {
		case *plan.Limit, *plan.DistinctOn, *plan.Window:
			return false
		}
		return true
	})
}

func (w *world) rows(sql string, args [][]byte, oids []uint32) ([]string, error) {
	res := w.conn.PgConn().ExecParams(w.ctx, sql, args, oids, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	out := make([]string, len(res.Rows))
	for i, row := range res.Rows {
		for k, v := range row {
			text := string(v)
			if f := res.FieldDescriptions[k]; f.DataTypeOID == uint32(sqltype.OIDFloat8) || f.DataTypeOID == uint32(sqltype.OIDFloat4) {
				if x, err := strconv.ParseFloat(text, 64); err == nil { // sums in another order
					text = strconv.FormatFloat(x, 'g', 9, 64)
				}
			}
			if v == nil {
				text = "NULL"
			}
			out[i] += "|" + text
		}
	}
	return out, nil
}
