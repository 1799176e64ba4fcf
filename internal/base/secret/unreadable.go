package secret

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Unreadable stands for a value that came from a database and that its type's Go form cannot hold: a numeric NaN, a time below 00:00. A backend gives it instead of failing, since
// whether it fails would tell that a row has such a value.
type Unreadable struct{}

// Readable leaves out the rows of a private answer that have an unreadable value in them. Each row of an answer is one group's, or that of all rows (release.Releaser.Read, (0)).
//
// Proof: claim: an answer's loss about a unit is bounded as if all its values were readable.
// (1) All printed keys and totals are readable for all data: package sqlgen's prints are total, which TestComposed and TestNested hold. So no row is left out.
// (2) Should a print be mistaken in a key, the rows of that key's group alone are left out: no other group changes, and no key comes twice, as one would that became NULL. The group is released as one that nobody is in.
// (3) Should it be mistaken in a total, one unit's value removes what all units of the group add up to, which no sensitivity covers. Then the claim fails, though not the statement.
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
	return !slices.ContainsFunc(row, func(v Value) bool { return IsUnreadable(Open(v)) })
}

// IsUnreadable tells whether a value is.
func IsUnreadable(v sqltype.Value) bool {
	_, unreadable := v.(Unreadable)
	return unreadable
}
