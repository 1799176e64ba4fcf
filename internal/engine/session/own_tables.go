package session

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/plan"
)

func newCatalog(inner plan.Catalog) *Catalog {
	c := &Catalog{Catalog: inner, tables: map[string]*plan.Table{}}
	for _, t := range OwnTables {
		c.tables[t.Name] = t.Table
	}
	return c
}

// VisibleTables are those of the policy, and dpsql's own.
func (c *Catalog) VisibleTables() []*plan.Table {
	out := slices.Clone(c.Catalog.VisibleTables())
	for _, t := range OwnTables {
		out = append(out, t.Table)
	}
	return out
}

// OwnTables are dpsql's own, each with its rows as the analyst of a session may see them.
var OwnTables = []struct {
	*plan.Table
	rows func(*Session, context.Context) ([][]sqltype.Value, error)
}{
	{BudgetTable, (*Session).budgetRows},
	{lastTable, (*Session).LastRows},
	{releasesTable, (*Session).releasesRows},
	{ledgerTable, (*Session).ledgerRows},
	{watchesTable, (*Session).watchesRows},
	{cubesTable, (*Session).cubesRows},
	{domainsTable, (*Session).domainsRows},
}

// BudgetTable is design section 9's dpsql.budget.
var BudgetTable = ownTable(16384, "budget", sqltype.Text, "scope", sqltype.Float8, "epsilon", "delta", "order", "pure_spent", "renyi_spent", "renyi_room",
	"delta_spent", sqltype.Int8, "statements_left", sqltype.Timestamp, "renews_at", sqltype.Float8, "granted", "odometer_epsilon", "odometer_delta", sqltype.Int8, "windows")

// releasesTable is what an analyst paid for and is answered from at no charge: the own rows alone, also where releases answer everybody.
var releasesTable = ownTable(16386, "releases", sqltype.Int8, "charge", sqltype.Text, "release", sqltype.Float8, "price", "pure", "renyi", "delta",
	sqltype.Timestamp, "made_at", "expires_at", sqltype.Text, "query")

// domainsTable has the public values that the policy lists for columns.
var domainsTable = ownTable(16389, "domains", sqltype.Text, "table_schema", "table_name", "column_name", sqltype.Int8, "position", sqltype.Text, "value")

func (s *Session) domainsRows(context.Context) ([][]sqltype.Value, error) {
	return pgmeta.Domains(s.Catalog, s.World.Catalogs.VisibleOf(s.Catalog.Catalog)), nil
}

func (s *Session) releasesRows(ctx context.Context) ([][]sqltype.Value, error) {
	list, err := s.Engine.Ledger.Releases(s.Analyst.Name)
	if err != nil {
		return nil, s.LedgerFailed(err)
	}
	own, err := s.ownByRecord(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]sqltype.Value
	for _, r := range list {
		var charge, query, renyi sqltype.Value
		if c, ok := own[r.Reservation]; ok {
			charge, query = c.Number, textOrNull(c.Text)
		}
		if r.Loss.Renyi > 0 { // else it was made in a window without an order
			renyi = r.Loss.Renyi
		}
		rows = append(rows, []sqltype.Value{charge, hex.EncodeToString(r.Key[:]), r.Price, r.Loss.Pure, renyi, r.Loss.Delta, sqltype.InstantOf(r.Made), sqltype.InstantOf(r.Expires), query})
	}
	return rows, nil
}

func ownTable(oid uint32, name string, spec ...any) *plan.Table {
	said := OwnComments[name]
	t := &plan.Table{OID: oid, Schema: "dpsql", Name: name, Public: true, UnitCol: -1, Description: said[""]}
	var typ sqltype.Type
	for _, x := range spec {
		switch x := x.(type) {
		case sqltype.Type:
			typ = x
		case string:
			t.Columns = append(t.Columns, plan.TableColumn{Name: x, Type: typ, Visible: true, Description: said[x]})
		}
	}
	return t
}

// OwnRows are the rows of one of dpsql's own tables, as this analyst may see them.
func (s *Session) OwnRows(ctx context.Context, t *plan.Table) ([][]sqltype.Value, error) {
	if x := s.Catalog.synthetic[t]; x != nil {
		made, err := s.Engine.Models.Tables().Load(ctx, x)
		if err != nil {
			return nil, s.ModelsFailed(ctx, err)
		}
		return syntheticRows(made)
	}
	for _, own := range OwnTables {
		if own.Table == t {
			return own.rows(s, ctx)
		}
	}
	return nil, sqlerr.New(sqlerr.Internal, "dpsql.%s has no rows", t.Name)
}

