package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/server"
)

const planText = `count over encounters where diag = 'constant'`

// charge is a statement that was charged.
func charge(analyst string, reservation int64) server.AuditEvent {
	return server.AuditEvent{Analyst: analyst, Statement: [32]byte{1, 2}, Plan: planText, Reservation: reservation, Price: 0.5,
		Loss: dp.Loss{Pure: math.Inf(1), Renyi: 0.25, Delta: 1e-9}, Order: 3.18, Outcome: server.Answered}
}

// open opens an audit log in a folder; its clock stands.
func open(t *testing.T, path string) (*Audit, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	a, err := OpenAudit(path, slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	a.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) }
	return a, &log
}

func lines(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		out = append(out, m)
	}
	return out
}

// TestAuditLines: one line a statement with who, when, plan, charge and outcome; numbers that are none are left out.
func TestAuditLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, log := open(t, path)
	a.Ended(charge("ann", 7))
	pure := charge("ann", 8)
	pure.Loss, pure.Order = dp.Loss{Pure: 0.5, Renyi: math.Inf(1)}, 0
	a.Ended(pure)
	a.Ended(server.AuditEvent{Analyst: "bob", Plan: planText, Outcome: server.Denied, Error: "budget_exhausted", Loss: dp.Loss{Pure: math.Inf(1), Renyi: math.Inf(1)}, Order: math.Inf(1)})
	statement := "0102" + strings.Repeat("0", 60)
	want := []map[string]any{
		{"time": "2026-01-02T02:04:05Z", "analyst": "ann", "outcome": "answered", "statement": statement, "reservation": 7.0, "price": 0.5, "renyi": 0.25, "order": 3.18, "delta": 1e-9, "plan": planText},
		{"time": "2026-01-02T02:04:05Z", "analyst": "ann", "outcome": "answered", "statement": statement, "reservation": 8.0, "price": 0.5, "epsilon": 0.5, "plan": planText},
		{"time": "2026-01-02T02:04:05Z", "analyst": "bob", "outcome": "denied", "error": "budget_exhausted", "statement": strings.Repeat("0", 64), "plan": planText},
	}
	if got := lines(t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
}

// TestAuditHoldsNoAnswers: an audit line is made of an AuditEvent, in which no answer has a place. A new field wants a look.
func TestAuditHoldsNoAnswers(t *testing.T) {
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[server.AuditEvent]()) {
		fields = append(fields, f.Name+" "+f.Type.String())
	}
	if want := []string{"Analyst string", "Statement ledger.Hash", "Plan string", "Reservation int64", "Price float64", "Loss dp.Loss", "Order float64", "Outcome server.Outcome", "Error string"}; !slices.Equal(fields, want) {
		t.Errorf("%q", fields)
	}
}

