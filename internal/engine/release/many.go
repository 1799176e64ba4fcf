package release

import (
	"errors"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// SpoolTo lets a release of many groups go to disk: those over the limits. Measures that are read apart need all groups at once, and so does a top-up.
func (m *Releaser) SpoolTo(l spool.Limits) {
	for _, me := range m.a.Measures {
		if me.NeedsOwnScan() {
			return
		}
	}
	if m.old == nil {
		m.spool = &l
	}
}

// groupSize is about what a group takes in memory.
func groupSize(g Group) int {
	n := 160 + 80*len(g.Values) + 32*len(g.Keys)
	for _, k := range g.Keys {
		if s, ok := k.(string); ok {
			n += len(s)
		}
	}
	return n
}

// groupOrder is of groups of so many keys and values, none read apart. Their place, where they have one, stands before the keys.
func groupOrder(keys, values int, compare func(a, b Group) int) spool.Order[Group] {
	return spool.Order[Group]{Compare: compare, Size: groupSize, Append: appendGroup, Read: func(b []byte) (Group, []byte, error) { return readGroup(b, keys, values) }}
}

// appendGroup writes a group as it is kept on disk, in runs that are sorted and in stored spools. Only released values ever are.
func appendGroup(dst []byte, g Group) []byte {
	dst = sqltype.AppendRow(dst, g.Keys)
	for _, v := range g.Values {
		if v.IsInt64() {
			dst = sqltype.AppendValue(dst, v.Int64())
		} else {
			dst = sqltype.AppendValue(dst, decimal.NewFromBigInt(v, 0))
		}
	}
	return dst
}

func readGroup(b []byte, keys, values int) (g Group, rest []byte, err error) {
	if g.Keys, b, err = sqltype.ReadRow(b, keys); err != nil {
		return g, nil, err
	}
	row, b, err := sqltype.ReadRow(b, values)
	if err != nil {
		return g, nil, err
	}
	g.Values = make([]*big.Int, values)
	for i, v := range row {
		switch v := v.(type) {
		case int64:
			g.Values[i] = big.NewInt(v)
		case decimal.Decimal:
			g.Values[i] = v.BigInt()
		default:
			return g, nil, errShape
		}
	}
	return g, b, nil
}

// unknownMany is unknown, with the kept groups on disk where there are many: the same groups in the same order.
//
// Proof: unknown's (Read, (2) and (3)): each row goes through the selector once, and what of it is kept is released before it is passed on. So nothing but released groups reaches the disk, and the order in
// which they came is lost in that of their keys, before anybody reads them. Two groups of the same keys are neighbours in it, and a failure (0).
func (r *Release) unknownMany(a *sensitivity.Analysis, each func(func(opened) error) error, mechs []*noise.Mechanism, sel *noise.Selector, most int, l spool.Limits) error {
	out := spool.NewSorter(groupOrder(len(a.Keys), len(a.Measures), func(x, y Group) int {
		switch {
		case lessKeys(x.Keys, y.Keys):
			return -1
		case lessKeys(y.Keys, x.Keys):
			return 1
		}
		return 0
	}), l)
	err := each(func(row opened) error {
		g, kept, err := r.keep(row, mechs, sel)
		if err != nil || !kept {
			return err
		}
		if out.Len() == most {
			return ErrLarge
		}
		return out.Add(g)
	})
	if err != nil {
		return errors.Join(err, out.Close())
	}
	return r.take(&sorted{of: out, distinct: true})
}

// publicMany is public, with the groups on disk where they are many: the same groups in the same order.
//
// Proof: public's (Read, (1) and (3)): a row's tuple is looked up in the domain, which is public; a second row of one is a failure (0), one of none is dropped. It gets its noise when it comes and all
// others theirs, on totals of 0, at the end: every tuple once, each time drawn anew. Only then it goes to disk, under its place in the domain, in the order of which they are read.
func (r *Release) publicMany(a *sensitivity.Analysis, each func(func(opened) error) error, mechs []*noise.Mechanism, l spool.Limits) error {
	d := newDomainIndex(a)
	out := spool.NewSorter(groupOrder(1, len(a.Measures), func(x, y Group) int {
		return sqltype.Compare(x.Keys[0], y.Keys[0])
	}), l)
	add := func(place uint64, totals []*big.Int) error {
		noisy, err := addNoise(mechs, totals)
		if err != nil {
			return err
		}
		return out.Add(Group{Keys: []sqltype.Value{int64(place)}, Values: inSteps(a, noisy)})
	}
	seen := make([]bool, a.Groups.Count)
	err := each(func(row opened) error {
		place, ok := d.place(row.keys)
		if !ok {
			return nil
		}
		if seen[place] {
			return errShape
		}
		seen[place] = true
		return add(place, row.values)
	})
	zero := make([]*big.Int, len(mechs))
	for i := range zero {
		zero[i] = new(big.Int)
	}
	for place := uint64(0); err == nil && place < a.Groups.Count; place++ {
		if !seen[place] {
			err = add(place, zero)
		}
	}
	if err != nil {
		return errors.Join(err, out.Close())
	}
	return r.take(&sorted{of: out, keys: d.keys})
}

// take holds what was sorted where it fits.
func (r *Release) take(s *sorted) error {
	if s.of.Spilled() {
		r.many, r.count = s, s.of.Len()
		return nil
	}
	err := s.each(func(g *Group) error {
		r.Groups = append(r.Groups, *g)
		return nil
	})
	return errors.Join(err, s.close())
}

// sorted are groups that were just released.
type sorted struct {
	of       *spool.Sorter[Group]
	distinct bool                               // no two have the same keys
	keys     func(place uint64) []sqltype.Value // of groups that have their place as a key; nil: none have
}

func (s *sorted) each(yield func(*Group) error) error {
	var last []sqltype.Value
	return s.of.Each(func(g Group) error {
		if s.distinct && last != nil && !lessKeys(last, g.Keys) { // Read, (0)
			return errShape
		}
		if last = g.Keys; s.keys != nil {
			g.Keys = s.keys(uint64(g.Keys[0].(int64)))
		}
		return yield(&g)
	})
}

func (s *sorted) close() error { return s.of.Close() }

// domainIndex finds the places of tuples in the order of domain, which it does not make: it knows those of each source.
type domainIndex struct {
	a  *sensitivity.Analysis
	at []map[string]uint64 // a source: by its keys' text
}

func newDomainIndex(a *sensitivity.Analysis) *domainIndex {
	d := &domainIndex{a: a}
	for _, s := range a.Groups.Sources {
		at := make(map[string]uint64, len(s.Tuples))
		for i, t := range s.Tuples {
			at[keyText(t)] = uint64(i)
		}
		d.at = append(d.at, at)
	}
	return d
}

func (d *domainIndex) place(keys []sqltype.Value) (place uint64, ok bool) {
	var of []sqltype.Value
	for i, s := range d.a.Groups.Sources {
		of = of[:0]
		for _, k := range s.Keys {
			of = append(of, keys[k])
		}
		at, ok := d.at[i][keyText(of)]
		if !ok {
			return 0, false
		}
		place = place*uint64(len(s.Tuples)) + at
	}
	return place, true
}

func (d *domainIndex) keys(place uint64) []sqltype.Value {
	out := make([]sqltype.Value, len(d.a.Keys))
	for i := len(d.a.Groups.Sources) - 1; i >= 0; i-- {
		s := d.a.Groups.Sources[i]
		t := s.Tuples[place%uint64(len(s.Tuples))]
		place /= uint64(len(s.Tuples))
		for j, k := range s.Keys {
			out[k] = t[j]
		}
	}
	return out
}

// chunkBytes is about how much is sealed at once.
const chunkBytes = 64 << 10

// Spool writes the groups that memory does not hold into their ledger's spool, which takes their place: the release is read from there, and closes it.
func (r *Release) Spool(a *sensitivity.Analysis, to *ledger.Spool, most int64) error {
	var chunk []byte
	flush := func() error {
		if len(chunk) == 0 {
			return nil
		}
		err := to.Add(chunk)
		if chunk = chunk[:0]; err == nil && to.Bytes() > most {
			err = spool.ErrLarge
		}
		return err
	}
	err := r.many.each(func(g *Group) error {
		if chunk = appendGroup(chunk, *g); len(chunk) >= chunkBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	was := r.many
	r.many = spooledIn(a, to, r.count)
	return was.close()
}

// spooled are groups that are stored.
type spooled struct {
	of                  *ledger.Spool
	keys, values, count int
}

func spooledIn(a *sensitivity.Analysis, of *ledger.Spool, count int) *spooled {
	return &spooled{of, len(a.Keys), len(a.Measures), count}
}

func (s *spooled) each(yield func(*Group) error) error {
	n := 0
	err := s.of.Each(func(chunk []byte) error {
		for len(chunk) > 0 {
			g, rest, err := readGroup(chunk, s.keys, s.values)
			if err != nil {
				return err
			}
			chunk = rest
			n++
			if err := yield(&g); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && n != s.count {
		err = errShape
	}
	return err
}

func (s *spooled) close() error { return s.of.Close() }
