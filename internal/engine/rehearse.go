package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/cube"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/engine/synthetic"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/sensitivity"
)

// Forecast is what a statement would cost and how exact it would be. It follows from the policy, the schema and public tables.
type Forecast struct {
	SQL      string
	Line     int // of the script, from 1
	Err      error
	Class    string  // "private", "public" (also where nothing private is read), "session", PsqlCommand, or NotRehearsed
	Free     bool    // private, but what was asked before answers it
	Computed bool    // free, and some of it is computed from other questions' releases
	Price    float64 // of all releases, whole
	Paid     float64 // of it what is charged: the difference for those that are topped up, nothing for those that were asked before
	Loss     dp.Loss
	Denied   bool     // the budget that is left would not hold it
	Left     int64    // statements like it that would be left after it
	Expected []string // 95% intervals of the aggregates that are output columns, and what they assume: "avg +- 2 for 600 rows a group"
	Note     string   // of bounds that are not known before
}

// NotRehearsed is the class of statements that a rehearsal does not price: they need a trained model, or values.
const NotRehearsed = "not rehearsed"

// PsqlCommand is the class of commands that psql runs itself, such as \dt: they are skipped.
const PsqlCommand = "psql"

// Rehearsal plays statements against an empty ledger of its own. It reads no private row.
type Rehearsal struct {
	Progress *session.Progress // hears of each statement; nil: nobody does

	engine   *server.Engine
	dir      string
	releases map[ledger.Hash]*rehearsedRelease

	snapshots []map[ledger.Hash]float64 // of each charge, where the data may change: the prices of what it read, by the releases' names (names)
}

// rehearsedRelease is a release that a rehearsal stands for: the plan that was charged first, and the price that it was topped up to.
type rehearsedRelease struct {
	first    *price.Quote
	whole    *price.Quote // what it costs anew at its price
	price    float64
	made     int              // how often its values changed
	snapshot int              // that it was read in
	stage    *stage.Stage     // what it is of
	release  *release.Release // without numbers; nil: its noise depends on bounds that are chosen, and nothing is computed from it
	family   ledger.Hash      // zero: nothing is computed from it
}

// OpenRehearsal checks the policy against the live schema, as Open does, and takes a ledger in a temporary folder.
func OpenRehearsal(ctx context.Context, opt server.Options) (*Rehearsal, error) {
	dir, err := os.MkdirTemp("", "dpsql-rehearse-")
	if err != nil {
		return nil, err
	}
	opt.LedgerPath = filepath.Join(dir, "ledger")
	e, err := server.Open(ctx, opt)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Rehearsal{engine: e, dir: dir, releases: map[ledger.Hash]*rehearsedRelease{}}, nil
}

// Close removes the ledger.
func (r *Rehearsal) Close() error { return errors.Join(r.engine.Close(), os.RemoveAll(r.dir)) }

// Play forecasts a script's statements in their order, as one session of an analyst. The error is the script's: a quote that
// is not closed, an analyst whom nobody knows.
func (r *Rehearsal) Play(ctx context.Context, analyst, script string) ([]Forecast, error) {
	s, err := session.NewSession(r.engine, analyst, "")
	if err != nil {
		return nil, err
	}
	pieces, err := pgsyntax.SplitFile(script)
	if err != nil {
		return nil, err
	}
	var out []Forecast
	for i, p := range pieces {
		r.Progress.At(fmt.Sprintf("statement %d of %d", i+1, len(pieces)))
		f := Forecast{SQL: p.Text, Line: 1 + strings.Count(script[:p.Offset], "\n")}
		if f.Class = PsqlCommand; !p.IsPsql() {
			f.Class = ""
			f.Err = r.forecast(ctx, s, &f)
		}
		out = append(out, f)
	}
	return out, nil
}

