package watch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Looker makes the looks of a server's watches: those of one analyst one after the other, so that nobody's slow looks keep others waiting.
type Looker struct {
	Engine *server.Engine
	Ask    Inner
	Since  time.Time // a look that was due before is not made up

	mu      sync.Mutex
	busy    map[string]bool // analysts whose looks are being made
	looking sync.WaitGroup
}

// pause is how long it waits at most before it lists the watches again: another proxy may have made some.
const pause = time.Minute

// Run looks until the context ends.
func (l *Looker) Run(ctx context.Context) error {
	defer l.looking.Wait()
	l.Since = l.Engine.Now()
	for ctx.Err() == nil {
		wait := pause
		next, err := l.begin(ctx, l.Engine.Now())
		if err != nil && ctx.Err() == nil {
			l.Engine.Log.Error("the watches cannot be read, so none looks", "error", err.Error())
		}
		if !next.IsZero() {
			wait = max(0, min(pause, next.Sub(l.Engine.Now())))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.Engine.Watches.Changed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// LookAt makes the looks that are due, and gives the time of the next ones.
func (l *Looker) LookAt(ctx context.Context, now time.Time) (next time.Time, err error) {
	defer l.looking.Wait()
	return l.begin(ctx, now)
}

// begin begins the looks that are due, but those of analysts whose looks are being made.
func (l *Looker) begin(ctx context.Context, now time.Time) (next time.Time, err error) {
	list, err := l.Engine.Watches.List(ctx, "")
	if err != nil {
		return next, err
	}
	due := map[string][]*watches.Watch{}
	for _, w := range list {
		if !w.IsLooking() {
			continue
		}
		at := w.Next
		if !at.After(now) {
			due[w.Owner] = append(due[w.Owner], w)
			at = lastDue(w, now).Add(w.Every)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for owner, list := range due {
		if l.take(owner) {
			l.looking.Go(func() {
				kept := true
				defer func() { l.give(owner, kept) }()
				for _, w := range list {
					if err := l.look(ctx, w, now); err != nil {
						kept = false
						l.Engine.Log.Error("a watch could not be kept", "analyst", w.Owner, "watch", w.Name, "error", err.Error())
					}
				}
			})
		}
	}
	return next, nil
}

// lastDue is the last of the looks that are due.
func lastDue(w *watches.Watch, now time.Time) time.Time {
	return w.Created.Add(now.Sub(w.Created) / w.Every * w.Every)
}

// take is false while an analyst's looks are being made.
func (l *Looker) take(analyst string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy == nil {
		l.busy = map[string]bool{}
	}
	was := l.busy[analyst]
	l.busy[analyst] = true
	return !was
}

// give lets the analyst's next looks be made. Those that became due meanwhile are looked for at once, unless the store fails.
func (l *Looker) give(analyst string, wake bool) {
	l.mu.Lock()
	delete(l.busy, analyst)
	l.mu.Unlock()
	if wake {
		l.Engine.Watches.Wake()
	}
}

// look makes the look of a watch that is due.
//
// Proof: claim: what is shown of a watch is the outcome of its event, which was charged to each window that it looks in. (1) The look is claimed before anything is read: one proxy makes it, and no other noise is drawn for it. (2) A window that was not charged is charged before the look; where the budget
// refuses, the watch ends. (3) The statement is analysed under the policy of now, and the watch ends where its bound would be more than the event's: both follow from statement and policy. (4) The count goes to noise.Watch.Look alone, whose state is kept before the alert is shown. (5) A look that fails
// for any reason is shown as one without an alert, so a failure is no outcome of its own. It takes the place of a look that was not made: of Look's proof it leaves a factor out, or, where an alert could not be kept, brings 1 - t nearer to 1, which rises with T as 1 - t does. (6) Looks are at times that follow from the statement.
func (l *Looker) look(ctx context.Context, w *watches.Watch, now time.Time) error {
	due := lastDue(w, now) // (6)
	w.Next = due.Add(w.Every)
	missed := due.Before(l.Since)
	if !missed {
		w.Looks++
	}
	if ok, err := l.Engine.Watches.Save(ctx, w); err != nil || !ok || missed { // (1) it is claimed
		return err
	}
	alert, err := l.outcome(ctx, w)
	var end *endError
	switch {
	case errors.As(err, &end):
		w.End(end.why)
	case err != nil: // (5)
		l.Engine.Log.Error("a look of a watch failed; it is shown as one without an alert", append([]any{"analyst", w.Owner, "watch", w.Name}, server.Logged(err)...)...)
	case alert != nil:
		w.Alerts, w.LastAlert = int64(w.Secret.Alerts), due //nolint:gosec // at most dp.MaxAlerts
		if w.Secret.Alerts >= w.Times {
			w.End("it gave all of its alerts")
		}
	}
	ok, err := l.Engine.Watches.Save(context.WithoutCancel(ctx), w) // (4) before it is shown
	if alert != nil && ok && err == nil {
		l.Engine.Observer.Ended(*alert)
		l.Engine.Log.Info("a watch gave an alert", "analyst", w.Owner, "watch", w.Name)
	}
	return err
}

// endError ends a watch.
type endError struct{ why string }

func (e *endError) Error() string { return e.why }

// outcome makes a look, and gives what the audit log has of an alert; nil: there was none. It changes the watch's secret where there is an alert, and its window where one is charged.
func (l *Looker) outcome(ctx context.Context, w *watches.Watch) (alert *server.AuditEvent, err error) {
	defer func() {
		if p := recover(); p != nil { // here it would end the process, and not the session
			l.Engine.Log.Error("a look of a watch stopped", "analyst", w.Owner, "watch", w.Name, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			alert, err = nil, errLook
		}
	}()
	if _, known := l.Engine.Policy().Analyst(w.Owner); !known {
		return nil, &endError{"the policy has no such analyst"}
	}
	s, err := session.NewSession(l.Engine, w.Owner, "")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := s.Within(ctx)
	defer cancel()
	if err := s.NotStopped(); err != nil {
		return nil, err
	}
	if err := s.NotFrozen(ctx); err != nil {
		return nil, err
	}
	if err := l.Engine.Settle(ctx); err != nil {
		return nil, err
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	a, err := l.analyzed(ctx, s, w)
	if err != nil {
		return nil, err
	}
	err = s.WithOrderRetries(func(bool) error { return l.chargeWindow(ctx, s, w, a) }) // (2)
	if err != nil {
		return nil, err
	}
	if is, err := read(ctx, s, w, a); err != nil || !is {
		return nil, err
	}
	return &server.AuditEvent{Analyst: w.Owner, Statement: keyOf(s, w, a), Plan: "watch " + w.Name, Order: s.Filter.Order, Outcome: server.Alerted}, nil
}

var errLook = errors.New("watch: a look failed")

// analyzed is what the watch's query measures by the policy of now.
func (l *Looker) analyzed(ctx context.Context, s *session.Session, w *watches.Watch) (*sensitivity.Analysis, error) {
	values, err := settings(w.Formats)
	if err != nil {
		return nil, err
	}
	s.Use(values)
	s.Now.Clip = w.Event.PerUnit
	sts, err := pgsyntax.Parse(w.Statement)
	if err != nil {
		return nil, err
	}
	q, ok := sts[0].Node.(*pgsyntax.Select)
	if !ok {
		return nil, errLook
	}
	perUnit, a, err := analyzed(ctx, s, q, l.Ask)
	switch id := sqlerr.ID(err); {
	case err == nil && perUnit > w.Event.PerUnit: // (3)
		return nil, &endError{"one person may have more rows by the policy of now"}
	case err == nil:
		return a, nil
	case id == "" || id == sqlerr.ResourceFailure.ID || id == sqlerr.QueryCanceled.ID || id == sqlerr.SchemaChanged.ID || id == sqlerr.Internal.ID || id == sqlerr.LedgerFailure.ID:
		return nil, err
	}
	return nil, &endError{"its statement is refused by the policy of now (" + sqlerr.ID(err) + ")"} // (3)
}

// chargeWindow charges the watch to the budget's window of now, if that is another than the last.
func (l *Looker) chargeWindow(ctx context.Context, s *session.Session, w *watches.Watch, a *sensitivity.Analysis) error {
	b, err := l.Engine.Ledger.Balance(s.Payer())
	if err != nil || b.Window.Start.Equal(w.Window) {
		return err
	}
	loss, err := s.Filter.Loss(w.Event)
	if err != nil {
		return err
	}
	key := keyOf(s, w, a)
	event := server.AuditEvent{Analyst: w.Owner, Statement: key, Plan: planOf(w, a), Price: w.Price, Loss: loss, Order: s.Filter.Order, Outcome: server.Answered}
	id, err := charge(ctx, s, w, key, loss)
	if errors.As(err, new(*ledger.Denied)) {
		event.Price, event.Loss = 0, loss
		s.ObserveEnd(&event, sqlerr.New(sqlerr.BudgetExhausted, "the budget does not hold the watch"))
		return &endError{"the budget did not hold it in another window"}
	}
	if err != nil {
		return err
	}
	event.Reservation = id
	s.ObserveCharge(event)
	s.ObserveEnd(&event, nil)
	return commit(ctx, s, id, key)
}

// read takes the look at the private rows.
func read(ctx context.Context, s *session.Session, w *watches.Watch, a *sensitivity.Analysis) (alert bool, err error) {
	m, err := s.Engine.Noise.ResumeWatch(w.Event, w.Secret)
	if err == nil {
		err = m.Ahead()
	}
	if err != nil {
		return false, err
	}
	st, err := sqlgen.Private(a, s.Engine.Dialect, 0)
	if err != nil {
		return false, err
	}
	done, err := s.Turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	tx, err := s.Engine.Begin(ctx, s.World)
	if err != nil {
		return false, err
	}
	defer tx.Close()
	err = server.Query(ctx, tx, st, nil, func(rows secret.Rows) (err error) {
		alert, err = release.Look(a, st.Columns, rows, m)
		return err
	})
	if err == nil {
		err = tx.Confirm(ctx)
	}
	if err != nil {
		s.LookFailed(ctx, err)
		return false, err
	}
	w.Secret = m.State()
	return alert, nil
}

// formatsOf are the settings by which a statement's literals are read.
func formatsOf(v sqltype.Settings) watches.Formats {
	f := watches.Formats{DateStyle: int(v.DateStyle), DateOrder: int(v.DateOrder), IntervalStyle: int(v.IntervalStyle), Path: v.Path}
	if v.Zone != nil {
		f.Zone = v.Zone.String()
	}
	return f
}

func settings(f watches.Formats) (v sqltype.Settings, err error) {
	v = sqltype.Settings{DateStyle: sqltype.DateStyle(f.DateStyle), DateOrder: sqltype.DateOrder(f.DateOrder), IntervalStyle: sqltype.IntervalStyle(f.IntervalStyle), Path: f.Path}
	if f.Zone == "" {
		return v, nil
	}
	zone, ok := sqltype.LookupZone(f.Zone)
	if !ok {
		return v, errLook
	}
	v.Zone = zone
	return v, nil
}
