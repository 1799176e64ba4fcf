package corpus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// kind is what became of a statement.
type kind string

const (
	same      kind = "same"
	refused   kind = "refused"
	different kind = "different"
)

// verdict is a statement's kind, the id of its error and a line about it. The note is what the summary counts beside an id.
type verdict struct {
	kind             kind
	id, note, detail string
}

// Notes of verdicts.
const (
	noteBoth         = "refused by PostgreSQL too"
	noteWrong        = "an error of PostgreSQL's that PostgreSQL does not give"
	noteNotDescribed = "its names and types are not known either"
	noteNewer        = "grammar of a later PostgreSQL than the server"
)

// compare reads a statement in every way. An error is of the runner itself.
func (w *world) compare(st statement) (verdict, error) {
	list, err := pgsyntax.Parse(st.text)
	if err != nil {
		return w.refusal(st, err)
	}
	if len(list) == 1 {
		if other, ok := list[0].Node.(*pgsyntax.Other); ok { // its text was not read
			return verdict{kind: refused, id: sqlerr.Unsupported.ID, detail: other.Verb}, nil
		}
	}
	if err := w.taken(st.text); err != nil {
		return verdict{kind: different, detail: "PostgreSQL's parser refuses it: " + err.Error()}, nil //nolint:nilerr // it is the finding
	}
	for _, one := range list {
		v := verdict{kind: same} // a statement of the session is read by our own grammar
		switch n := one.Node.(type) {
		case *pgsyntax.Select:
			if v = w.tree(one.Text, n, ""); v.kind == same {
				v, err = w.binding(statement{st.where, one.Text}, n)
			}
		case *pgsyntax.Explain:
			if sel, ok := n.Query.(*pgsyntax.Select); ok {
				v = w.tree(one.Text[int(sel.Pos)-one.Offset:], sel, "EXPLAIN ")
			}
		}
		if err != nil || v != (verdict{kind: same}) {
			return v, err
		}
	}
	return verdict{kind: same}, nil
}

func (w *world) taken(text string) error {
	if w.parser == nil {
		return nil
	}
	return w.parser.Takes(text)
}

// tree compares PostgreSQL's tree of a query's text with the one of our print of it.
func (w *world) tree(text string, sel *pgsyntax.Select, before string) verdict {
	if w.parser == nil {
		return verdict{kind: same}
	}
	printed := pgsyntax.Print(sel)
	eq, err := w.parser.Same(before+text, before+printed)
	switch {
	case err != nil:
		return verdict{kind: different, detail: "tree: " + err.Error()}
	case !eq:
		return verdict{kind: different, detail: "tree: read as " + printed}
	}
	return verdict{kind: same}
}

// refusal is what becomes of a statement that ours refuses.
func (w *world) refusal(st statement, err error) (verdict, error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID == sqlerr.Internal.ID {
		return verdict{kind: different, detail: fmt.Sprintf("an internal error: %v", err)}, nil
	}
	v := verdict{kind: refused, id: e.ID, detail: fmt.Sprintf("%s at %s", e.Message, near(st.text, e.Pos))}
	_, perr := w.describe(st.text)
	var pg *pgconn.PgError
	switch {
	case perr != nil && !errors.As(perr, &pg):
		return v, perr
	case pg != nil && pg.Code == e.Code:
		return verdict{kind: same, id: e.ID, note: noteBoth}, nil
	case pg != nil:
		v.note, v.detail = noteBoth, v.detail+"; PostgreSQL: "+pg.Message
	case ofPostgreSQL(e):
		return w.untrue(st, e, v)
	}
	return v, nil
}

// untrue is an error that PostgreSQL does not give as it reads the statement: it may give it as it runs it.
func (w *world) untrue(st statement, e *sqlerr.Error, v verdict) (verdict, error) {
	if strings.HasPrefix(e.Code, "22") {
		var pg *pgconn.PgError
		if _, err := w.rows(st.text, nil, nil); errors.As(err, &pg) && pg.Code == e.Code {
			return verdict{kind: same, id: e.ID, note: noteBoth}, nil
		}
	}
	v.kind, v.note = different, noteWrong
	return v, nil
}

// ofPostgreSQL says whether an error claims that the statement is wrong, and not only that dpsql does not take it.
func ofPostgreSQL(e *sqlerr.Error) bool {
	switch e.ID {
	case sqlerr.Unsupported.ID, sqlerr.TooComplex.ID, sqlerr.TooLong.ID:
		return false
	}
	return !strings.HasPrefix(e.Code, "0A") && !strings.HasPrefix(e.Code, "PV")
}