// TestAuditMode: nobody but its owner reads the plans' constants.
func TestAuditMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	open(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := OpenAudit(filepath.Join(path, "no folder"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an audit log that cannot be opened is taken")
	}
}

// TestAuditRotation: after a rename, Reopen goes on in a new file; what was there before is appended to. Where that fails the old
// file stays in use.
func TestAuditRotation(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "audit.jsonl.1")
	a, log := open(t, path)
	a.Ended(charge("ann", 1))
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	a.Ended(charge("ann", 2))
	if err := a.Reopen(); err != nil {
		t.Fatal(err)
	}
	a.Ended(charge("ann", 3))
	if err := a.Reopen(); err != nil {
		t.Fatal(err)
	}
	a.Ended(charge("ann", 4))
	if old, now := lines(t, moved), lines(t, path); len(old) != 2 || len(now) != 2 || now[0]["reservation"] != 3.0 {
		t.Errorf("%v\n%v", old, now)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.Reopen(); err == nil {
		t.Error("a folder was opened")
	}
	a.Ended(charge("ann", 5))
	if got := lines(t, moved); len(got) != 3 || got[2]["reservation"] != 5.0 {
		t.Error(got)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
}

// TestAuditCannotBeWritten: a full disk and a closed file are said in the log, without the line, and nothing else happens.
func TestAuditCannotBeWritten(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	full, log := open(t, "/dev/full")
	closed, clog := open(t, filepath.Join(t.TempDir(), "audit.jsonl"))
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		audit *Audit
		log   *bytes.Buffer
		want  string
	}{{full, log, "no space left"}, {closed, clog, "closed"}} {
		c.audit.Ended(charge("ann", 1))
		c.audit.Ended(charge("ann", 2))
		text := c.log.String()
		if strings.Count(text, "the audit log could not be written") != 2 || !strings.Contains(text, c.want) || strings.Contains(text, "constant") || strings.Contains(text, "encounters") {
			t.Error(text)
		}
		if err := c.audit.Close(); err != nil {
			t.Error(err)
		}
		if err := c.audit.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	}
	// A rotation brings a closed one back.
	if err := closed.Reopen(); err != nil {
		t.Error(err)
	}
	closed.Ended(charge("ann", 3))
	if got := lines(t, closed.path); len(got) != 1 {
		t.Error(got)
	}
}

// TestAuditFailing: lines that could not be written are counted and shown, with what they would have charged; a line that was cut gets its end, also by a later opening, so that the others stay whole.
func TestAuditFailing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, log := open(t, path)
	m := NewMetrics("")
	m.Audit(a)
	failing := func() (now, ever float64) {
		t.Helper()
		families, err := m.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			switch f.GetName() {
			case "dpsql_audit_failing":
				now = f.GetMetric()[0].GetGauge().GetValue()
			case "dpsql_audit_failures_total":
				ever = f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return now, ever
	}
	a.Charged(charge("ann", 1))
	good := a.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	a.file = full
	a.Charged(charge("ann", 2))
	if now, ever := failing(); now != 1 || ever != 1 || !a.Failing() || !strings.Contains(log.String(), `"reservation":2,"price":0.5`) {
		t.Errorf("failing %v, %v times: %s", now, ever, log)
	}
	if _, err := good.WriteString(`{"time":"2026`); err != nil { // what a full disk leaves
		t.Fatal(err)
	}
	a.file, a.cut = good, true
	a.Charged(charge("ann", 3))
	if now, ever := failing(); now != 0 || ever != 1 || a.Failing() {
		t.Errorf("failing %v, %v times", now, ever)
	}
	if _, err := good.WriteString(`{"time":"2027`); err != nil {
		t.Fatal(err)
	}
	if err := a.Reopen(); err != nil {
		t.Fatal(err)
	}
	a.Charged(charge("ann", 4))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(list) != 5 || list[1] != `{"time":"2026` || list[3] != `{"time":"2027` || !json.Valid([]byte(list[2])) || !json.Valid([]byte(list[4])) {
		t.Errorf("%q", list)
	}
}

// disk is a disk that counts what is synced, and fails while it is told to. What is not synced would be lost by a power cut.
type disk struct {
	mu     sync.Mutex
	synced map[string]int // lines of a file, or names of a folder
	fails  error
}

func (d *disk) sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails != nil {
		return d.fails
	}
	if names, err := os.ReadDir(f.Name()); err == nil {
		d.synced[f.Name()] = len(names)
		return nil
	}
	text, err := os.ReadFile(f.Name())
	d.synced[f.Name()] = bytes.Count(text, []byte("\n"))
	return err
}

// onDisk opens an audit log on such a disk.
func onDisk(t *testing.T, path string) (*Audit, *disk, *bytes.Buffer) {
	t.Helper()
	d, log := &disk{synced: map[string]int{}}, &bytes.Buffer{}
	a, err := openAudit(path, slog.New(slog.NewJSONHandler(log, nil)), d.sync)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, d, log
}

