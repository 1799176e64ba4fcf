package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTexts: a statement's text lies encrypted in the ledger; its analyst is given it, and nobody else's, and the owner all. Another key opens nothing.
func TestTexts(t *testing.T) { both(t, testTexts) }

func testTexts(t *testing.T) {
	path := tempPath(t)
	opt := frequent(dayCache())
	opt.TextKeys = []*Key{testKey(t, 1)}
	l := open(t, path, demoHead(t), opt)
	charge := func(who, text string, statement byte) int64 {
		t.Helper()
		r := count(t, l.Filter(), who, 1, 0.01)
		r.Text, r.Statement = text, Hash{statement}
		return must(l.Reserve(ctx, r))(t)
	}
	texts := func(who string) (out []string) {
		t.Helper()
		for _, c := range must(l.Charges(ctx, who))(t) {
			out = append(out, c.Text)
		}
		return out
	}
	charge("ann", "select count(*) from ann_s", 0xab)
	charge("bob", "select count(*) from bob_s", 0xab)
	charge("ann", "", 2)
	long := strings.Repeat("ä", 2*MaxText) + "end" // whoever hides what is asked behind blanks hides nothing
	charge("ann", long, 3)
	for i := range 7 { // over a checkpoint, outstanding
		charge("eve", "select 1", byte(10+i))
	}
	if got := texts("ann"); got[0] != "select count(*) from ann_s" || got[1] != "" || len(got[2]) > 2*MaxText || !strings.HasPrefix(long, got[2][:MaxText-40]) || !strings.Contains(got[2], "ä ... (cut; 65539 bytes) ... ä") || !strings.HasSuffix(long, got[2][MaxText+40:]) {
		t.Errorf("ann: %.60q", got)
	}
	if got := texts("bob"); !slices.Equal(got, []string{"select count(*) from bob_s"}) {
		t.Errorf("bob: %q", got)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	l = reopen(t, l, path, demoHead(t), opt)
	all := func(f StatementFilter) (out []string) {
		t.Helper()
		for {
			list, next, err := l.Statements(ctx, "demo", f)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list {
				out = append(out, a.Analyst+": "+a.Text+a.Unread)
			}
			if next == 0 {
				return out
			}
			if f.Before > 0 {
				f.Before = next
			} else {
				f.After = next
			}
		}
	}
	if got := all(StatementFilter{}); len(got) != 11 || got[2] != "ann: no text was stored" {
		t.Errorf("%.60q", got)
	}
	if got := all(StatementFilter{Fingerprint: "ab0"}); !slices.Equal(got, []string{"ann: select count(*) from ann_s", "bob: select count(*) from bob_s"}) {
		t.Errorf("%q", got)
	}
	if got := all(StatementFilter{Analyst: "bob", Fingerprint: "ab"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if got := all(StatementFilter{Text: "FROM b"}); len(got) != 2 || got[0] != "bob: select count(*) from bob_s" || !strings.HasPrefix(got[1], "ann: ä") {
		t.Errorf("%.60q", got) // what was cut from ann's may have it
	}
	if list, _, err := l.Statements(ctx, "demo", StatementFilter{}); err != nil || list[0].Cut || !list[3].Cut {
		t.Errorf("%v: it is not said which is cut", err)
	}
	var stages []Reservation
	for i := range 2*ownChunk + 7 {
		r := count(t, l.Filter(), "eve", 1, 1e-6)
		r.Text, r.Statement = fmt.Sprint("select ", i), Hash{byte(i), byte(i >> 8), 9}
		stages = append(stages, r)
	}
	must(l.ReserveAll(ctx, stages))(t)
	forward := all(StatementFilter{})
	slices.Reverse(forward)
	if got := all(StatementFilter{Before: 1 << 53}); !slices.Equal(got, forward) || len(got) != 11+len(stages) { // the latest first
		t.Errorf("backwards %d of %d", len(got), len(forward))
	}
	if page, next, err := l.Statements(ctx, "demo", StatementFilter{Before: 1 << 53}); err != nil || len(page) > ownChunk+mostBefore || next == 0 {
		t.Errorf("a page of %d, next %d, %v", len(page), next, err)
	}
	end := l.state.seq
	soon, cancel := context.WithTimeout(ctx, time.Minute) // a list that does not end
	defer cancel()
	for _, f := range []StatementFilter{{After: math.MaxInt64}, {After: end}, {Before: math.MinInt64, After: math.MaxInt64 - 1}} {
		if page, next, err := l.Statements(soon, "demo", f); err != nil || len(page) != 0 || next != 0 {
			t.Errorf("%+v: a page of %d, next %d, %v", f, len(page), next, err)
		}
	}
	if page, _, err := l.Statements(soon, "demo", StatementFilter{After: math.MinInt64}); err != nil || len(page) != len(forward) {
		t.Errorf("a page of %d of %d, %v", len(page), len(forward), err)
	}
	l.SetTextKeys([]*Key{testKey(t, 2)}) // wrong
	if got := texts("bob"); got[0] != "" {
		t.Errorf("another key opens %q", got)
	}
	if got := all(StatementFilter{Analyst: "bob"}); !strings.Contains(got[0], "the text needs the key "+testKey(t, 1).Name()) {
		t.Errorf("%q", got)
	}
	l.SetTextKeys([]*Key{testKey(t, 2), testKey(t, 1)}) // newer, and the one before
	charge("bob", "select 2", 4)
	if got := texts("bob"); !slices.Equal(got, []string{"select count(*) from bob_s", "select 2"}) {
		t.Errorf("with both keys %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept(t, path), []byte("bob_s")) {
		t.Error("a text lies in the ledger as it is")
	}
}

// TestTextOfAnother: a text that was put into another analyst's charge, or another question's, cannot be read.
func TestTextOfAnother(t *testing.T) {
	k := testKey(t, 1)
	b := &book{opt: Options{TextKeys: []*Key{k}}}
	c := &Charge{Reservation: Reservation{Payer: Payer{Analyst: "bob"}, Statement: Hash{1}, Text: "select bob"}, Dataset: "demo"}
	s := must(b.sealText(c))(t)
	if text, err := s.open(b.opt.TextKeys, "demo", "bob", Hash{1}); err != nil || text != "select bob" {
		t.Errorf("%q %v", text, err)
	}
	for _, as := range []struct {
		dataset, analyst string
		statement        Hash
	}{{"demo", "ann", Hash{1}}, {"demo", "bob", Hash{2}}, {"other", "bob", Hash{1}}} {
		if text, err := s.open(b.opt.TextKeys, as.dataset, as.analyst, as.statement); err == nil || text != "" {
			t.Errorf("%+v is given %q", as, text)
		}
	}
}

// TestOwnTextsAreBounded: of many long texts the latest are kept at hand.
func TestOwnTextsAreBounded(t *testing.T) {
	p := &payer{}
	var list []*OwnCharge
	for range 40 {
		c := &OwnCharge{sealed: &SealedText{Text: make([]byte, ownTextMost/16)}}
		list = append(list, c)
		p.keepText(c)
	}
	if list[0].sealed != nil || list[23].sealed != nil || list[24].sealed == nil || p.bytes != ownTextMost {
		t.Errorf("%d bytes", p.bytes)
	}
}

// testdata/version5 is a ledger that the program of format 5 wrote on 2026-11-24, at its clock's 2026-11-20: ann 0.5 with a release, bob 0.25 outstanding.
func TestVersion5IsReadOn(t *testing.T) {
	path := tempPath(t)
	copyFile(t, path, "testdata/version5")
	h := &hands{}
	h.set(t, "2026-11-20 13:00")
	opt := h.options()
	opt.TextKeys = []*Key{testKey(t, 1)}
	l := open(t, path, demoHead(t), opt)
	r := count(t, l.Filter(), "ann", 1, 0.5)
	r.Text = "select 1"
	must(l.Reserve(ctx, r))(t)
	if own := must(l.Charges(ctx, "ann"))(t); len(own) != 2 || own[0].Text != "" || own[1].Text != "select 1" {
		t.Errorf("%+v", own)
	}
	if s, ok, err := l.Lookup(ctx, Hash{9}, "bob"); !ok || err != nil || string(s.Payload) != "54,864" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	plain := &Charge{Reservation: r, Epoch: "1", Sealed: &SealedText{Text: []byte("select")}}
	if err := plain.validate(version, l.Filter()); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("a text is not encrypted: %v", err)
	}
}

// TestTextKeyFile: the key's file is made once, of mode 0600; what is no key is told and kept.
func TestTextKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ledger")
	if k, err := TextKey(path); k != nil || err != nil {
		t.Errorf("%v %v", k, err)
	}
	var wg sync.WaitGroup
	keys, made := make([]*Key, 8), make([]bool, 8)
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], made[i], err = MakeTextKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for i, k := range keys {
		if k.Name() != keys[0].Name() {
			t.Error("two keys were made")
		}
		if made[i] {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d made it", n)
	}
	if info := must(os.Stat(path + KeySuffix))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if left := must(os.ReadDir(filepath.Dir(path)))(t); len(left) != 1 {
		t.Errorf("%v", left)
	}
	if err := CopyTextKey(path, path+"2"); err != nil || must(TextKey(path+"2"))(t).Name() != keys[0].Name() {
		t.Errorf("the copy: %v", err)
	}
	if err := errors.Join(os.WriteFile(path+KeySuffix, []byte("no key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := MakeTextKey(path); err == nil || !strings.Contains(err.Error(), "bring it back") {
		t.Error(err)
	}
}

// TestSecret: it is one over restarts, processes and records, and another ledger's is another.
func TestSecret(t *testing.T) { both(t, testSecret) }

func testSecret(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), frequent(dayCache()))
	secret := must(l.Secret(ctx))(t)
	for range 7 {
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t)
	}
	if l.file == nil {
		if beside := must(open(t, path, demoHead(t), dayCache()).Secret(ctx))(t); !bytes.Equal(secret, beside) {
			t.Error("two processes have two secrets")
		}
	}
	l = reopen(t, l, path, demoHead(t), dayCache())
	if again := must(l.Secret(ctx))(t); !bytes.Equal(secret, again) || len(secret) != 32 {
		t.Error("a restart changed it")
	}
	if strings.Contains(t.Name(), "sqlite") {
		if other := must(open(t, tempPath(t), demoHead(t), dayCache()).Secret(ctx))(t); bytes.Equal(secret, other) {
			t.Error("two ledgers have one secret")
		}
	}
}