func (r *Rehearsal) forecast(ctx context.Context, s *session.Session, f *Forecast) error {
	parsed, err := pgsyntax.Parse(f.SQL)
	if err != nil {
		return err
	}
	statement := parsed[0]
	within := func(q *pgsyntax.Select, at pgsyntax.Span) { // which is charged as it is alone
		statement = pgsyntax.Statement{Node: q, Text: f.SQL[at.First:at.End], Offset: int(at.First)}
	}
	node := statement.Node
	other, is := node.(*pgsyntax.Other)
	if is && other.Read != nil {
		node = other.Read
	}
	switch n := node.(type) {
	case *pgsyntax.Select, *pgsyntax.Train, *pgsyntax.Synthesize, *pgsyntax.Watch, *pgsyntax.Cube:
	case *pgsyntax.Copy:
		if n.Query == nil || n.File+n.Program != "" {
			return sqlerr.New(sqlerr.Unsupported, "only COPY (SELECT ...) TO STDOUT is supported").At(int(other.Pos))
		}
		within(n.Query, n.At)
	case *pgsyntax.DeclareCursor:
		within(n.Query, n.At)
	case *pgsyntax.Set:
		f.Class = "session"
		return s.Apply(n)
	case *pgsyntax.Explain:
		f.Class = "public"
		_, err := Prepare(ctx, s, statement, nil)
		return err
	case *pgsyntax.Evaluate, *pgsyntax.Execute:
		f.Class = NotRehearsed
		return nil
	case *pgsyntax.SyntheticTables:
		if f.Class = "session"; n.Verb == "DROP" {
			return r.drop(ctx, s, n.Name.Text)
		}
		return nil
	case *pgsyntax.Other:
		return sqlerr.New(sqlerr.Unsupported, "%s is not supported", n.Verb).At(int(n.Pos))
	default: // FETCH reads what DECLARE was charged for, and PREPARE reads nothing
		f.Class = "session"
		return nil
	}
	p, err := Prepare(ctx, s, statement, nil)
	if err != nil {
		return err
	}
	switch k := inner(p.kind).(type) {
	case *catalog.Refused:
		return k.Why
	case *private.Statement:
		f.Class = string(sensitivity.Private)
		return r.charge(ctx, k.Staged, f)
	case *cube.Creation:
		f.Class = string(sensitivity.Private)
		return r.cube(ctx, k, f)
	case interface{ Reservation() ledger.Reservation }: // TRAIN, a synthetic table, or a watch
		of := k.Reservation()
		f.Class, f.Price, f.Paid, f.Loss = string(sensitivity.Private), of.Price, of.Price, of.Loss
		if err := r.reserve(ctx, []ledger.Reservation{of}, f); err != nil {
			return err
		}
		if made, is := k.(*synthetic.Creation); is && !f.Denied { // what follows may read it
			if err := r.engine.Models.Tables().Keep(ctx, s.Analyst.Name, made.Empty(), true); err != nil {
				return err
			}
		}
		b, err := r.engine.Ledger.Balance(of.Payer)
		f.Left = b.StatementsLeft(of.Loss)
		return err
	}
	f.Class = string(sensitivity.Public)
	return nil
}

// cube charges a cube, whose levels answer at any price from then on.
func (r *Rehearsal) cube(ctx context.Context, c *cube.Creation, f *Forecast) error {
	defer c.Under()()
	if err := r.charge(ctx, c.Query.Staged, f); err != nil || f.Denied {
		return err
	}
	for _, st := range c.Query.Stages {
		r.releases[c.Query.Key(st, noArgs(c.Query.Staged), nil)].price = math.Inf(1)
	}
	return nil
}

// drop forgets a synthetic table of the script's.
func (r *Rehearsal) drop(ctx context.Context, s *session.Session, name string) error {
	err := r.engine.Models.Tables().Drop(ctx, name, s.Analyst.Name)
	if sqlerr.ID(err) == sqlerr.UndefinedObject.ID { // a server may have one
		return nil
	}
	return err
}

