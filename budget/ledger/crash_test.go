package ledger

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/dp"
)

var crashes = flag.Int("crashes", 8, "how often TestCrash kills a ledger's process")

// childPath, when set, makes the test binary the process that is killed.
const childPath = "DPSQL_LEDGER_CRASH_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := spendForEver(path); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	flag.Parse()
	code := m.Run()
	stopServer()
	os.Exit(code)
}

// spendForEver reserves and commits from four sessions, freezes guests from a fifth, and says what a client would have seen: an answer only after
// its commit.
func spendForEver(path string) error {
	t := &testing.T{}
	l, err := OpenSQLite(ctx, path, crashHead(t), frequent(dayCache()))
	if err != nil {
		return err
	}
	r := count(t, l.Filter(), "ann", 1, 0.5)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs = make([]error, 4)

		freezing, staging error
	)
	say := func(text string) {
		mu.Lock()
		fmt.Println(text)
		mu.Unlock()
	}
	spend := func() error {
		id, err := l.Reserve(ctx, r)
		if err != nil {
			return err
		}
		say(fmt.Sprintf("reserved %d", id))
		if err := l.Commit(ctx, id, Release{Key: keyOf(id), Payload: fmt.Appendf(nil, "answer %d", id)}); err != nil {
			return err
		}
		say(fmt.Sprintf("answered %d", id))
		return nil
	}
	both := func() error { // a statement of three stages
		part := r
		part.Analyst = "bob"
		ids, err := l.ReserveAll(ctx, []Reservation{part, part, part})
		if err != nil {
			return err
		}
		say(fmt.Sprintf("together %d", ids[0]))
		return l.Commit(ctx, ids[1], Release{Key: Hash{3}})
	}
	wg.Go(func() {
		for staging == nil {
			staging = both()
		}
	})
	wg.Go(func() {
		for n := l.state.seq; freezing == nil; n++ {
			if freezing = l.Freeze(ctx, fmt.Sprint("guest ", n), "owner"); freezing == nil {
				say(fmt.Sprintf("frozen guest %d", n))
			}
		}
	})
	if err := spend(); err != nil { // so that each child has answered once before it is killed
		return err
	}
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil {
				errs[i] = spend()
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, freezing, staging)...)
}

// crashHead is a budget that lasts for all crashes.
func crashHead(t testing.TB) Head {
	head := pureHead(t, 1e6)
	head.Lifetime = &Lifetime{1e6}
	return head
}

func keyOf(id int64) Hash { return Hash{byte(id), byte(id >> 8), byte(id >> 16), 1} }

// kill -9 at random instants under load: every reservation, answer and freeze that was seen is in the ledger after each, no
// mark is ahead of it, the chain holds, and the spent is at least what clients saw.
func TestCrash(t *testing.T) {
	path := tempPath(t)
	seen := map[string]int{}
	answered := map[int64]bool{}
	frozen := map[string]bool{}
	for n := range *crashes {
		for _, line := range runAndKill(t, path, time.Duration(rand.IntN(40)+1)*time.Millisecond) {
			word, id, _ := strings.Cut(line, " ")
			seen[word]++
			if word == "error" {
				t.Fatal(line)
			}
			if word == "frozen" {
				frozen[id] = true
			}
			if word == "answered" {
				var i int64
				if _, err := fmt.Sscan(id, &i); err != nil {
					t.Fatal(err)
				}
				answered[i] = true
			}
		}
		l := must(OpenSQLite(ctx, path, crashHead(t), frequent(dayCache())))(t)
		if err := l.Verify(ctx); err != nil {
			t.Fatalf("after crash %d: %v", n+1, err)
		}
		one := count(t, l.Filter(), "ann", 1, 0.5)
		least := dp.Loss{}
		for range seen["reserved"] {
			least = least.Plus(one.Loss)
		}
		b := must(l.balance("ann", 1))(t)
		if together := must(l.balance("bob", 1))(t).Analyst.Statements; together%3 != 0 || together < 3*int64(seen["together"]) {
			t.Fatalf("after crash %d: %d stages are charged, of statements of three; clients saw %d statements", n+1, together, seen["together"])
		}
		if b.Dataset.Spent.Pure < least.Pure || b.Analyst.Spent.Pure > b.Dataset.Spent.Pure || b.Analyst.Statements < int64(seen["reserved"]) {
			t.Fatalf("after crash %d: %+v spent of %d statements, clients saw %d", n+1, b.Dataset.Spent, b.Analyst.Statements, seen["reserved"])
		}
		for guest := range frozen {
			if !l.Frozen(guest) {
				t.Fatalf("after crash %d: %s is not frozen any more", n+1, guest)
			}
		}
		for id := range answered {
			s, ok, err := l.Lookup(ctx, keyOf(id), "ann")
			if err != nil || !ok || string(s.Payload) != fmt.Sprint("answer ", id) {
				t.Fatalf("after crash %d: answer %d is %+v %v %v", n+1, id, s, ok, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d crashes, %d reserved, %d answered, %d frozen, %d of three stages", *crashes, seen["reserved"], seen["answered"], seen["frozen"], seen["together"])
}

// runAndKill starts a spending process, kills it that long after its first answer, and gives the whole lines that it said.
func runAndKill(t *testing.T, path string, life time.Duration) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childPath+"="+path)
	out := must(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	head := ""
	for !strings.Contains(head, "answered") {
		line, err := r.ReadString('\n')
		if head += line; err != nil {
			t.Fatalf("the child said %q: %v", head, err)
		}
	}
	timer := time.AfterFunc(life, func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	})
	defer timer.Stop()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended with %v: %s", err, text)
	}
	lines := strings.Split(head+string(text), "\n")
	return lines[:len(lines)-1] // the last one has no end
}