func (s *Session) budgetRows(context.Context) ([][]sqltype.Value, error) {
	b, err := s.Engine.Ledger.Balance(s.Payer())
	if err != nil {
		return nil, s.LedgerFailed(err)
	}
	f := b.Filter
	price := f.Usual(s.Now.Epsilon) // without a selection's delta
	row := func(scope string, epsilon float64, a ledger.Account) []sqltype.Value {
		var order, rs, rr sqltype.Value
		if f.Order != 0 {
			order, rs, rr = f.Order, a.Spent.Renyi, a.Rooms.Renyi
		}
		epsilon = min(f.Epsilon, epsilon+a.Granted)
		return []sqltype.Value{scope, epsilon, f.Delta * (epsilon / f.Epsilon), order, a.Spent.Pure, rs, rr, a.Spent.Delta, a.StatementsLeft(price), renews(b), a.Granted, nil, nil, nil}
	}
	mine := row("analyst", s.Analyst.Epsilon, b.Analyst)
	mine[8] = b.StatementsLeft(price)
	mine[11], mine[12] = odometer(b)
	rows := [][]sqltype.Value{mine}
	for i, r := range b.Roles {
		rows = append(rows, row("role "+r.Name, s.Analyst.Roles[i].Epsilon, r.Account))
	}
	rows = append(rows, row("data_set", f.Epsilon, b.Dataset))
	if l := b.Lifetime; l.Limited || s.World.Policy.Budget.Per != "" { // each charged window counts in full
		var most sqltype.Value
		if l.Limited {
			most = l.Epsilon
		}
		rows = append(rows, []sqltype.Value{"lifetime", most, nil, nil, l.Spent, nil, nil, l.SpentDelta, nil, nil, nil, nil, nil, int64(l.Windows)})
	}
	return rows, nil
}

// odometer is what the answers guarantee together that an analyst paid for in this window: never less than the budget promises of all.
func odometer(b ledger.Balance) (epsilon, delta float64) {
	if epsilon, delta = b.Began.Odometer(b.Analyst.Spent); epsilon > b.Filter.Epsilon {
		return b.Filter.Epsilon, b.Filter.Delta
	}
	return epsilon, delta
}

// renews is when a budget with windows comes back; NULL where it never does, be it that the lifetime holds no further window.
func renews(b ledger.Balance) sqltype.Value {
	if b.Window.Renews.IsZero() || b.Window.Last {
		return nil
	}
	return sqltype.InstantOf(b.Window.Renews)
}

// LastRows are those of dpsql.last.
func (s *Session) LastRows(ctx context.Context) ([][]sqltype.Value, error) {
	if s.Last == nil {
		return nil, nil
	}
	return s.Last.Rows(ctx)
}

// BudgetLineLength is the most characters of SHOW dpsql.budget; the table dpsql.budget has what does not fit.
const BudgetLineLength = 160

// budgetLine is SHOW dpsql.budget: what is left, when it comes back, and how much of what is spent.
func (s *Session) budgetLine() (string, error) {
	b, err := s.Balance()
	if err != nil {
		return "", err
	}
	f := b.Filter
	line := s.LeftLine(b, dp.Loss{}) + RenewsNote(b)
	share := fmt.Sprintf("; %.3g %% of %syour %s is spent", 100*b.Analyst.Used(), deltaOf(b.Analyst), QuotaText(min(f.Epsilon, s.Analyst.Epsilon+b.Analyst.Granted), f.Epsilon))
	if len(line)+len(share) <= BudgetLineLength {
		line += share
	}
	return line, nil
}

// RenewsNote says when a budget with windows comes back; "" for one without, and where what is left says it.
func RenewsNote(b ledger.Balance) string {
	switch at := b.Window.Renews; {
	case at.IsZero() || b.Dataset.Ended:
		return ""
	case b.Window.Last:
		return "; it does not renew"
	case at.Equal(at.Truncate(24 * time.Hour)):
		return "; renews " + at.Format(time.DateOnly)
	default:
		return "; renews " + at.Format("2006-01-02 15:04") + " UTC"
	}
}

// QuotaText says what an account's budget is: the guarantee where it is the data set's, and a share of the data set's budget where it is a quota.
func QuotaText(epsilon, dataset float64) string {
	if epsilon < dataset {
		return fmt.Sprintf("budget (%.3g %% of the data set's)", 100*epsilon/dataset)
	}
	return fmt.Sprintf("budget (epsilon %s)", server.Number(epsilon))
}

// UsedNote says which share of the own budget is spent.
func UsedNote(b ledger.Balance) string {
	return fmt.Sprintf("%.3g %% of %syour budget is spent", 100*b.Analyst.Used(), deltaOf(b.Analyst))
}

// deltaOf says that the share of an account that is spent is of its delta, of which less is left than of its epsilon.
func deltaOf(a ledger.Account) string {
	if epsilon, delta := a.Parts(); delta > epsilon {
		return "the delta of "
	}
	return ""
}

