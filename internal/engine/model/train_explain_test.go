package model

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestBriefTrainExplain: more warnings than EXPLAIN has lines are cut, and counted; the charge and a refusal stay.
func TestBriefTrainExplain(t *testing.T) {
	rows := [][]sqltype.Value{{"model", "m"}, {"epsilon", "1"}, {"delta", "1e-9"}, {"price", "2"}, {"charge", "c"}}
	for i := range 20 {
		rows = append(rows, []sqltype.Value{"warning", fmt.Sprint(i)})
	}
	rows = append(rows, []sqltype.Value{"left", "0"}, []sqltype.Value{"refused", "no"})
	got := fmt.Sprint(brief(rows))
	if want := "[[epsilon 1] [delta 1e-9] [price 2] [left 0] [refused no] [warning 0] [warning 1] [warning 2] [warning 3] [warning 4] [warning 15 more, with VERBOSE] [details EXPLAIN (VERBOSE)]]"; got != want {
		t.Error(got)
	}
}
