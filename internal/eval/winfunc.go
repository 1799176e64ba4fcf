package eval

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// windowFunc gives a value for each row of a partition.
type windowFunc func(p *partition) ([]sqltype.Value, error)

// windowFuncs are PostgreSQL's (windowfuncs.c).
var windowFuncs = map[plan.AggFunc]windowFunc{
	"row_number": ranking(func(_ *partition, i int) sqltype.Value { return int64(i + 1) }),
	"rank":       ranking(func(p *partition, i int) sqltype.Value { return int64(p.starts[p.peers[i]] + 1) }),
	"dense_rank": ranking(func(p *partition, i int) sqltype.Value { return int64(p.peers[i] + 1) }),
	"percent_rank": ranking(func(p *partition, i int) sqltype.Value {
		if len(p.rows) == 1 {
			return 0.0
		}
		return float64(p.starts[p.peers[i]]) / float64(len(p.rows)-1)
	}),
	"cume_dist":   ranking(func(p *partition, i int) sqltype.Value { return float64(p.starts[p.peers[i]+1]) / float64(len(p.rows)) }),
	"ntile":       ntile,
	"lag":         offset(-1),
	"lead":        offset(1),
	"first_value": framed(func(*partition, int) (int64, error) { return 1, nil }),
	"last_value":  framed(func(*partition, int) (int64, error) { return -1, nil }),
	"nth_value": framed(func(p *partition, i int) (int64, error) {
		v, err := p.arg(1, i)
		n, ok := v.(int64)
		switch {
		case err != nil || !ok:
			return 0, err
		case n <= 0:
			return 0, sqlerr.New(sqlerr.InvalidNth, "argument of nth_value must be greater than zero")
		}
		return n, nil
	}),
}

func ranking(of func(p *partition, i int) sqltype.Value) windowFunc {
	return func(p *partition) ([]sqltype.Value, error) {
		out := make([]sqltype.Value, len(p.rows))
		for i := range out {
			out[i] = of(p, i)
		}
		return out, p.m.ctx.Err()
	}
}

// ntile asks for the number of buckets until it is not NULL; the buckets start with that row, and are sized for all.
func ntile(p *partition) ([]sqltype.Value, error) {
	out := make([]sqltype.Value, len(p.rows))
	var bucket, filled, size, larger int64 // larger: buckets up to this one have one row more
	for i := range p.rows {
		if err := p.m.tick(); err != nil {
			return nil, err
		}
		if bucket == 0 {
			v, err := p.arg(0, i)
			n, ok := v.(int64)
			switch {
			case err != nil:
				return nil, err
			case !ok:
				continue
			case n <= 0:
				return nil, sqlerr.New(sqlerr.InvalidNtile, "argument of ntile must be greater than zero")
			}
			bucket, size = 1, int64(len(p.rows))/n
			if size == 0 {
				size = 1
			} else {
				larger = int64(len(p.rows)) % n
			}
		}
		room := size
		if bucket <= larger {
			room++
		}
		if filled == room {
			bucket, filled = bucket+1, 0
		}
		filled++
		out[i] = bucket
	}
	return out, nil
}

// offset is lag and lead: the argument some rows away, or the default beyond the partition.
func offset(sign int64) windowFunc {
	return func(p *partition) ([]sqltype.Value, error) {
		out := make([]sqltype.Value, len(p.rows))
		for i := range p.rows {
			if err := p.m.tick(); err != nil {
				return nil, err
			}
			by := int64(1)
			if len(p.args) > 1 {
				v, err := p.arg(1, i)
				if err != nil {
					return nil, err
				}
				n, ok := v.(int64)
				if !ok {
					continue
				}
				by = n
			}
			var err error
			if at := int64(i) + sign*by; at >= 0 && at < int64(len(p.rows)) {
				out[i], err = p.arg(0, int(at))
			} else if len(p.args) > 2 {
				out[i], err = p.arg(2, i)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// framed takes the first argument at the n-th row of the frame, from its end with -1; 0 is NULL.
func framed(nth func(p *partition, i int) (int64, error)) windowFunc {
	return func(p *partition) ([]sqltype.Value, error) {
		frames, err := p.frame.of(p)
		if err != nil {
			return nil, err
		}
		out := make([]sqltype.Value, len(p.rows))
		for i, f := range frames {
			if err := p.m.tick(); err != nil {
				return nil, err
			}
			n, err := nth(p, i)
			if err != nil {
				return nil, err
			}
			if at := pick(p.frame.without(p, i, f), n); at >= 0 {
				if out[i], err = p.arg(0, at); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
}

// pick is the n-th row of a frame in pieces, -1 if there is none.
func pick(pieces []bounds, n int64) int {
	if n < 0 {
		if last := len(pieces) - 1; last >= 0 && pieces[last].lo < pieces[last].hi {
			return pieces[last].hi - 1
		}
		return -1
	}
	for _, b := range pieces {
		if size := int64(b.hi - b.lo); n > 0 && n <= size {
			return b.lo + int(n) - 1
		} else if n -= size; n <= 0 {
			return -1
		}
	}
	return -1
}