// LeftLine says what an analyst may still ask: the least of what is left of the own budget, the roles' and the data set's. asked is the charge of the statement before it: where its delta leaves fewer of its like, that is said.
func (s *Session) LeftLine(b ledger.Balance, asked dp.Loss) string {
	f, e := b.Filter, s.Now.Epsilon
	n, own := b.StatementsLeft(f.Usual(e)), b.Analyst.StatementsLeft(f.Usual(e))
	noise, left := "", fmt.Sprintf("left: %s at price %s", server.StatementCount(n), server.Number(e))
	if s.Now.Mechanism.PrefersL2Scale(f) {
		if g := b.StatementsLeft(dp.Loss{Pure: math.Inf(1), Renyi: f.Usual(e).Renyi}); g < n {
			noise = fmt.Sprintf(" with Laplace noise, %d with Gaussian", g)
		}
	}
	like := n
	if asked.Delta > 0 {
		like = b.StatementsLeft(asked)
	}
	switch {
	case b.Dataset.Ended:
		return "left: nothing, as the lifetime does not hold this window"
	case n > 0 && like < n:
		return fmt.Sprintf("left: %s like this one, by its delta (%d at price %s without delta)", server.StatementCount(like), n, server.Number(e))
	case n > 0 && n < own:
		return fmt.Sprintf("%s%s (shared with other analysts; your own budget holds %d)", left, noise, own)
	case n > 0:
		return left + noise
	}
	low, high := s.LeastEpsilon(), e
	if least := f.Usual(low); !b.CanAdmit(least) {
		return "left: nothing" + otherBudgetNote(b, least) + "; stored answers are free"
	}
	for high/low > 1.0005 {
		if mid := math.Sqrt(low * high); b.CanAdmit(f.Usual(mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	if down := server.RoundDown3(low); b.CanAdmit(f.Usual(down)) {
		low = down
	}
	why := otherBudgetNote(b, f.Usual(e))
	if b.Analyst.Rooms.StatementsLeft(dp.Loss{}, f.Usual(e)) == 0 {
		why = ", which is above your whole budget"
	}
	return fmt.Sprintf("left: no statement at price %s%s; SET dpsql.price = %s lets a count pass", server.Number(e), why, server.Number(low))
}

// otherBudgetNote says whose budget does not hold a charge, where the own one does.
func otherBudgetNote(b ledger.Balance, charge dp.Loss) string {
	if b.Analyst.StatementsLeft(charge) == 0 {
		return ""
	}
	for _, r := range b.Roles {
		if r.StatementsLeft(charge) == 0 {
			return ", as role " + shortName(r.Name) + " has no room"
		}
	}
	return ", as the data set has no room"
}

// shortName is a name as far as a line has room for it.
func shortName(name string) string {
	if r := []rune(name); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return name
}

// epoch2000 is the zero of PostgreSQL's timestamps.
var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Constants are the functions about the session itself, and the clock's.
func (s *Session) Constants() map[string]plan.SessionValue {
	text := func(v string) plan.SessionValue { return plan.SessionValue{Value: v, Type: sqltype.Text} }
	name := func(v string) plan.SessionValue { return plan.SessionValue{Value: v, Type: sqltype.Name} }
	schema := name("public")
	if s.Values.Path != "" {
		schema.Value = (&pgmeta.Session{Database: s.Database(), Values: s.Values}).CurrentSchema()
	}
	return map[string]plan.SessionValue{
		plan.Now:  {Value: sqltype.Micros(time.Since(epoch2000) / time.Microsecond), Type: sqltype.Timestamptz},
		"version": text("PostgreSQL " + sqltype.ServerVersion + " (dpsql: differentially private proxy)"), "current_database": name(s.Engine.Database()), "current_catalog": name(s.Engine.Database()),
		"current_schema": schema, "current_user": name(s.Analyst.Name), "session_user": name(s.Analyst.Name), "user": name(s.Analyst.Name), "current_role": name(s.Analyst.Name),
	}
}

// Balance is this analyst's.
func (s *Session) Balance() (ledger.Balance, error) {
	b, err := s.Engine.Ledger.Balance(s.Payer())
	if err != nil {
		err = s.LedgerFailed(err)
	}
	return b, err
}

// lastTable is design section 9's dpsql.last: the facts about the session's last SELECT from tables, a row a measure, none where it released nothing. All of it is public or
// released: bounds that were chosen are, and noise follows from them.
var lastTable = ownTable(16385, "last", sqltype.Int8, "release", "measure", sqltype.Text, "kind", "bound", sqltype.Float8, "clip", sqltype.Int8, "groups",
	sqltype.Text, "noise", sqltype.Float8, "scale", "error_95", "price", sqltype.Bool, "free", sqltype.Text, "shown", sqltype.Int8, "hidden_up_to", sqltype.Text, "left_out", "of", "warnings")
