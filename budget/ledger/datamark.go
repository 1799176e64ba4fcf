package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// DataMark is a file that says which ledger has the charges of one privacy unit of one database, whatever the policy calls its data set, people and ledger.
// The ledger is named by its first record, which a move and a copy keep.
//
// Proof: claim: of the servers that know one data mark, none charges in a second ledger unless somebody deleted the mark. (1) A server refuses a ledger whose first record
// is not the mark's, and a ledger without records where there is a mark. (2) It writes the mark durably after the ledger's first record and before its first charge.
// (3) No mark is ever changed to another first record.
type DataMark struct {
	Path     string
	Unit     string // for messages: patients.patient_id
	Optional bool   // in a folder where the server may not be allowed to write
}

// ErrOtherLedger is a ledger of data whose charges are in another one.
var ErrOtherLedger = errors.New("ledger: this data's charges are in another ledger")

const (
	dataMarkSuffix = ".data-mark"
	dataMarkFormat = "dpsql data mark 1\n%s\n%s\n"
)

// DataMarkName is the name of the file of a privacy unit of a database.
func DataMarkName(database, unit string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q", database, unit)))
	return hex.EncodeToString(sum[:8]) + dataMarkSuffix
}

// dataOwner is what a data mark says.
type dataOwner struct {
	first Hash   // of the ledger's first record
	place string // where it was last served
}

func (o dataOwner) text() string {
	first, _ := o.first.MarshalText() //nolint:errcheck // never fails
	return fmt.Sprintf(dataMarkFormat, first, o.place)
}

// readDataMark reads a data mark; the zero owner if there is none.
func readDataMark(path string) (o dataOwner, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // G304: the owner's folder
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if lines := strings.Split(string(text), "\n"); len(lines) == 4 {
		err = o.first.UnmarshalText([]byte(lines[1]))
		o.place = lines[2]
	}
	if err != nil || o.place == "" || o.text() != string(text) {
		return o, fmt.Errorf("%w: %s cannot be read as a data mark. If this policy's ledger is the newest there is, delete that file", ErrOtherLedger, path)
	}
	return o, nil
}

// CheckPlace is the error of a data mark that names another place than the policy's ledger; nil where it agrees, or its place is a file that is no longer there.
func (m DataMark) CheckPlace(at Place) error {
	o, err := readDataMark(m.Path)
	if err != nil || o.place == "" || o.place == at.String() {
		return err
	}
	if path, ok := strings.CutPrefix(o.place, "file "); ok && at.SQLite != "" { // the owner may have renamed it
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return m.refusal(o, at.String())
}

func (m DataMark) refusal(o dataOwner, place string) error {
	if o.place == place {
		return fmt.Errorf("%w: %s holds a ledger that was begun anew, and what was charged for %s was in an earlier one there. Bring that back from a backup. "+
			"Only to go on without those charges, against what was promised, delete %s", ErrOtherLedger, place, m.Unit, m.Path)
	}
	from := "OLD"
	if path, ok := strings.CutPrefix(o.place, "file "); ok {
		from = path
	}
	return fmt.Errorf("%w: what was charged for %s is in that of %s, and the policy names %s. Restore the policy's dataset, people and ledger, "+
		"or bring the ledger along with dpsql budget move --from %s. Only to go on without those charges, against what was promised, delete %s", ErrOtherLedger, m.Unit, o.place, place, from, m.Path)
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrNotExist)
}

// writeDataMark writes a data mark durably, as a whole; one that says the same stays.
func writeDataMark(path string, o dataOwner) error {
	if now, err := readDataMark(path); err == nil && now == o {
		return nil
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(o.text())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// relocate tells the data marks of a ledger, in these folders, where it is now. A mark that cannot be written keeps the old place, which only messages name.
func relocate(dirs []string, first Hash, place string) error {
	for _, dir := range dirs {
		marks, err := filepath.Glob(filepath.Join(dir, "*"+dataMarkSuffix))
		if err != nil {
			return err
		}
		for _, path := range marks {
			o, err := readDataMark(path)
			if err == nil && o.first == first {
				err = writeDataMark(path, dataOwner{first, place})
			}
			if err != nil && !errors.Is(err, ErrOtherLedger) && !unwritable(err) {
				return err
			}
		}
	}
	return nil
}