// charge prices a private statement and reserves it in the rehearsal's ledger: what its releases cost together, of those that were not asked before.
func (r *Rehearsal) charge(ctx context.Context, p *stage.Staged, f *Forecast) error {
	s := p.Session
	if t := s.Now.Target; t.Most != 0 && slices.ContainsFunc(p.Stages, (*stage.Stage).IsCharged) {
		return sqlerr.New(sqlerr.TargetUnknown, "the price of an error of %s follows from what earlier releases hold, and a rehearsal has none", t).
			WithHint("SET dpsql.target_error = off to rehearse a price; EXPLAIN tells, of a server, what the target takes.")
	}
	stages, err := p.Settled(ctx, noArgs(p)) // which no scale decides: a rehearsal has none
	if err != nil {
		return err
	}
	c, err := r.chargeOf(ctx, p, stages, p.Under.Fresh)
	if err == nil && p.Data() == "" && len(c.states) > 1 { // Run.LookUp's rule
		if r.hasSnapshot(p, stages) {
			c.charged, c.paid = nil, 0
		} else {
			c, err = r.chargeOf(ctx, p, stages, true)
		}
	}
	if err != nil {
		return err
	}
	whole, charged := c.whole, c.charged
	f.Expected, f.Note, f.Computed, f.Paid = c.expected, c.note, c.computed, c.paid
	if len(whole) == 0 { // no private row is read
		f.Class = string(sensitivity.Public)
		return nil
	}
	left := stage.Total(whole)
	f.Price, f.Loss = left.Price, left.Loss
	if f.Free = len(charged) == 0; !f.Free {
		left = stage.Total(charged)
		f.Loss = left.Loss
		if err := r.reserve(ctx, c.list, f); err != nil {
			return err
		}
		for _, note := range c.done {
			if f.Denied {
				break
			}
			if err := note(); err != nil {
				return err
			}
		}
		if !f.Denied {
			r.snapshots = append(r.snapshots, c.read)
		}
	}
	b, err := r.engine.Ledger.Balance(s.Payer())
	f.Left = b.StatementsLeft(left.Loss)
	return err
}

// rehearsedCharge is what a statement is charged, before it is.
type rehearsedCharge struct {
	whole, charged []*price.Quote
	list           []ledger.Reservation
	done           []func() error // what notes that it was charged
	states         map[int]bool   // the snapshots that its releases are of
	read           map[ledger.Hash]float64
	paid           float64
	computed       bool
	expected       []string
	note           string
}

// chargeOf prices a statement's stages by what was asked before, or all of them anew.
func (r *Rehearsal) chargeOf(ctx context.Context, p *stage.Staged, stages []*stage.Stage, anew bool) (c rehearsedCharge, err error) {
	c.states, c.read = map[int]bool{}, map[ledger.Hash]float64{}
	keys, names, made := make([]ledger.Hash, len(p.Stages)), r.names(p, stages), map[ledger.Hash]int{}
	for i, st := range stages {
		st = r.rivalStage(p, st, keys, made)
		mp, err := st.Price()
		if err != nil {
			return c, err
		}
		if st.As != i || !st.IsCharged() {
			keys[i] = keys[st.As]
			continue
		}
		c.whole = append(c.whole, mp)
		key := r.key(p, st, keys, made)
		keys[i] = key
		stored := r.releases[key]
		earlier := stored
		if anew { // beside what is stored
			earlier = nil
		}
		if stored != nil {
			made[key] = stored.made
		}
		if earlier != nil && !st.Request.IsWorthTopUp(earlier.price) {
			c.states[earlier.snapshot] = true
			if err := c.tell(ctx, p, &private.StageRun{Stage: st, Plan: earlier.whole, Release: earlier.release, Free: true}); err != nil {
				return c, err
			}
			continue
		}
		if !anew {
			of, err := r.computed(ctx, p, st, earlier)
			if err != nil {
				return c, err
			}
			if of != nil {
				c.computed, c.states[of.snapshot] = true, true
				keys[i] = sha256.Sum256(fmt.Appendf(nil, "computed %x %x %d", key, of.of, of.made))
				form := *st
				form.An = of.analysis
				if err := c.tell(ctx, p, &private.StageRun{Stage: &form, Plan: of.release.Plan, Release: of.release, Free: true}); err != nil {
					return c, err
				}
				continue
			}
		}
		if st.An.NeedsFreshRelease() || p.Data() == "" { // it is released anew
			earlier = nil
		}
		before, answers := 0.0, &private.StageRun{Stage: st, Plan: mp}
		if earlier != nil { // the release of the smaller price is topped up
			before = earlier.price
			if answers.Release, err = earlier.toppedUp(st); err != nil {
				return c, err
			}
			if mp, err = price.ForecastTopUp(st.An, earlier.first, earlier.price, st.Request); err != nil {
				return c, err
			}
			if answers.Free = mp == nil; answers.Free {
				answers.Plan = earlier.whole
			}
		}
		if err := c.tell(ctx, p, answers); err != nil {
			return c, err
		}
		if mp == nil {
			continue
		}
		if stored != nil {
			made[key]++
		}
		c.states[len(r.snapshots)], c.read[names[i]] = true, mp.Price
		c.paid += mp.Price - before
		c.charged = append(c.charged, mp)
		c.list = append(c.list, ledger.Reservation{Payer: p.Session.Payer(), Statement: key, Price: mp.Price, Events: mp.Events(), Loss: mp.Loss})
		c.done = append(c.done, func() (err error) {
			switch {
			case earlier != nil:
				earlier.release, earlier.whole = answers.Release, answers.Plan
				earlier.price = mp.Price
				earlier.made++
				return nil
			case stored != nil && stored.price > mp.Price: // that one goes on answering
				return nil
			}
			r.releases[key], err = rehearsed(p, st, mp)
			r.releases[key].made, r.releases[key].snapshot = made[key], len(r.snapshots)
			return err
		})
	}
	return c, nil
}

