package console

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/proxy"
)

// BenchmarkUsers: what 50 users of the console take in memory, and what their statements cost a client of the proxy in time.
func BenchmarkUsers(b *testing.B) {
	const users, asks = 50, 200
	s := serve(b, clinic(b), func(_ *Options, p *proxy.Options) { p.MaxSessionsPerUser = 2 * users })
	conn, err := pgconn.Connect(b.Context(), fmt.Sprintf("postgres://ann:demo@%s/clinic?sslmode=disable", s.wire))
	if err != nil {
		b.Fatal(err)
	}
	const sql = "SELECT gender, count(*) FROM patients GROUP BY gender"
	latency := func() time.Duration {
		took := make([]time.Duration, asks)
		for i := range took {
			began := time.Now()
			if res := conn.ExecParams(b.Context(), sql, nil, nil, nil, nil).Read(); res.Err != nil {
				b.Fatal(res.Err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		return took[asks*95/100]
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	latency() // asks once, and fills what is kept
	for b.Loop() {
		alone, before := latency(), heap()
		var list []*browser
		for range users {
			u := s.login(b, "bob")
			u.ask("schema", "")
			u.run(sql)
			list = append(list, u)
		}
		each := float64(heap()-before) / users
		stop := make(chan struct{})
		var asking sync.WaitGroup
		for _, u := range list {
			asking.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(500 * time.Millisecond): // somebody who types
						u.ask("explain", sql)
					}
				}
			})
		}
		beside := latency()
		close(stop)
		asking.Wait()
		for _, u := range list {
			u.ask("logout", "")
		}
		b.ReportMetric(each/1024, "kB/user")
		b.ReportMetric(float64(alone.Microseconds())/1000, "ms-alone/p95")
		b.ReportMetric(float64(beside.Microseconds())/1000, "ms-beside/p95")
	}
}
