package owner

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

// facts are those of a table's columns.
func (t *table) facts() map[string]policy.Fact {
	if t.known == nil {
		t.known = policy.Facts(t.rel)
	}
	return t.known
}

// What is proposed as it is. Longer lists are the owner's choice. Where a person has one row, noise is for the whole range, and where its leaves are wide, MIN and MAX tell values of them less finely.
const (
	mostValues = 50
	wholeRange = 20      // values of a range that are listed too
	wideRange  = 10_000  // where a person has one row
	mostSteps  = 1 << 20 // of the type, where bounds are chosen within a range
)

// spelledEnd is an end as a policy has it: a time of day is written with signs of YAML's.
func spelledEnd(e *policy.End) string {
	if strings.Contains(e.Text, ":") {
		return scalar(e.Text)
	}
	return e.Text
}

// otherEnd says what a range of which the schema knows one end is for; of types that need one, the column's line says so.
func otherEnd(t sqltype.Type, text, other string) string {
	if policy.NeedsRange(t) {
		return ""
	}
	return fmt.Sprintf("; range: %s with the %s value that makes sense ends the intervals of MIN and MAX", text, other)
}

// spelledFact are the policy's keys for what the schema says of a column, and what else is to be said of it. isChosen says that statements choose bounds within a range.
func spelledFact(f policy.Fact, c sqltype.RelationColumn, isChosen bool) (keys []string, note string) {
	var values []string
	switch lo, hi := f.Lo, f.Hi; {
	case f.Listed && len(f.Values) > 0 && len(f.Values) <= mostValues:
		for _, v := range f.Values {
			if c.Type.IsNumber() {
				values = append(values, v)
			} else {
				values = append(values, scalar(v))
			}
		}
		note = "the database allows no others"
	case f.Listed:
	case lo != nil && hi != nil && policy.CheckRange(lo.Text, hi.Text, c.Type) == nil:
		text := fmt.Sprintf("range: [%s, %s]", spelledEnd(lo), spelledEnd(hi))
		width := hi.At.Sub(lo.At)
		isWide := width.GreaterThan(decimal.NewFromInt(wideRange))
		if isChosen {
			_, scale, _ := c.Type.NumericMod()
			isWide = width.Shift(int32(scale)).GreaterThan(decimal.NewFromInt(mostSteps)) //nolint:gosec // at most 1,000
		}
		if c.Type.IsNumber() && !policy.NeedsRange(c.Type) && isWide {
			return nil, text + " is what the database allows, and ends the intervals of MIN and MAX; left out, each statement finds a tighter bound"
		}
		keys, note = append(keys, text), "the database allows no others"
		if n := width.IntPart(); c.Type.IsInteger() && n < wholeRange {
			for i := range n + 1 {
				values = append(values, lo.At.Add(decimal.NewFromInt(i)).String())
			}
		}
	case lo != nil && !c.Type.IsString():
		note = "the database allows nothing below " + inComment(lo.Text) + otherEnd(c.Type, "["+spelledEnd(lo)+", ]", "highest")
	case hi != nil && !c.Type.IsString():
		note = "the database allows nothing above " + inComment(hi.Text) + otherEnd(c.Type, "[ , "+spelledEnd(hi)+"]", "lowest")
	}
	if len(values) > 0 {
		if !c.NotNull {
			values = append(values, "null")
		}
		keys = append(keys, "values: ["+strings.Join(values, ", ")+"]")
	}
	return keys, note
}
