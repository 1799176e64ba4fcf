package secret

import "github.com/dpsql/dpsql/internal/sqltype"

// Unreadable stands for a value that came from a database and that its type's Go form cannot hold: a numeric NaN, a time below 00:00. A backend gives it instead of failing, since
// whether it fails would tell that a row has such a value.
type Unreadable struct{}

// Readable leaves out the rows of a private answer that have a value in them that is unreadable.
//
// Proof: claim: what is released of such an answer loses as little about a unit as without it, and does not fail for what a unit's row holds. Each row of an answer is one group's, or all rows' (release.Read, (0)).
// (1) A row is left out for its own values alone: no other group's row changes, and none comes twice, as one would whose key became NULL. (2) A group without a row is released as any group that nobody is in: it
// is not there, or its totals are 0. (3) Printed keys and totals are readable for all data (package sqlgen's prints, held by the nested statements' tests), so nothing is left out but after a mistake of a print: then
// it hides a group, where a failure would tell of a row.
func Readable(rows Rows) Rows { return readable{rows} }

type readable struct{ Rows }

func (r readable) Next() bool {
	for r.Rows.Next() {
		if isReadable(r.Row()) {
			return true
		}
	}
	return false
}

func isReadable(row []Value) bool {
	for _, v := range row {
		if IsUnreadable(Open(v)) {
			return false
		}
	}
	return true
}

// IsUnreadable tells whether a value is.
func IsUnreadable(v sqltype.Value) bool {
	_, unreadable := v.(Unreadable)
	return unreadable
}