// tell adds what intervals a stage's answer is expected to have: those of the release that answers, where there is one.
func (c *rehearsedCharge) tell(ctx context.Context, p *stage.Staged, st *private.StageRun) error {
	st.Args = noArgs(p)
	words, given, note, err := explain.Explainer{Staged: p, St: st, Alone: len(p.Stages) == 1}.ExpectedIntervals(ctx)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		words[len(words)-1] += given
	}
	if note != "" {
		c.note = strings.TrimPrefix(note, ". ")
	}
	c.expected = append(c.expected, words...)
	return nil
}

// names are those of a statement's releases, whatever the values of other releases are that they read.
func (r *Rehearsal) names(p *stage.Staged, stages []*stage.Stage) []ledger.Hash {
	out := make([]ledger.Hash, len(stages))
	for i, st := range stages {
		out[i] = r.key(p, st, out, nil)
	}
	return out
}

// hasSnapshot says that all releases of a statement were read in one snapshot, at prices that are enough.
func (r *Rehearsal) hasSnapshot(p *stage.Staged, stages []*stage.Stage) bool {
	names := r.names(p, stages)
	return slices.ContainsFunc(r.snapshots, func(read map[ledger.Hash]float64) bool {
		for i, st := range stages {
			if was, is := read[names[i]]; st.IsCharged() && (!is || st.Request.IsWorthTopUp(was)) {
				return false
			}
		}
		return true
	})
}

// reserve charges the rehearsal's ledger, or notes that the budget does not hold it.
func (r *Rehearsal) reserve(ctx context.Context, list []ledger.Reservation, f *Forecast) error {
	_, err := r.engine.Ledger.ReserveAll(ctx, list)
	var denied *ledger.Denied
	if f.Denied = errors.As(err, &denied); f.Denied {
		return nil
	}
	return err
}

// rivalStage is the stage with the bound that it would not have anew, where that was asked already, for as much, and the other was not: Run.answerFromRival's rule, by which what was paid for is free.
func (r *Rehearsal) rivalStage(p *stage.Staged, st *stage.Stage, keys []ledger.Hash, made map[ledger.Hash]int) *stage.Stage {
	enough := func(st *stage.Stage) bool {
		earlier := r.releases[r.key(p, st, keys, made)]
		return earlier != nil && !st.Request.IsWorthTopUp(earlier.price)
	}
	if other := st.RivalStage(); other != nil && !p.Under.Fresh && !enough(st) && enough(other) {
		return other
	}
	return st
}

// key stands for a stage's: what it reads of others is another whenever they are made anew.
func (r *Rehearsal) key(p *stage.Staged, st *stage.Stage, keys []ledger.Hash, made map[ledger.Hash]int) ledger.Hash {
	own := p.Key(st, noArgs(p), nil)
	if len(st.Inputs) == 0 {
		return own
	}
	h := sha256.New()
	h.Write(own[:])
	for _, in := range st.Inputs {
		for _, l := range in.Leaves {
			for _, part := range l.Parts {
				h.Write(keys[part.Stage][:])
				fmt.Fprint(h, made[keys[part.Stage]])
			}
		}
	}
	return ledger.Hash(h.Sum(nil))
}
