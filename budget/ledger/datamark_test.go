package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withData names one unit's data mark in a folder.
func withData(folder string) Options {
	opt := dayCache()
	opt.Data = []DataMark{{Path: filepath.Join(folder, DataMarkName("file /clinic", "main.patients.id")), Unit: "main.patients.id"}}
	return opt
}

// The charges of one unit of one database are in one ledger, whatever the data set is called: a second one is not begun, and one that is there already is not served.
func TestDataMarks(t *testing.T) { both(t, testDataMarks) }

func testDataMarks(t *testing.T) {
	opt, a, b, c := withData(t.TempDir()), tempPath(t), tempPath(t), tempPath(t)
	renamed := demoHead(t)
	renamed.Dataset, renamed.People = "renamed", "renamed"
	l := open(t, b, renamed, dayCache()) // one that is there already
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second opening finds itself named
		l = open(t, a, demoHead(t), opt)
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 0.5, 0.1)))(t)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	was := kept(t, b)
	for what, path := range map[string]string{"a new ledger": c, "another one": b} {
		_, err := openAt(path, renamed, opt)
		if !errors.Is(err, ErrOtherLedger) || !strings.Contains(err.Error(), placeOf(a).String()) || !strings.Contains(err.Error(), opt.Data[0].Path) {
			t.Errorf("%s: %v", what, err)
		}
		if err := opt.Data[0].CheckPlace(placeOf(path)); !errors.Is(err, ErrOtherLedger) {
			t.Errorf("check of %s: %v", what, err)
		}
	}
	if err := opt.Data[0].refusal(dataOwner{place: placeOf(a).String()}, placeOf(a).String()); !errors.Is(err, ErrOtherLedger) || !strings.Contains(err.Error(), "begun anew") || strings.Contains(err.Error(), "budget move") {
		t.Errorf("another ledger at the same place: %v", err)
	}
	if _, err := accountsAt(t, c); !errors.Is(err, ErrNotExist) {
		t.Errorf("it was begun: %v", err)
	}
	if string(was) != string(kept(t, b)) {
		t.Error("the other ledger was written to")
	}
	if err := opt.Data[0].CheckPlace(placeOf(a)); err != nil {
		t.Error(err)
	}

	l = open(t, a, demoHead(t), dayCache()) // a unit that a reload brings
	if err := l.SetData(opt.Data); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, b, renamed, dayCache())
	if err := l.SetData(opt.Data); !errors.Is(err, ErrOtherLedger) {
		t.Errorf("a unit whose charges are in another ledger: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := Move(ctx, placeOf(a), placeOf(c), mover); err != nil { // a move takes the mark along
		t.Fatal(err)
	}
	open(t, c, demoHead(t), opt)
	if o := must(readDataMark(opt.Data[0].Path))(t); o.place != placeOf(c).String() {
		t.Errorf("%+v", o)
	}
	if err := os.Remove(opt.Data[0].Path); err != nil { // the owner's word
		t.Fatal(err)
	}
	open(t, b, renamed, opt)
}

// A data mark that is missing, renamed with its ledger or in a folder where nobody may write stops nothing; one that cannot be read does.
func TestDataMarkFiles(t *testing.T) {
	t.Parallel()
	path, opt := tempPath(t), withData(t.TempDir())
	opt.Data = append(opt.Data, DataMark{Path: filepath.Join(t.TempDir(), "none", "x"+dataMarkSuffix), Optional: true})
	if err := open(t, path, demoHead(t), opt).Close(); err != nil {
		t.Fatal(err)
	}
	if info := must(os.Stat(opt.Data[0].Path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, end := range []string{"", MarkSuffix} {
		if err := os.Rename(path+end, path+".renamed"+end); err != nil {
			t.Fatal(err)
		}
	}
	path += ".renamed"
	if err := opt.Data[0].CheckPlace(Place{SQLite: path}); err != nil {
		t.Error(err)
	}
	if err := open(t, path, demoHead(t), opt).Close(); err != nil {
		t.Fatal(err)
	}
	text := string(must(os.ReadFile(opt.Data[0].Path))(t))
	if !strings.Contains(text, path) {
		t.Errorf("it names the old file: %s", text)
	}
	for _, bad := range []string{"", text[:30], text + "x", strings.Replace(text, "mark 1", "mark 2", 1)} {
		if err := os.WriteFile(opt.Data[0].Path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenSQLite(ctx, path, demoHead(t), opt); !errors.Is(err, ErrOtherLedger) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
