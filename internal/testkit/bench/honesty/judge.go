package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

const (
	manyPeople = 500  // a cell of more of them may not be hidden
	fewPeople  = 10   // cells of fewer are listed apart
	mostShare  = 0.03 // so are cells of which one person has more
)

// cell is one number of an answer: a column in a group.
type cell struct {
	truth  float64
	people int
	apart  bool // few people, or one person has much of it
	total  bool // of everybody

	shown, held, null  int // draws
	half, errs, scores []float64
}

// column is one item of a statement over all groups.
type column struct {
	item  item
	cells map[string]*cell
	parts [][]part
	keys  []string // of the parts' cells
}

// facts are what the raw data says of a statement.
type facts struct {
	st      *statement
	warned  int             // draws with a warning, or with the notice that few people may have far more than all others
	said    string          // the last answer's notice and warnings
	columns map[int]*column // by the item's place
}

const null = "NULL"

func keyOf(st *statement, row func(i int) string) string {
	var key []string
	for i, x := range st.items {
		if !x.aggregates {
			key = append(key, row(i))
		}
	}
	return strings.Join(key, " | ")
}

func plain(v *string) string {
	if v == nil {
		return null
	}
	return *v
}

// facts reads the true answer and what each person adds to it.
func (b *bench) facts(ctx context.Context, st *statement) (*facts, error) {
	f := &facts{st: st, columns: map[int]*column{}}
	rows, err := b.raw(ctx, st.schema, st.truth())
	if err != nil {
		return nil, err
	}
	for i, x := range st.items {
		if x.aggregates {
			f.columns[i] = &column{item: x, cells: map[string]*cell{}}
		}
	}
	for _, row := range rows {
		key := keyOf(st, func(i int) string { return plain(row[i]) })
		for i, c := range f.columns {
			if row[i] == nil {
				continue
			}
			x, err := strconv.ParseFloat(*row[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", st.name, err)
			}
			c.cells[key] = &cell{truth: x, total: len(st.items) == len(f.columns) || strings.Contains(strings.ToUpper(st.group), "ROLLUP") && strings.HasPrefix(key, null)}
		}
	}
	if st.unit == "none" {
		return f, nil
	}
	if rows, err = b.raw(ctx, st.schema, st.partials()); err != nil {
		return nil, err
	}
	for i, c := range f.columns {
		c.read(st, i, rows)
	}
	return f, nil
}

// read adds up what people have of a column.
func (c *column) read(st *statement, at int, rows [][]*string) {
	cells, people := map[string]int{}, map[string]int{}
	sums, largest := []float64{}, []float64{}
	for _, row := range rows {
		key := keyOf(st, func(i int) string { return plain(row[i]) })
		cl := c.cells[key]
		if cl == nil || row[at] == nil {
			continue
		}
		x, err := strconv.ParseFloat(*row[at], 64)
		if err != nil || x == 0 {
			continue
		}
		i, ok := cells[key]
		if !ok {
			i, cells[key] = len(c.keys), len(c.keys)
			c.keys, sums, largest = append(c.keys, key), append(sums, 0), append(largest, 0)
		}
		who := plain(row[len(st.items)])
		p, ok := people[who]
		if !ok {
			p, people[who] = len(c.parts), len(c.parts)
			c.parts = append(c.parts, nil)
		}
		c.parts[p] = append(c.parts[p], part{i, x})
		cl.people++
		sums[i], largest[i] = sums[i]+math.Abs(x), max(largest[i], math.Abs(x))
	}
	for i, key := range c.keys {
		cl := c.cells[key]
		cl.apart = cl.people < fewPeople || largest[i] > mostShare*sums[i]
	}
	for _, cl := range c.cells {
		cl.apart = cl.apart || cl.people == 0
	}
}

// halves are the yardstick's half-widths by key; nil where there is none.
func (c *column) halves(n noises) map[string]float64 {
	if !c.item.adds() || len(c.parts) == 0 {
		return nil
	}
	truth, counted, any := make([]float64, len(c.keys)), make([]bool, len(c.keys)), false
	for i, key := range c.keys {
		truth[i], counted[i] = c.cells[key].truth, !c.cells[key].apart
		any = any || counted[i]
	}
	for i := range counted {
		counted[i] = counted[i] || !any
	}
	out := map[string]float64{}
	for i, h := range yardstick(c.parts, truth, counted, n) {
		out[c.keys[i]] = h
	}
	return out
}

// asking is a statement that is prepared, and where its intervals are.
type asking struct {
	prepared *engine.Prepared
	low      map[int]int // an item's place: that of its lower end; the upper follows
	columns  []answer.Column
}

func (w *world) prepare(ctx context.Context, sql string) (*engine.Prepared, error) {
	list, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	return engine.Prepare(ctx, w.session, list[0], nil)
}

// prepare finds the form in which every interval is asked for that the product has.
func (st *statement) prepare(ctx context.Context, w *world) (*asking, error) {
	for i := range st.items {
		x := &st.items[i]
		if x.aggregates && x.refused == "" {
			one := *st
			one.items = slices.Clone(st.items)
			for j := range one.items {
				if j != i && one.items[j].aggregates {
					one.items[j].refused = "not now"
				}
			}
			if _, err := w.prepare(ctx, one.asked()); err != nil {
				if _, plain := w.prepare(ctx, st.print(st.texts(), nil, st.group, st.tail)); plain != nil {
					return nil, plain
				}
				x.refused = err.Error()
			}
		}
	}
	p, err := w.prepare(ctx, st.asked())
	if err != nil {
		return nil, err
	}
	a := &asking{prepared: p, low: map[int]int{}, columns: p.Columns()}
	at := len(st.items)
	for i, x := range st.items {
		if x.aggregates && x.refused == "" {
			a.low[i] = at
			at += 2
		}
	}
	return a, nil
}

// draw asks once and holds the answer against the facts.
func (f *facts) draw(ctx context.Context, w *world, a *asking) error {
	w.clock.pay()
	answer, err := a.prepared.Run(ctx, nil)
	if err != nil {
		return err
	}
	rows, err := answer.All(ctx)
	if err != nil {
		return err
	}
	f.said = strings.Join(append([]string{answer.Notice}, answer.Warnings...), "\n")
	if len(answer.Warnings) > 0 || strings.Contains(f.said, "far more than all others") {
		f.warned++
	}
	for _, row := range rows {
		key := keyOf(f.st, func(i int) string { return text(row[i], a.columns[i].Type) })
		for i, c := range f.columns {
			cl := c.cells[key]
			if cl == nil {
				continue
			}
			cl.shown++
			at, ok := a.low[i]
			if !ok {
				cl.null++
				continue
			}
			value, low, high := number(row[i]), number(row[at]), number(row[at+1])
			if math.IsNaN(value) || math.IsInf(high-low, 0) || math.IsNaN(high-low) {
				cl.null++
				continue
			}
			slack := 1e-9 * math.Abs(cl.truth)
			score := high - low
			switch {
			case cl.truth < low-slack:
				score += 40 * (low - cl.truth)
			case cl.truth > high+slack:
				score += 40 * (cl.truth - high)
			default:
				cl.held++
			}
			cl.half, cl.errs, cl.scores = append(cl.half, (high-low)/2), append(cl.errs, value-cl.truth), append(cl.scores, score/2)
		}
	}
	return nil
}

// reset forgets the draws, before another price.
func (f *facts) reset() {
	f.warned = 0
	for _, c := range f.columns {
		for _, cl := range c.cells {
			cl.shown, cl.held, cl.null, cl.half, cl.errs, cl.scores = 0, 0, 0, nil, nil, nil
		}
	}
}

// number is a numeric value; NaN of NULL, and of what is none.
func number(v sqltype.Value) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case decimal.Decimal:
		return v.InexactFloat64()
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f
	}
	return math.NaN()
}

