package proxy

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// counts are metrics of a test.
type counts struct {
	mu             sync.Mutex
	opened, closed int
	failed         map[string]int
	statements     map[string]int
	received, sent int
}

func (c *counts) SessionOpened() { c.mu.Lock(); defer c.mu.Unlock(); c.opened++ }
func (c *counts) SessionClosed() { c.mu.Lock(); defer c.mu.Unlock(); c.closed++ }
func (c *counts) LoginFailed(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[code]++
}
func (c *counts) Statement(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements[outcome]++
}
func (c *counts) Bytes(received, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received += received
	c.sent += sent
}

func TestMetrics(t *testing.T) {
	ctx := context.Background()
	e := newScripted()
	m := &counts{failed: map[string]int{}, statements: map[string]int{}}
	addr := startProxy(t, e, Options{Metrics: m})
	conn := dial(t, proxyURL(addr))
	for _, q := range []string{"select 1; select 2; set dpsql.price = 0.5", "select 'é', nope", "select generate_series(1, 100000)"} {
		_, _ = conn.Exec(ctx, q).ReadAll()
	}
	if r := conn.ExecParams(ctx, "select $1::int4 as a", [][]byte{[]byte("7")}, nil, nil, nil).Read(); r.Err != nil {
		t.Fatal(r.Err)
	}
	connectError(t, "postgres://analyst:wrong@"+addr+"/demo?sslmode=disable")
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		over := m.closed == 1
		m.mu.Unlock()
		if over {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the session is not counted as closed")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened != 1 || fmt.Sprint(m.failed) != "map[28P01:1]" || fmt.Sprint(m.statements) != "map[42703:1 ok:5]" || m.received < 300 || m.sent < 100000*10 {
		t.Errorf("%d %v %v %d %d", m.opened, m.failed, m.statements, m.received, m.sent)
	}
}
