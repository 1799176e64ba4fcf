package ledger

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// testdata/version1 is a ledger of the demo that the program of format 1 wrote on 2026-10-30: ann 0.5 with a release, bob a
// Gaussian 0.5 that failed, and 0.1 left outstanding, of a quota of 0.25.
func version1(t *testing.T) (path string, opt Options) {
	path = raised(t, "version1")
	h := &hands{}
	h.set(t, "2026-10-30 13:00")
	return path, h.options()
}

// Records of version 1 are read as what they were.
func TestVersion1IsReadOn(t *testing.T) {
	path, opt := version1(t)
	o := must(openOwner(ctx, path, opt))(t)
	if acc := must(o.Accounts())(t); acc.Datasets[0].Analysts["bob"].Failures != 1 || acc.Lifetime.Limited {
		t.Errorf("%+v", acc)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l := open(t, path, demoHead(t), opt)
		b := must(l.balance("bob", 0.25))(t)
		if b.Dataset.Statements != 3 || b.Analyst.Statements != 2 || b.Dataset.Failures != 1 || b.Lifetime.Windows != 1 || !b.Window.Charged {
			t.Errorf("%+v", b)
		}
		if s, ok, err := l.Lookup(ctx, Hash{9}, "bob"); !ok || err != nil || string(s.Payload) != "54,864" || !s.Made.Equal(time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v %v %v", s, ok, err)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		if got := must(queryText(l.db, "PRAGMA user_version"))(t); got != fmt.Sprint(version) {
			t.Errorf("format %s", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	head := demoHead(t)
	head.Window, head.Lifetime = WindowMonth, &Lifetime{60}
	if _, err := OpenSQLite(ctx, path, head, opt); !errors.Is(err, ErrMismatch) {
		t.Errorf("it got windows: %v", err)
	}
}

// raised copies a ledger of an older format, with the format to which the program at raisingCommit raised it.
func raised(t *testing.T, name string) (path string) {
	path = tempPath(t)
	copyFile(t, path, "testdata/"+name)
	db := must(sqlite3.Open(path))(t)
	if err := errors.Join(db.Exec(fmt.Sprintf("PRAGMA user_version=%d", oldestFormat)), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A ledger of a format before 5 is opened by nobody, and stays as it is.
func TestOlderFormatsAreRefused(t *testing.T) {
	for _, name := range []string{"version1", "version2", "version3", "version4", "version4-order"} {
		path := tempPath(t)
		copyFile(t, path, "testdata/"+name)
		before := folder(t, filepath.Dir(path))
		for way, try := range map[string]func() error{
			"serve": func() error { _, err := OpenSQLite(ctx, path, demoHead(t), Options{}); return err },
			"owner": func() error { _, err := OpenForOwner(ctx, path); return err },
			"move from": func() error {
				_, err := Move(ctx, Place{SQLite: path}, Place{SQLite: path + "-new"}, Mover{People: "demo", By: "x"})
				return err
			},
			"move to": func() error {
				_, err := Move(ctx, Place{SQLite: filled(t)}, Place{SQLite: path}, Mover{People: "demo", By: "x"})
				return err
			},
		} {
			if err := try(); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "format "+name[7:8]+": an older dpsql wrote to it, so build dpsql at commit 9abc5b2 and raise the format with its dpsql budget move") {
				t.Errorf("%s of %s: %v", way, name, err)
			}
		}
		if after := folder(t, filepath.Dir(path)); !maps.Equal(before, after) {
			t.Errorf("%s: the folder changed", name)
		}
	}
	path := tempPath(t)
	at := newSchema(t, path)
	must(OpenPostgres(ctx, at, demoHead(t), Options{}))(t).Close()
	psql(t, at, "UPDATE head SET format = 4")
	if _, err := OpenPostgres(ctx, at, demoHead(t), Options{}); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "9abc5b2") {
		t.Errorf("in PostgreSQL: %v", err)
	}
}

// A format that this program does not know is refused, and so are newer records in an older file and older ones after newer.
func TestOtherVersionsAreRefused(t *testing.T) {
	path, opt := version1(t)
	db := must(sqlite3.Open(path))(t)
	if err := errors.Join(db.Exec(fmt.Sprintf("PRAGMA user_version=%d", version+1)), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSQLite(ctx, path, demoHead(t), opt); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), fmt.Sprint("format ", version+1)) {
		t.Error(err)
	}
	newer := filled(t)
	db = must(sqlite3.Open(newer))(t)
	if err := errors.Join(db.Exec("PRAGMA user_version=5"), db.Close()); err != nil {
		t.Fatal(err)
	}
	var broken *CorruptError
	if _, err := OpenSQLite(ctx, newer, demoHead(t), opt); !errors.As(err, &broken) {
		t.Error(err)
	}
	head := demoHead(t)
	head.Window = WindowDay
	for _, p := range []Payer{{Analyst: "ann"}, {Analyst: "ann", Share: 0.5, Quota: 1}, {Analyst: "ann", Share: 0.5, Roles: []Role{{"lab", 1}}}} {
		if err := p.check(3, head.Filter); err == nil {
			t.Errorf("version 3 has %+v", p)
		}
	}
	for want, c := range map[string]struct {
		after state
		r     Record
	}{
		"version 0":          {state{}, Record{Seq: 1, Head: &head}},
		"this program knows": {state{}, Record{Version: version + 1, Seq: 1, Head: &head}},
		"follows version 2":  {state{version: 2}, Record{Version: 1, Seq: 1, Head: &head}},
		"is no head":         {state{}, Record{Version: 2, Seq: 1, Freeze: &Freeze{On: true, By: "x"}}},
		"before an opening":  {state{seq: 1}, Record{Version: 2, Seq: 2, Reserve: &Charge{}}},
		"without a data set": {state{seq: 1}, Record{Version: 2, Seq: 2, Epoch: &Epoch{Epoch: "2"}}},
		"which has no head":  {state{seq: 1}, Record{Version: 2, Seq: 2, Opening: &Opening{Dataset: "demo", Epoch: "1"}}},
		"has a head already": {state{seq: 1, datasets: []*dataset{{head: &head}}}, Record{Version: 2, Seq: 2, Head: &head}},
		"not say by whom":    {state{seq: 1}, Record{Version: 2, Seq: 2, Freeze: &Freeze{On: true}}},
		"a data set or":      {state{seq: 1, datasets: []*dataset{{head: &head}}}, Record{Version: 2, Seq: 2, Epoch: &Epoch{"2", "demo"}}},
		"with epoch":         {state{seq: 1, datasets: []*dataset{{head: &head, opened: true}}}, Record{Version: 3, Seq: 2, Reserve: &Charge{Dataset: head.Dataset}}},
		"recovers nothing":   {state{seq: 1}, Record{Version: 3, Seq: 2, Recovery: &Recovery{}}},
		"a pardon does not":  {state{seq: 1}, Record{Version: 5, Seq: 2, Pardon: &Pardon{}}},
		"not outstanding":    {state{seq: 1}, Record{Version: 3, Seq: 2, Recovery: &Recovery{[]int64{1}}}},
		"it is of 2 kinds":   {state{seq: 1}, Record{Version: 2, Seq: 2, Epoch: &Epoch{Epoch: "2"}, Freeze: &Freeze{By: "x"}}},
	} {
		if err := c.after.check(&c.r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// testdata/version2 is a ledger of two data sets that the program of format 2 wrote on 2026-11-22, at its clock's 2026-10-30: of visits
// ann 0.1 with a release, bob 0.1 that failed, eve frozen, another epoch, ann 0.1 outstanding; then of studies ann 0.2, outstanding.
func TestVersion2IsReadOn(t *testing.T) {
	path := raised(t, "version2")
	h := &hands{}
	h.set(t, "2026-10-30 13:00")
	a, b := twoHeads(t)
	o := must(openOwner(ctx, path, h.options()))(t)
	before := must(o.Accounts())(t)
	if before.Lifetime.Windows != 2 || before.Datasets[0].Epoch != "2" || before.Datasets[0].Account.Failures != 1 || !o.Frozen("eve") {
		t.Errorf("%+v", before)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	l := open(t, path, b, h.options())
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 1 || b.Lifetime.Spent != 3 {
		t.Errorf("%+v", b)
	}
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.2)))(t)
	l = reopen(t, l, path, a, h.options())
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 3 || b.Lifetime.Spent != 3 {
		t.Errorf("%+v", b)
	}
	if s, ok, err := l.Lookup(ctx, Hash{9}, "bob"); !ok || err != nil || string(s.Payload) != "54,864" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	if got := must(queryText(l.db, "PRAGMA user_version"))(t); got != fmt.Sprint(version) {
		t.Errorf("format %s", got)
	}
}

// testdata/version3 is a ledger that the program of format 3 wrote on 2026-11-22, at its clock's 2026-10-30, a checkpoint every 5 records: of a quota of 0.3 of 1 ann spent 0.1 three times (one
// that failed, nothing is stored), was granted 0.2 and spent 0.1 twice; the budget was raised to 2, and with it her quota to a share of that: once more 0.1; bob 0.1 twice.
func TestVersion3IsReadOn(t *testing.T) {
	path := raised(t, "version3")
	h := &hands{}
	h.set(t, "2026-10-30 13:00")
	o := must(openOwner(ctx, path, h.options()))(t)
	if acc := must(o.Accounts())(t).Datasets[0]; acc.Analysts["ann"].Statements != 6 || acc.Analysts["ann"].Rooms.Pure < 0.79 || acc.Analysts["bob"].Rooms.Pure != 2 {
		t.Errorf("%+v", acc)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	head := pureHead(t, 2)
	head.Window, head.Lifetime = WindowMonth, &Lifetime{6}
	l := open(t, path, head, frequent(h.options()))
	tenth := count(t, l.Filter(), "ann", 0.15, 0.1)
	if b := deniedBy(t, l, tenth, ScopeAnalyst); b.Analyst.Rooms.Pure != 0.5 || b.Analyst.Statements != 6 || b.Analyst.Left.Pure != 0 {
		t.Errorf("a quota of epsilon 0.3 and 0.2 granted, of which 0.6 is spent: %+v", b.Analyst)
	}
	tenth.Quota, tenth.Roles = 0.7, []Role{{"lab", 0.1}}
	must(l.Reserve(ctx, tenth))(t)
	deniedBy(t, l, tenth, ScopeRole)
	for range 5 { // and a checkpoint of both formats
		must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.1)))(t)
	}
	l = reopen(t, l, path, head, h.options())
	if acc := must(l.Accounts())(t).Datasets[0]; acc.Roles["lab"].Statements != 1 || acc.Roles["lab"].Rooms.Pure != 0.1 || acc.Analysts["ann"].Rooms.Pure < 0.89 {
		t.Errorf("%+v", acc)
	}
	if got := must(queryText(l.db, "PRAGMA user_version"))(t); got != fmt.Sprint(version) || l.Verify(ctx) != nil {
		t.Errorf("format %s, %v", got, l.Verify(ctx))
	}
}
