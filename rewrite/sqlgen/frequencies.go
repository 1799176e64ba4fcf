package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// ofJoined prepares a statement whose rows are of several units.
func ofJoined(a *sensitivity.Analysis, d dialect.Dialect, seed int64, statement func(*private) *Statement) (*Statement, error) {
	if a.Body == nil || a.Body.UnitCol != 0 || a.Joined == nil {
		return nil, internalError("the analysis of a joined statement is not complete")
	}
	return prepared(a, d, seed, statement)
}

// Frequencies prints one row: of each of a.Joined.Frequencies how many rows, at most, its leaf has with one value of its columns (RoleFrequency). seed is Private's, so that caps keep the same rows; both are to run in one snapshot.
//
// Proof: claim: what a sensitivity.KeyFrequency says, of the very rows that Private joins: a leaf is the same relation there, and its caps the same function of its rows. Rows with NULL in one of the columns, which no equality holds for, count for nothing.
// Leaves of a self-join may have one text: of one table, with the same conditions, caps, constants and columns that are read. Each is a function of the snapshot (of a cap see capped), so they have one value, which is computed once.
func Frequencies(a *sensitivity.Analysis, d dialect.Dialect, seed int64) (*Statement, error) {
	return ofJoined(a, d, seed, (*private).frequencies)
}

func (w *private) frequencies() *Statement {
	st := &Statement{}
	var once, out []string
	aliases := w.aliases
	for i, q := range w.a.Joined.Frequencies {
		w.aliases = aliases // so that what is the same is spelled the same
		f := w.build(q.Side)
		var by []string
		for _, id := range q.Columns {
			x := f.column(w.printer, id, stored)
			f.where, by = append(f.where, x+" IS NOT NULL"), append(by, w.alike(x, w.typed(f, id)))
		}
		text := fmt.Sprintf(`COALESCE((SELECT %s("g"."n") FROM (SELECT %s(*) AS "n"%s GROUP BY %s) AS "g"), 0)`, w.fn("max"), w.fn("count"), f.clause(), strings.Join(by, ", "))
		at := slices.Index(once, text)
		if at < 0 {
			at, once = len(once), append(once, text)
		}
		out = append(out, fmt.Sprintf(`"q"."f%d" AS "f%d"`, at+1, i+1))
		st.Columns = append(st.Columns, Column{Role: RoleFrequency, Index: i, Type: sqltype.Int8})
	}
	if len(out) == 0 {
		w.fail(internalError("there is no frequency to be measured"))
	}
	for i := range once {
		once[i] += fmt.Sprintf(` AS "f%d"`, i+1)
	}
	st.SQL, st.Args = "SELECT "+strings.Join(once, ", "), w.args.list
	if len(once) < len(out) { // OFFSET 0 keeps PostgreSQL from writing what is below into what is above, and computing it as often
		st.SQL = fmt.Sprintf(`SELECT %s FROM (%s OFFSET 0) AS "q"`, strings.Join(out, ", "), st.SQL)
	}
	return st
}

// rowTotals prints totals over joined rows: a column for each key (RoleKey) and each measure (RoleMeasure), a row for each group that has any.
//
// Proof: claim: a measure's totals of all groups together change by at most S b, in sum, where one unit changes S rows of the body and b is the largest magnitude of a row's integer (1 for counts). Each row is in one group, since its keys are its own and canonical, and adds its
// integer there, which is clamped before it is added (row, Single): a total is that sum, exact in its type. A number of distinct values changes by at most as many rows of its group as change: each that comes or goes takes one value along at most. What FILTER or a NULL leaves out of a total adds 0.
func (w *private) rowTotals() *Statement {
	if !w.a.Groups.Public || w.a.Limit.Capped || w.a.Limit.Norm > 0 {
		w.fail(internalError("the groups of joined rows are not public"))
	}
	st := &Statement{}
	var out, group []string
	for i, k := range w.a.Keys {
		out, group = append(out, fmt.Sprintf(`%s AS "k%d"`, w.keys[i], i+1)), append(group, fmt.Sprint(i+1))
		st.Columns = append(st.Columns, Column{RoleKey, i, keyType(k.Type)})
	}
	for i, m := range w.a.Measures {
		tuple, _ := m.Arg.(*plan.Tuple)
		switch m.Kind {
		case sensitivity.CountRows, sensitivity.CountValues, sensitivity.DistinctValues, sensitivity.SumValues, sensitivity.CentredSum:
		default:
			w.fail(internalError("measure %s of joined rows cannot be printed", m.Kind))
		}
		if !m.Single || m.Distinct || m.Rows > 0 || m.Product != nil || tuple != nil && tuple.Held != nil {
			w.fail(internalError("measure %s of joined rows is not one of rows", m.Kind))
			continue
		}
		text, t := w.total(i, m, true)
		out = append(out, fmt.Sprintf(`%s AS "m%d"`, text, i+1))
		st.Columns = append(st.Columns, Column{RoleMeasure, i, t})
	}
	if len(w.a.Measures) == 0 {
		w.fail(internalError("nothing is measured"))
	}
	st.SQL = "SELECT " + strings.Join(out, ", ") + w.f.clause()
	if len(group) > 0 {
		st.SQL += " GROUP BY " + strings.Join(group, ", ")
	}
	st.Args = w.args.list
	return st
}
