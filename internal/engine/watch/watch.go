package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Inner prepares the query of a watch, and tells of what kind it is.
type Inner func(ctx context.Context, st *session.Statement, q *pgsyntax.Select) (whole, of session.Kind, err error)

// Prepare checks a statement about watches.
func Prepare(ctx context.Context, s *session.Session, n pgsyntax.Node, explained bool, ask Inner) (session.Kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Watch:
		c := &Creation{Session: s, Node: n, explained: explained, ask: ask}
		return c, c.prepare(ctx)
	case *pgsyntax.DropWatch:
		return &drop{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// The limits of watches, and what CREATE DP WATCH takes where it does not say.
const (
	usualEvery  = 24 * time.Hour
	leastEvery  = time.Minute
	mostDays    = 3660
	usualTimes  = 1
	mostWatches = 100 // of one analyst
	mostText    = 64 << 10
)

// Creation is CREATE DP WATCH, or EXPLAIN of it. All of it follows from the statement, the policy and the settings.
type Creation struct {
	Session   *session.Session
	Node      *pgsyntax.Watch
	explained bool
	ask       Inner

	Watch    watches.Watch
	Analysis *sensitivity.Analysis
	Loss     dp.Loss
	key      ledger.Hash
}

// Columns implements session.Kind.
func (c *Creation) Columns() []answer.Column {
	if !c.explained {
		return nil
	}
	return []answer.Column{{Name: "property", Type: sqltype.Text}, {Name: "value", Type: sqltype.Text}}
}

// prepare checks everything that can be checked before anything is spent.
func (c *Creation) prepare(ctx context.Context) error {
	s, n := c.Session, c.Node
	if err := pgsyntax.CheckNewName(n.Name.Text); err != nil {
		return err.At(int(n.Name.Pos))
	}
	w := watches.Watch{Owner: s.Analyst.Name, Name: n.Name.Text, Statement: pgsyntax.Print(n.Query), State: watches.StateNew, Price: s.Now.Epsilon, Formats: formatsOf(s.Values)}
	if len(w.Statement) > mostText {
		return sqlerr.New(sqlerr.TooLong, "the query of a watch is longer than %d bytes", mostText).At(int(n.Query.Pos)).WithHint("Write a shorter one.")
	}
	var err error
	if w.Threshold, err = whole(n.Threshold, "a threshold", 0, dp.MaxChoiceUnits-1, 0); err != nil {
		return err
	}
	if w.Times, err = whole(n.Times, "TIMES", 1, dp.MaxAlerts, usualTimes); err != nil {
		return err
	}
	if w.Every, err = every(n.Every); err != nil {
		return err
	}
	for _, o := range n.With {
		v, err := strconv.ParseFloat(o.Values[0].Text, 64)
		switch {
		case o.Name.Text != "price":
			return sqlerr.New(sqlerr.UndefinedObject, "there is no option %q", o.Name.Text).At(int(o.Name.Pos)).WithHint("CREATE DP WATCH takes WITH (price = 0.5).")
		case o.List || err != nil || !(v >= s.LeastEpsilon()) || math.IsInf(v, 1):
			return sqlerr.New(sqlerr.InvalidParam, "price cannot be %s", o.Values[0].Text).At(int(o.Values[0].Pos)).WithHint("The least is %g.", s.LeastEpsilon())
		}
		if err := s.MayAsk("price", v); err != nil {
			return err.At(int(o.Values[0].Pos))
		}
		w.Price = v
	}
	perUnit, a, err := analyzed(ctx, s, n.Query, c.ask)
	if err != nil {
		return err
	}
	c.Analysis, w.Event = a, dp.Watch{PerUnit: perUnit, Threshold: w.Threshold, Alerts: w.Times}
	if c.Loss, err = c.calibrate(&w, w.Price); err != nil {
		return sqlerr.New(sqlerr.NoiseTooLarge, "the noise that this watch needs is too large to be drawn").WithHint("Give it a larger price, or fewer TIMES.").WithCause(err)
	}
	c.Watch = w
	c.key = keyOf(s, &w, a)
	return nil
}

// calibrate gives the watch's event the least noise that a price pays for.
func (c *Creation) calibrate(w *watches.Watch, price float64) (loss dp.Loss, err error) {
	f := c.Session.Filter
	if w.Event.Scale, err = f.WatchScale(w.Event.PerUnit, w.Event.Alerts, f.Limit(price)); err != nil {
		return loss, err
	}
	if err := w.Event.Validate(); err != nil {
		return loss, err
	}
	return f.Loss(w.Event)
}

// keyOf names a watch in the ledger and the audit log.
func keyOf(s *session.Session, w *watches.Watch, a *sensitivity.Analysis) (key ledger.Hash) {
	return sha256.Sum256(fmt.Appendf(nil, "watch\n%s\n%s\n%s\n%+v\n%s", w.Owner, w.Name, s.World.Catalogs.Epoch(), w.Event, reuse.Canonical(a)))
}

// whole reads a whole number of a clause; one that is not there is the usual one.
func whole(word pgsyntax.Word, what string, least, most, usual uint64) (uint64, error) {
	if word.Text == "" {
		return usual, nil
	}
	n, err := strconv.ParseUint(word.Text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, sqlerr.New(sqlerr.InvalidParam, "%s cannot be %s", what, word.Text).At(int(word.Pos)).WithHint("Write a whole number from %d to %d.", least, most)
	}
	return n, nil
}

// every reads the time between two looks.
func every(word pgsyntax.Word) (time.Duration, error) {
	if word.Text == "" {
		return usualEvery, nil
	}
	v, err := sqltype.ParseText(word.Text, sqltype.Type{OID: sqltype.OIDInterval, Typmod: -1})
	in, ok := v.(sqltype.Interval)
	d := time.Duration(in.Days)*24*time.Hour + time.Duration(in.Micros)*time.Microsecond
	if err != nil || !ok || in.Months != 0 || in.Days < 0 || in.Days > mostDays || in.Micros < 0 || in.Micros > int64(mostDays*24*time.Hour/time.Microsecond) || d < leastEvery || d%time.Second != 0 {
		return 0, sqlerr.New(sqlerr.InvalidParam, "EVERY cannot be '%s'", word.Text).At(int(word.Pos)).WithHint("Write a time of at least a minute, without months: EVERY '1 day'.")
	}
	return d, nil
}

// analyzed is what a watch's query measures, and by how many rows one unit raises it.
func analyzed(ctx context.Context, s *session.Session, q *pgsyntax.Select, ask Inner) (perUnit uint64, a *sensitivity.Analysis, err error) {
	if !isCount(q) {
		return 0, nil, notCount(q)
	}
	_, of, err := ask(ctx, &session.Statement{Session: s, Literals: s.Values, Text: pgsyntax.Condensed(pgsyntax.Print(q), ledger.MaxText), Nameless: true}, q)
	if err != nil {
		return 0, nil, err
	}
	p, is := of.(*private.Statement)
	switch {
	case !is:
		return 0, nil, sqlerr.New(sqlerr.InvalidParam, "a watch is over rows of people, and this query reads none").At(int(q.Pos)).WithHint("A query over public tables is free: ask it as often as you like.")
	case len(p.Query.Params) > 0:
		return 0, nil, sqlerr.New(sqlerr.Unsupported, "parameters in CREATE DP WATCH are not supported").WithHint("Write the values.")
	case len(p.Stages) != 1 || len(p.Stages[0].Inputs) > 0 || len(p.PublicStatements) > 0:
		return 0, nil, notCount(q)
	}
	a = p.Stages[0].An
	if perUnit, ok := release.CanLook(a); ok {
		return perUnit, a, nil
	}
	if a.MaxRows == 0 && len(a.Measures) == 1 && a.Measures[0].Bound != nil && a.Joined == nil && a.Pairs == nil {
		return 0, nil, sqlerr.New(sqlerr.InvalidParam, "it is not known how many rows of one person there are").At(int(q.Pos)).
			WithHint("SET dpsql.clip = 4 counts four of each person's rows, or ask the owner for max_rows_per_unit.")
	}
	return 0, nil, notCount(q)
}

// isCount says that a query is one count.
func isCount(q *pgsyntax.Select) bool {
	if len(q.Targets) != 1 || q.Op != pgsyntax.NoOp || q.Distinct || len(q.DistinctOn)+len(q.GroupBy)+len(q.Windows)+len(q.Values)+len(q.OrderBy) > 0 || q.Having != nil || q.Limit != nil || q.Offset != nil {
		return false
	}
	f, ok := q.Targets[0].Expr.(*pgsyntax.FuncCall)
	return ok && f.Name == "count" && f.Over == nil
}

func notCount(q *pgsyntax.Select) error {
	return sqlerr.New(sqlerr.Unsupported, "a watch is over one count of rows").At(int(q.Pos)).WithHint("Write SELECT count(*) FROM ... WHERE ..., without GROUP BY, over rows of one person each.")
}

// Run implements session.Kind: it creates the watch, or for EXPLAIN says what that would take.
func (c *Creation) Run(ctx context.Context, _ []sqltype.Value) (ans *answer.Answer, err error) {
	s := c.Session
	if err := s.Engine.Settle(ctx); err != nil && !c.explained {
		return nil, s.Uncharged(ctx, err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	var event *server.AuditEvent
	err = s.WithOrderRetries(func(bool) error {
		if err := c.prepare(ctx); err != nil { // a SET, a reload or another window may have come between Parse and Execute
			return s.Planned(ctx, err)
		}
		if c.explained {
			rows, err := c.explain(ctx)
			ans = answer.Properties(rows, s.Intervals)
			return err
		}
		event = &server.AuditEvent{Analyst: s.Analyst.Name, Statement: c.key, Plan: planOf(&c.Watch, c.Analysis), Order: s.Filter.Order, Outcome: server.Answered}
		err := c.create(ctx, event)
		ans = &answer.Answer{Tag: "CREATE DP WATCH", Notice: c.notice()}
		return err
	})
	if event != nil {
		s.ObserveEnd(event, err)
	}
	return ans, err
}

// planOf is what the audit log has of a watch.
func planOf(w *watches.Watch, a *sensitivity.Analysis) string {
	return fmt.Sprintf("watch %s: threshold %d, every %v, %d alerts\n%s", w.Name, w.Threshold, w.Every, w.Times, reuse.Canonical(a))
}

// free refuses a name that the analyst has given already, and more watches than one may have.
func (c *Creation) free(ctx context.Context) error {
	s := c.Session
	list, err := s.Engine.Watches.List(ctx, s.Analyst.Name)
	if err != nil {
		return s.WatchesFailed(ctx, err)
	}
	for _, w := range list {
		if w.Name == c.Watch.Name {
			return watches.Taken(w.Name)
		}
	}
	if len(list) >= mostWatches {
		refused := sqlerr.New(sqlerr.TooLong, "you have %d watches already", len(list))
		if i := slices.IndexFunc(list, (*watches.Watch).HasEnded); i >= 0 {
			return refused.WithHint("Drop one that has ended: DROP DP WATCH %s.", pgsyntax.QuoteIdent(list[i].Name))
		}
		return refused.WithHint("None has ended. Wait for one, or drop one that you can do without, whose price stays spent: SELECT watch, statement FROM dpsql.watches lists them.")
	}
	return nil
}

// create charges the watch and keeps it. It reads no private row.
//
// Proof: claim: the whole watch is charged before its first look. (1) The name is kept with a watch that makes no look (watches.StateNew). (2) The charge of its event is durable; where it is refused the name is given back. (3) Only then
// the noise of the threshold is drawn, and the watch is kept as one that looks. What fails in between leaves a watch that was charged and makes no look.
func (c *Creation) create(ctx context.Context, event *server.AuditEvent) error {
	s, w := c.Session, &c.Watch
	if err := s.NotStopped(); err != nil {
		return err
	}
	if err := s.CanStore(ctx, 0); err != nil {
		return err
	}
	if err := c.free(ctx); err != nil {
		return err
	}
	w.Created = s.Engine.Now().UTC().Truncate(time.Second)
	if err := s.Engine.Watches.Create(ctx, w); err != nil { // (1)
		return s.WatchesFailed(ctx, err)
	}
	id, err := charge(ctx, s, w, c.key, c.Loss) // (2)
	if err != nil {
		if _, dropErr := s.Engine.Watches.Drop(context.WithoutCancel(ctx), w.Owner, w.Name); dropErr != nil {
			s.Engine.Log.Error("a watch that was not charged could not be dropped", "analyst", w.Owner, "watch", w.Name, "error", dropErr.Error())
		}
		var d *ledger.Denied
		switch {
		case errors.Is(err, ctx.Err()):
			return s.Uncharged(ctx, err)
		case errors.Is(err, ledger.ErrOrder):
			return err
		case errors.As(err, &d):
			return c.denied(d)
		}
		return s.LedgerFailed(err)
	}
	event.Reservation, event.Price, event.Loss = id, w.Price, c.Loss
	s.ObserveCharge(*event)
	open := []*session.OpenCharge{{ID: id}}
	m, err := s.Engine.Noise.Watch(w.Event) // (3)
	if err == nil {
		w.Secret, w.State, w.Next = m.State(), watches.StateLooking, w.Created.Add(w.Every)
		var ok bool
		if ok, err = s.Engine.Watches.Save(context.WithoutCancel(ctx), w); err == nil && !ok {
			err = errors.New("a watch was dropped while it was created")
		}
	}
	if err != nil {
		defer s.Abandon(ctx, open)
		return s.ResourceFailed(ctx, open, err)
	}
	return commit(ctx, s, id, c.key)
}

// charge reserves a watch's event in the window of now, which it notes in the watch.
func charge(ctx context.Context, s *session.Session, w *watches.Watch, key ledger.Hash, loss dp.Loss) (id int64, err error) {
	b, err := s.Engine.Ledger.Balance(s.Payer())
	if err != nil {
		return 0, err
	}
	ids, err := s.Engine.Ledger.ReserveAll(ctx, []ledger.Reservation{reservation(s, w, key, loss)})
	if err != nil {
		return 0, err
	}
	w.Window = b.Window.Start // one that began since is charged at the next look
	return ids[0], nil
}

func reservation(s *session.Session, w *watches.Watch, key ledger.Hash, loss dp.Loss) ledger.Reservation {
	return ledger.Reservation{Payer: s.Payer(), Statement: key, Text: pgsyntax.Condensed(createText(w), ledger.MaxText), Price: w.Price, Events: ledger.Events{w.Event}, Loss: loss, Filter: s.Filter}
}

// Reservation is what creating the watch is charged.
func (c *Creation) Reservation() ledger.Reservation {
	return reservation(c.Session, &c.Watch, c.key, c.Loss)
}

// commit closes the charge: what it is for is kept with the watch.
func commit(ctx context.Context, s *session.Session, id int64, key ledger.Hash) error {
	if err := s.Engine.Ledger.Commit(context.WithoutCancel(ctx), id, ledger.Release{Key: key, External: true}); err != nil {
		return s.LedgerFailed(err)
	}
	return nil
}

// createText is the statement that made a watch.
func createText(w *watches.Watch) string {
	return fmt.Sprintf("CREATE DP WATCH %s AS %s THRESHOLD %d EVERY '%s' TIMES %d WITH (price = %s)", pgsyntax.QuoteIdent(w.Name), w.Statement, w.Threshold, watches.IntervalText(w.Every), w.Times, server.Number(w.Price))
}

// denied is a watch that the budget does not hold.
func (c *Creation) denied(d *ledger.Denied) error {
	s := c.Session
	passes := func(price float64) bool {
		w := c.Watch
		loss, err := c.calibrate(&w, price)
		return err == nil && d.Balance.CanAdmit(loss)
	}
	hint, low := "No smaller price of this watch passes now; more budget is the owner's to give.", s.LeastEpsilon()
	if !d.Balance.Dataset.Ended && passes(low) {
		high := c.Watch.Price
		for range 40 {
			if mid := (low + high) / 2; passes(mid) {
				low = mid
			} else {
				high = mid
			}
		}
		if x := server.RoundDown3(low); passes(x) {
			low = x
		}
		hint = fmt.Sprintf("WITH (price = %s) passes now.", server.Number(low))
	}
	return private.RefusedByBudget(s, d, "this watch at price "+server.Number(c.Watch.Price), hint)
}

// notice is what was spent.
func (c *Creation) notice() string {
	if c.Session.Now.Notices == "off" {
		return ""
	}
	return fmt.Sprintf("spent: price %s, for all looks of the watch; the first look is at %s UTC; SELECT * FROM dpsql.watches tells of its alerts", server.Number(c.Watch.Price), c.Watch.Next.Format(time.DateTime))
}

// drop is DROP DP WATCH.
type drop struct {
	session *session.Session
	node    *pgsyntax.DropWatch
}

// Columns implements session.Kind.
func (*drop) Columns() []answer.Column { return nil }

// Run implements session.Kind.
func (d *drop) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s := d.session
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	ok, err := s.Engine.Watches.Drop(ctx, s.Analyst.Name, d.node.Name.Text)
	switch {
	case err != nil:
		return nil, s.WatchesFailed(ctx, err)
	case !ok && !d.node.IfExists:
		return nil, sqlerr.New(sqlerr.UndefinedObject, "watch %q does not exist", d.node.Name.Text).At(int(d.node.Name.Pos)).WithHint("SELECT watch FROM dpsql.watches lists those that there are.")
	}
	return &answer.Answer{Tag: "DROP DP WATCH"}, nil
}
