package eval

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Relation is rows, one value a column, in the order of Cols: in memory, or where Each is set as it gives them, again each time that it is called.
type Relation struct {
	Cols []plan.ColID
	Rows [][]sqltype.Value
	Each func(yield func(row []sqltype.Value) error) error
}

// Read gives a relation's rows one by one.
func (r *Relation) Read(yield func(row []sqltype.Value) error) error {
	if r.Each != nil {
		return r.Each(yield)
	}
	for _, row := range r.Rows {
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

// Gather holds all rows of a relation.
func Gather(ctx context.Context, r *Relation, l Limits) ([][]sqltype.Value, error) {
	if r.Each == nil {
		return r.Rows, nil
	}
	m := &machine{ctx: ctx, limits: l}
	return streamed(nil, func(_ *machine, yield func([]sqltype.Value) error) error { return r.Each(yield) }).rows(m)
}

// leafStep is a relation that is given.
func leafStep(r *Relation) step {
	whole := func(row []sqltype.Value) error {
		if len(row) != len(r.Cols) {
			return sqlerr.New(sqlerr.Internal, "a row has %d values for %d columns", len(row), len(r.Cols))
		}
		return nil
	}
	if r.Each != nil {
		return streamed(r.Cols, func(m *machine, yield func([]sqltype.Value) error) error {
			return r.Each(func(row []sqltype.Value) error {
				if err := whole(row); err != nil {
					return err
				}
				if err := m.tick(); err != nil {
					return err
				}
				return yield(row)
			})
		})
	}
	return step{cols: r.Cols, rows: func(*machine) ([][]sqltype.Value, error) {
		for _, row := range r.Rows {
			if err := whole(row); err != nil {
				return nil, err
			}
		}
		return r.Rows, nil
	}}
}

// streamed is a step of rows that come one by one; who wants all of them holds them.
func streamed(cols []plan.ColID, e each) step {
	return step{cols: cols, each: e, rows: func(m *machine) (out [][]sqltype.Value, err error) {
		err = e(m, func(row []sqltype.Value) error {
			out = append(out, row)
			return m.keep(row)
		})
		return out, err
	}}
}

// rowwise is a step that makes of each row one or none, whatever the others are.
func rowwise(in step, cols []plan.ColID, of func(m *machine, row []sqltype.Value) (out []sqltype.Value, kept bool, err error)) step {
	if in.each != nil {
		return streamed(cols, func(m *machine, yield func([]sqltype.Value) error) error {
			return in.each(m, func(row []sqltype.Value) error {
				out, kept, err := of(m, row)
				if err != nil || !kept {
					return err
				}
				return yield(out)
			})
		})
	}
	return step{cols: cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		rows, err := in.rows(m)
		if err != nil {
			return nil, err
		}
		out := make([][]sqltype.Value, 0, len(rows))
		for _, row := range rows {
			if err := m.tick(); err != nil {
				return nil, err
			}
			made, kept, err := of(m, row)
			if err != nil {
				return nil, err
			}
			if kept {
				out = append(out, made)
			}
		}
		return out, nil
	}}
}

// all reads a step's rows one by one, wherever they are.
func (s step) all(m *machine, yield func(row []sqltype.Value) error) error {
	if s.each != nil {
		return s.each(m, yield)
	}
	rows, err := s.rows(m)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := m.tick(); err != nil {
			return err
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

// keep counts a row of a relation that is read row by row and is held all the same.
func (m *machine) keep(row []sqltype.Value) error {
	m.held += sqltype.RowBytes(row)
	if m.limits.Held > 0 && m.held > m.limits.Held {
		return sqlerr.New(sqlerr.TooComplex, "the answer needs more than %d MB of the released groups at once", m.limits.Held>>20).
			WithHint("What was released is stored, and costs nothing more: ask for it with WHERE, HAVING, ORDER BY and LIMIT alone, which need no more memory for more groups, or ask the owner to raise limits.finishing_memory.")
	}
	return nil
}

// sorted are rows in order, on disk where they are many.
func sorted(in step, keys []sortKey) step {
	width := len(in.cols)
	return streamed(in.cols, func(m *machine, yield func([]sqltype.Value) error) error {
		s := spool.NewSorter(spool.Order[[]sqltype.Value]{
			Compare: func(a, b []sqltype.Value) int { return compareRows(a, b, keys) },
			Size:    sqltype.RowBytes,
			Append:  sqltype.AppendRow,
			Read:    func(b []byte) ([]sqltype.Value, []byte, error) { return sqltype.ReadRow(b, width) },
		}, m.limits.Sort)
		err := in.each(m, s.Add)
		if err == nil {
			err = s.Each(func(row []sqltype.Value) error {
				if err := m.tick(); err != nil {
					return err
				}
				return yield(row)
			})
		}
		if end := s.Close(); err == nil {
			err = end
		}
		return err
	})
}

// limited passes over the first rows and stops after so many; ties are the keys of those that go with the last.
func limited(in step, ties []sortKey, withTies bool, ends func(*machine) (skip, most int64, bounded bool, err error)) step {
	return streamed(in.cols, func(m *machine, yield func([]sqltype.Value) error) error {
		skip, most, bounded, err := ends(m)
		if err != nil || bounded && most == 0 {
			return err
		}
		enough := errors.New("enough")
		var last []sqltype.Value
		err = in.each(m, func(row []sqltype.Value) error {
			switch {
			case skip > 0:
				skip--
				return nil
			case bounded && most == 0 && (!withTies || compareRows(last, row, ties) != 0):
				return enough
			case bounded && most > 0:
				most--
			}
			last = row
			if err := yield(row); err != nil {
				return err
			}
			if bounded && most == 0 && !withTies {
				return enough
			}
			return nil
		})
		if errors.Is(err, enough) {
			return nil
		}
		return err
	})
}
