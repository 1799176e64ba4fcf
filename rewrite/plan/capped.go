package plan

import "slices"

// Capped keeps, of the rows of its input that are alike in By, the Most first ones in an order of their own columns: by a hash of By, Order and the statement's seed, then by Order. Rows with NULL in one of By are dropped.
// Its columns are By's and Order's alone: rows that agree in these are one as good as the other, so what is kept of them is a function of the multiset of the rows that are alike in By. An analysis makes it.
// Where it has more keys (Also), it keeps the rows that are among the first for each of them: each counts all rows, those too that another key drops.
type Capped struct {
	Input Rel
	By    []ColID
	Order []ColID
	Most  uint64
	Also  []CapKey
	Pos   int
}

// CapKey is one of several keys of a cap.
type CapKey struct {
	By   []ColID
	Most uint64
}

// Keys are all of them.
func (r *Capped) Keys() []CapKey { return append([]CapKey{{r.By, r.Most}}, r.Also...) }

func (*Capped) rel() {}

// Cols are By's, the other keys', then Order's.
func (r *Capped) Cols() []ColID {
	out := slices.Clone(r.By)
	add := func(list []ColID) {
		for _, id := range list {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	for _, k := range r.Also {
		add(k.By)
	}
	add(r.Order)
	return out
}
