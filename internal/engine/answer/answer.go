package answer

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Column describes one column of an answer before anything was run.
type Column struct {
	Name     string
	Type     sqltype.Type
	TableOID uint32
	Attr     int16
}

// Interval is the 95% interval of one number of a row, or why it is not known, and why NULL stands in the number's place. An end of which nothing is known is absent.
type Interval struct {
	Of      int      `json:"of"` // which output column, from 0
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Why     string   `json:"why,omitempty"`     // of NULL
	Unknown string   `json:"unknown,omitempty"` // of an interval without ends
	AtOnce  bool     `json:"at_once,omitempty"` // it holds with those of the column's other rows at once with 95%
	Part    bool     `json:"part,omitempty"`    // the number is dp_error, dp_low or dp_high itself, and has no interval
}

// Intervals are those of a row. They stand behind its columns, in sessions with UseIntervals.
type Intervals []Interval

// Answer is a released answer: it may be shown, and fetched in parts. Who has it closes it.
type Answer struct {
	Rows     [][]sqltype.Value
	More     *Stream  // what follows Rows; nil: nothing does
	Tag      string   // command tag without the count: "SELECT", "EXPLAIN", ...
	Notice   string   // what was spent and what is left; empty for none
	Warnings []string // where it may be taken for more than it is: told whatever dpsql.notices says
	Mark     string   // what the answer is that it may be taken for another: told whatever the client wants to hear; empty for none
	MadeUp   bool     // Rows are of nobody, as Mark says
}