// near is what stands at a position.
func near(text string, pos int) string {
	if pos < 1 || pos > len(text) {
		return "no position"
	}
	at := strings.Join(strings.Fields(text[pos-1:]), " ")
	if len(at) > 40 {
		at = strings.ToValidUTF8(at[:40], "") + "..."
	}
	return fmt.Sprintf("%q", at)
}

// describe is a PostgreSQL server's description of a statement.
func (w *world) describe(text string) (*pgconn.StatementDescription, error) {
	return w.conn.PgConn().Prepare(w.ctx, "", text, nil)
}

// binding compares the descriptions of a query.
func (w *world) binding(st statement, sel *pgsyntax.Select) (verdict, error) {
	q, err := plan.Bind(sel, w.tables, plan.BindOptions{Session: w.session})
	if err != nil {
		return w.described(st, sel, err)
	}
	v, err := w.compared(st, q)
	if err != nil || v != (verdict{kind: same}) {
		return v, err
	}
	d, err := w.answered(st, q)
	if d != "" {
		v = verdict{kind: different, detail: d}
	}
	return v, err
}

// described is a statement that the binder refuses: where it only lacks a plan or a function, its names and types are known
// all the same, and are PostgreSQL's.
func (w *world) described(st statement, sel *pgsyntax.Select, refusal error) (verdict, error) {
	v, err := w.refusal(st, refusal)
	if err != nil || v.kind != refused || v.note != "" || !strings.HasPrefix(v.id, sqlerr.Unsupported.ID) {
		return v, err
	}
	q, err := plan.Describe(sel, w.tables, plan.BindOptions{Session: w.session})
	if err != nil {
		v.note, v.detail = noteNotDescribed, v.detail+"; "+err.Error()
		return v, nil //nolint:nilerr // it is noted
	}
	if d, err := w.compared(st, q); err != nil || d.kind != same {
		return d, err
	}
	return v, nil
}

// compared is whether a description is PostgreSQL's.
func (w *world) compared(st statement, q *plan.Query) (verdict, error) {
	pg, err := w.describe(st.text)
	var refusal *pgconn.PgError
	switch {
	case errors.As(err, &refusal) && refusal.Code == sqlerr.Syntax.Code:
		return verdict{kind: same, note: noteNewer, detail: refusal.Message}, nil // PostgreSQL's parser has taken it above
	case errors.As(err, &refusal):
		return verdict{kind: different, detail: "PostgreSQL refuses it: " + refusal.Code + " " + refusal.Message}, nil
	case err != nil:
		return verdict{}, err
	}
	if d := differences(q, pg); d != "" {
		return verdict{kind: different, detail: d}, nil
	}
	return verdict{kind: same}, nil
}

// differences tells the first difference between two descriptions.
func differences(q *plan.Query, pg *pgconn.StatementDescription) string {
	if len(q.Outputs) != len(pg.Fields) {
		return fmt.Sprintf("%d columns, PostgreSQL's are %d", len(q.Outputs), len(pg.Fields))
	}
	for i, o := range q.Outputs {
		f := pg.Fields[i]
		mine, theirs := fmt.Sprintf("%s %d typmod %d", o.Name, o.Type.OID, o.Type.Typmod), fmt.Sprintf("%s %d typmod %d", f.Name, f.DataTypeOID, f.TypeModifier)
		if mine != theirs {
			return fmt.Sprintf("column %d is %s, PostgreSQL's %s", i+1, mine, theirs)
		}
		if o.TableOID != f.TableOID || uint16(o.Attr) != f.TableAttributeNumber {
			return fmt.Sprintf("column %d is of %d.%d, PostgreSQL's of %d.%d", i+1, o.TableOID, o.Attr, f.TableOID, f.TableAttributeNumber)
		}
	}
	if len(q.Params) != len(pg.ParamOIDs) {
		return fmt.Sprintf("%d parameters, PostgreSQL's are %d", len(q.Params), len(pg.ParamOIDs))
	}
	for i, p := range q.Params {
		if uint32(p.OID) != pg.ParamOIDs[i] {
			return fmt.Sprintf("$%d is %d, PostgreSQL's %d", i+1, p.OID, pg.ParamOIDs[i])
		}
	}
	return ""
}
