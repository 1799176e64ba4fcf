package plan

import "slices"

// Capped keeps, of the rows of its input that are alike in By, the Most first ones in an order of their own columns: by a hash of By, Order and the statement's seed, then by Order. Rows with NULL in one of By are dropped.
// Its columns are By's and Order's alone: rows that agree in these are one as good as the other, so what is kept of them is a function of the multiset of the rows that are alike in By. An analysis makes it.
type Capped struct {
	Input Rel
	By    []ColID
	Order []ColID
	Most  uint64
	Pos   int
}

func (*Capped) rel() {}

// Cols are By's, then Order's.
func (r *Capped) Cols() []ColID {
	out := slices.Clone(r.By)
	for _, id := range r.Order {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
