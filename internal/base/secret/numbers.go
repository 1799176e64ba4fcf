package secret

// Numbers are many rows of numbers at once: what a training reads. They travel inside a Value (Of), as each of their cells would, and only Open gives them out.
type Numbers struct {
	Rows  int
	Cells []int64 // row after row: a float stands by its bits (math.Float64bits), dates and times by PostgreSQL's count, false and true by 0 and 1; an array has as many as it is declared to have
	Null  []bool  // row after row, one a column: NULL, or an array that has NULL in it or another length
}

// NumberRows is an iterator over blocks of rows. Next returns false at the end or on failure; Err tells which. Block, a Value of
// *Numbers, is valid until the next call of Next.
type NumberRows interface {
	Next() bool
	Block() Value
	Err() error
	Close()
}
