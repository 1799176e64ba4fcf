package owner

import (
	"context"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/noise"
)

// someWatches are as a server has them.
func someWatches() []*watches.Watch {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	return []*watches.Watch{
		{Owner: "ann", Name: "w", Statement: "SELECT count(*) FROM t WHERE a = 'x\x1b[31m'", Threshold: 1000, Every: 90 * time.Minute, Times: 3, Price: 0.5, State: watches.StateLooking, Looks: 7, Alerts: 1, LastAlert: at, Secret: noise.WatchState{Raised: 41414141}},
		{Owner: "bob", Name: "of another key", State: "kept under a key that is not here"},
	}
}

// TestWatchesOverTheSocket: what a server has of its watches comes over the socket, but for the noise of their thresholds; a terminal is told without control characters.
func TestWatchesOverTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func(l net.Listener) { done <- Serve(ctx, l, &fakeServer{}) }(l)
	c, up := Dial(ctx, path)
	if !up {
		t.Fatal("no server")
	}
	got, err := c.Watches(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := someWatches()
	want[0].Secret = noise.WatchState{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got[0])
	}
	var b strings.Builder
	if err := PrintWatches(&b, got); err != nil {
		t.Fatal(err)
	}
	const text = `    threshold 1000, every 01:30:00, price 0.5: 7 looks, 1 of 3 alerts, the last at 2026-11-30 08:00:00 UTC
bob  of another key  kept under a key that is not here
`
	if !strings.HasPrefix(b.String(), "ann  w  looking\n    SELECT count(*) FROM t WHERE a = 'x") || !strings.HasSuffix(b.String(), text) || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "41414141") {
		t.Errorf("printed:\n%s", b.String())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