// result is a row of the report: one column of one statement at one price.
type result struct {
	schema, statement, column     string
	price                         float64
	draws, failed                 int
	cells, apart, big             int // cells that count, those listed apart, those of many people
	covered, coveredTop, worst    float64
	below                         int // cells of many people under 80 %, beyond chance
	hidden                        float64
	coveredApart, nullApart       float64 // of cells listed apart: of those shown, the share that holds; the share hidden or NULL
	warned                        float64 // share of answers with a warning
	half, err, yard, width, score float64 // medians over cells: relative to the true answer, and to the yardstick
	note                          string
}

// measure draws a statement's answers at a price.
func (b *bench) measure(ctx context.Context, w *world, f *facts, a *asking, price float64, n noises) ([]*result, error) {
	if err := w.session.Set("dpsql.price", []string{fmt.Sprint(price)}); err != nil {
		return nil, err
	}
	f.reset()
	w.clock.each, w.clock.left = max(1, int(8/price)), 0
	failed, note := 0, ""
	for range b.draws {
		if err := f.draw(ctx, w, a); err != nil {
			if failed++; ctx.Err() != nil || failed > b.draws/2+1 {
				return nil, errors.Join(err, ctx.Err())
			}
			note = "some answers failed: " + err.Error()
		}
	}
	var out []*result
	for i, x := range f.st.items {
		if c := f.columns[i]; c != nil {
			yards := c.halves(n)
			r := c.result(f.st, b.draws, yards)
			if b.cells {
				c.print(f.st, price, yards, f.said)
			}
			r.price, r.failed, r.warned = price, failed, float64(f.warned)/float64(max(1, b.draws-failed))
			if r.note = note; x.refused != "" {
				r.note = "no interval: " + x.refused
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// result sums a column up.
func (c *column) result(st *statement, draws int, yards map[string]float64) *result {
	r := &result{schema: st.schema, statement: st.name, column: c.item.text, draws: draws, worst: math.NaN()}
	var sizes []float64
	for _, cl := range c.cells {
		if !cl.apart {
			sizes = append(sizes, math.Abs(cl.truth))
		}
	}
	top := quantile(sizes, 0.9)
	var held, largest, apart, nulls, big ratio
	var half, errs, yard, width, score []float64
	for key, cl := range c.cells {
		n := len(cl.half)
		if cl.people > manyPeople && c.item.refused == "" {
			r.big++
			of := draws
			if st.chosen() { // a row that HAVING or LIMIT leaves out is not hidden
				of = cl.shown
			}
			big.add(of-n, of)
		}
		if cl.apart {
			r.apart++
			apart.add(cl.held, n)
			nulls.add(draws-n, draws)
			continue
		}
		r.cells++
		held.add(cl.held, n)
		if cl.total || len(c.cells) > 1 && math.Abs(cl.truth) >= top {
			largest.add(cl.held, n)
		}
		if n == 0 {
			continue
		}
		if cl.people > manyPeople {
			share := float64(cl.held) / float64(n)
			if !(share >= r.worst) {
				r.worst = share
			}
			if share < 0.8-chance(0.8, n) {
				r.below++
			}
		}
		size, h := max(math.Abs(cl.truth), 1e-9), median(cl.half)
		half, errs = append(half, h/size), append(errs, median(absolutes(cl.errs))/size)
		if y, ok := yards[key]; ok && y > 0 {
			yard, width, score = append(yard, y/size), append(width, h/y), append(score, mean(cl.scores)/y)
		}
	}
	r.covered, r.coveredTop, r.hidden, r.coveredApart, r.nullApart = held.share(), largest.share(), big.share(), apart.share(), nulls.share()
	r.half, r.err, r.yard, r.width, r.score = median(half), median(errs), median(yard), median(width), median(score)
	return r
}

// chance is how far n draws may stray below a probability, once in twenty times.
func chance(p float64, n int) float64 { return 1.645 * math.Sqrt(p*(1-p)/float64(max(n, 1))) }

// print shows the largest cells, for whoever looks into one statement.
func (c *column) print(st *statement, price float64, yards map[string]float64, said string) {
	fmt.Printf("\n%s, price %g: %s of\n%s\n", st.name, price, c.item.text, st.sql)
	keys := slices.SortedFunc(maps.Keys(c.cells), func(a, b string) int { return -compare(math.Abs(c.cells[a].truth), math.Abs(c.cells[b].truth)) })
	fmt.Printf("%12s %7s %6s %6s %8s %10s %10s %10s  key (bias is the median, relative like half and yard; * apart)\n", "truth", "people", "shown", "NULL", "holds", "bias", "half", "yard")
	for _, key := range keys[:min(len(keys), 40)] {
		cl, mark := c.cells[key], ""
		if cl.apart {
			mark = " *"
		}
		size := max(math.Abs(cl.truth), 1e-9)
		fmt.Printf("%12.6g %7d %6d %6d %8s %10s %10s %10s  %s%s\n", cl.truth, cl.people, cl.shown, cl.null, percent(ratio{cl.held, len(cl.half)}.share()), percent(median(cl.errs)/size), percent(median(cl.half)/size), percent(yards[key]/size), key, mark)
	}
	fmt.Println(said)
}

func absolutes(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Abs(v)
	}
	return out
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

type ratio struct{ yes, of int }

func (r *ratio) add(yes, of int) { r.yes, r.of = r.yes+yes, r.of+of }

func (r ratio) share() float64 {
	if r.of == 0 {
		return math.NaN()
	}
	return float64(r.yes) / float64(r.of)
}
