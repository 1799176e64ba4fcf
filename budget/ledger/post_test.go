package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// What one proxy posts all over the ledger hear, also after the connections were cut; not those of another ledger in the same database. Nothing of it can be read by who only listens, and what strangers notify is not heard.
func TestPost(t *testing.T) {
	t.Parallel()
	at, both := proxies(t, 2, demoHead(t), Options{})
	other := joined(t, newSchema(t, t.TempDir()+"/shared"), demoHead(t), Options{}, usual)
	listening, stop := context.WithCancel(ctx)
	heard, strange := make(chan string, 100), make(chan string, 100)
	done := make(chan error, 2)
	a, b, c := both[0].Post(), both[1].Post(), other.Post()
	b.idle = 20 * time.Millisecond // it looks often whether its connection lives
	go func() { done <- b.Listen(listening, func(s string) { heard <- s }, func(error) {}) }()
	go func() { done <- c.Listen(listening, func(s string) { strange <- s }, func(error) {}) }()

	reader := must(pgx.Connect(ctx, at.URL))(t)
	defer end(reader)
	for _, p := range []*Post{a, c} {
		if _, err := reader.Exec(ctx, "LISTEN "+p.channel); err != nil {
			t.Fatal(err)
		}
	}
	sent := map[string]bool{}
	// posted sends until it is heard: who does not listen yet misses it. What was sent before may still come.
	posted := func(from *Post, by chan string, text string) {
		t.Helper()
		sent[text] = true
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for range 600 {
			if err := from.Send(ctx, text); err != nil {
				t.Fatal(err)
			}
			for waiting := true; waiting; {
				select {
				case got := <-by:
					if got == text {
						return
					}
					if !sent[got] {
						t.Errorf("heard %q", got)
					}
				case <-again.C:
					waiting = false
				}
			}
		}
		t.Fatalf("%q was never heard", text)
	}
	posted(a, heard, "first")
	posted(c, strange, "elsewhere")
	for _, junk := range []string{"first", "", "AAAA", strings.Repeat("A", 64)} {
		psql(t, at, fmt.Sprintf("SELECT pg_notify('%s', '%s')", a.channel, junk))
	}
	n, err := reader.WaitForNotification(ctx)
	if err != nil || strings.Contains(n.Payload, "first") || n.Channel != a.channel {
		t.Errorf("%+v %v", n, err)
	}
	psql(t, at, fmt.Sprintf("SELECT pg_notify('%s', '%s')", c.channel, n.Payload)) // another ledger's key does not open it
	psql(t, at, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpsql post'")
	posted(a, heard, "second")
	posted(c, strange, "elsewhere again")
	posted(a, heard, strings.Repeat("x", mostPosted))
	if err := a.Send(ctx, strings.Repeat("x", mostPosted+1)); err == nil {
		t.Error("a longer one was sent")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := a.Send(gone, "late"); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
	stop()
	if err := a.Listen(gone, nil, nil); err != nil { // it ends what sends
		t.Error(err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
