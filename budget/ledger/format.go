package ledger

import "fmt"

// applicationID marks the file as ours ("dpsl"). format names the newest version of records that a ledger may hold. A ledger gets this
// format with its first record of this version. One before oldestFormat is refused: the program at raisingCommit raises it.
const (
	applicationID = 0x6470736c
	format        = version
	oldestFormat  = 5
	raisingCommit = "9abc5b2"
)

// foreignFormat refuses a ledger that this program cannot read on.
func foreignFormat(of int) error {
	cure := fmt.Sprintf("an older dpsql wrote to it, so build dpsql at commit %s and raise the format with its dpsql budget move", raisingCommit)
	if of > format {
		cure = "a newer dpsql wrote to it, so bring that program back, not an older copy of the ledger"
	}
	return fmt.Errorf("%w of format %d to %d but of format %d: %s", ErrForeign, oldestFormat, format, of, cure)
}