// TestAuditIsDurable: the line of a charge is synced before the charge goes on, and a sync that fails is told; other lines wait for the next one.
func TestAuditIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, d, log := onDisk(t, path)
	for i, c := range []struct {
		write func(server.AuditEvent)
		want  int
	}{{a.Charged, 1}, {a.Ended, 1}, {a.Ended, 1}, {a.Charged, 4}, {a.Charged, 5}} {
		if c.write(charge("ann", int64(i+1))); d.synced[path] != c.want {
			t.Errorf("%d of %d lines are synced, want %d", d.synced[path], i+1, c.want)
		}
	}
	d.fails = errors.New("no disk")
	a.Ended(charge("ann", 6))
	if a.Failing() || log.Len() > 0 {
		t.Errorf("a line that is no charge was synced: %s", log)
	}
	if a.Charged(charge("ann", 7)); !a.Failing() || !strings.Contains(log.String(), "no disk") || !strings.Contains(log.String(), `"reservation":7`) {
		t.Errorf("a charge whose line was not synced: %s", log)
	}
	d.fails = nil
	if a.Charged(charge("ann", 8)); a.Failing() || d.synced[path] != 8 {
		t.Errorf("%d lines are synced", d.synced[path])
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAuditNameIsDurable: a new file is in use when its folder was synced, at the start and after a rotation; one that was there needs none.
func TestAuditNameIsDurable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	a, d, _ := onDisk(t, path)
	if d.synced[dir] != 1 {
		t.Error("the folder of a new file was not synced")
	}
	a.Charged(charge("ann", 1))
	for i := range 3 {
		if err := os.Rename(path, path+strings.Repeat(".1", i+1)); err != nil {
			t.Fatal(err)
		}
		if err := a.Reopen(); err != nil {
			t.Fatal(err)
		}
		if d.synced[dir] != i+2 {
			t.Errorf("%d of %d names are synced", d.synced[dir], i+2)
		}
	}
	clear(d.synced)
	if err := a.Reopen(); err != nil || d.synced[dir] != 0 {
		t.Errorf("%v, %d names are synced", err, d.synced[dir])
	}
	if err := os.Rename(path, path+".last"); err != nil {
		t.Fatal(err)
	}
	d.fails = errors.New("no disk")
	if err := a.Reopen(); err == nil {
		t.Error("a file is in use whose name may be lost")
	}
	d.fails = nil
	if err := a.Reopen(); err != nil || d.synced[dir] != 5 {
		t.Errorf("%v, %d names are synced", err, d.synced[dir])
	}
	if a.Charged(charge("ann", 2)); len(lines(t, path)) != 1 {
		t.Error("the line is elsewhere")
	}
}

// TestAuditAtOnce: lines of many sessions, and rotations among them, are whole.
func TestAuditAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, _ := open(t, path)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				if a.Ended(charge("ann", int64(i+1))); i%2 == 0 {
					a.Charged(charge("ann", int64(i+1)))
				}
				if i%10 == 0 {
					if err := a.Reopen(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(lines(t, path)); n != 600 {
		t.Errorf("%d lines", n)
	}
}

// TestWatchers: each hears of everything.
func TestWatchers(t *testing.T) {
	dir := t.TempDir()
	a, _ := open(t, filepath.Join(dir, "a"))
	b, _ := open(t, filepath.Join(dir, "b"))
	Observers{a, b}.Ended(charge("ann", 1))
	Observers{a, b}.Charged(charge("ann", 1))
	Observers(nil).Ended(charge("ann", 1))
	if x, y := lines(t, a.path), lines(t, b.path); len(x) != 2 || !reflect.DeepEqual(x, y) {
		t.Errorf("%v\n%v", x, y)
	}
}

// TestLongPlan: a line is as long as the ledger's text of a statement at most, so that no statement fills the disk.
func TestLongPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	a, _ := open(t, path)
	h := charge("ann", 1)
	h.Plan = strings.Repeat("count over é ", 1<<20)
	a.Charged(h)
	a.Ended(h)
	text, err := os.ReadFile(path)
	if err != nil || len(text) > 2*(ledger.MaxText+1000) {
		t.Errorf("two lines have %d bytes: %v", len(text), err)
	}
	if got := lines(t, path); len(got) != 2 || !strings.Contains(got[0]["plan"].(string), " bytes) ... ") {
		t.Errorf("%d lines", len(got))
	}
}
