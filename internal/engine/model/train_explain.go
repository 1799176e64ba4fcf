package model

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/explain"
)

// EXPLAIN of TRAIN is two levels, like that of SELECT: what an analyst needs before paying, and with VERBOSE all that the card will have.

// briefProperties are what EXPLAIN of TRAIN shows without VERBOSE, in their order. Where a training has more of them than fit, the last are left out.
var briefProperties = []string{"epsilon", "delta", "price", "left", "refused", "warning", "method", "why this method", "rows of a unit", "missing", "time limit", "noise multiplier"}

// brief is what fits of an explained training.
func brief(rows [][]sqltype.Value) (out [][]sqltype.Value) {
	for _, name := range briefProperties {
		for _, row := range rows {
			if row[0] == name {
				out = append(out, row)
			}
		}
	}
	const most = explain.BriefLines - 1
	if len(out) > most {
		if left := slices.ContainsFunc(out[most-1:], func(row []sqltype.Value) bool { return row[0] == "warning" }); left { // more warnings than lines
			out = append(out[:most-1], []sqltype.Value{"warning", fmt.Sprintf("%d more, with VERBOSE", countOf(rows, "warning")-countOf(out[:most-1], "warning"))})
		}
		out = out[:most]
	}
	return append(out, answer.VerboseProperty)
}

func countOf(rows [][]sqltype.Value, name string) (n int) {
	for _, row := range rows {
		if row[0] == name {
			n++
		}
	}
	return n
}
