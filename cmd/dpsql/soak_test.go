package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const soakPolicy = `
dataset: demo
backend: {postgres: %q, settings: {work_mem: 4MB}}
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}}}
  stays:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 3
    columns: {stay_id: {}, patient_id: {}, days: {range: [0, 30]}}
budget: {epsilon: 10000, delta: 0}
query: {price: 0.01}
listen: 127.0.0.1:%s
socket: %s
limits: {login_time: 5s, write_time: 3s, statement_time: 5s, stop_time: 2s}
analysts:
  ann: {password: %q, may: [patients, stays]}
  bob: {password: %q, may: [patients, stays]}
  abuser: {password: %q, may: [stays]}
`

// soakTime is how long the soak lasts: 30 s in make test with that of two proxies, 10 minutes in make soak.
func soakTime(t testing.TB) time.Duration {
	text := os.Getenv("DPSQL_SOAK")
	if text == "" {
		return 30*time.Second - soakSharedShort
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// soak is a server that is killed and started again, and what was seen of it.
type soak struct {
	t      *testing.T
	dir    string
	config string
	port   string
	pg     *pgtest.Server

	mu      sync.Mutex
	cmd     *exec.Cmd
	gone    chan error // the end of cmd
	killing atomic.Bool
	peak    atomic.Int64 // kB of resident memory, of all processes so far

	seen     map[string]float64 // prices of answers that clients got, by analyst
	answered atomic.Int64
	failed   atomic.Int64
}

const soakEpsilon = 0.01

func newSoak(t *testing.T) *soak {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg := pgtest.Start(t)
	for _, sql := range []string{"CREATE TABLE patients (patient_id integer PRIMARY KEY)",
		"CREATE TABLE stays (stay_id integer PRIMARY KEY, patient_id integer NOT NULL REFERENCES patients, days integer NOT NULL)",
		"INSERT INTO patients SELECT generate_series(1, 500)", "INSERT INTO stays SELECT i, 1 + i % 500, i % 30 FROM generate_series(1, 1000) i"} {
		if err := pg.Exec("postgres", sql); err != nil {
			t.Fatal(err)
		}
	}
	v, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{t: t, dir: dir, config: filepath.Join(dir, "policy.yaml"), port: freePort(t), pg: pg, seen: map[string]float64{}}
	s.write(fmt.Sprintf(soakPolicy, pg.URL("postgres"), s.port, filepath.Join(dir, "sock"), v, v, v))
	s.start()
	return s
}

func (s *soak) write(text string) {
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) addr() string { return "127.0.0.1:" + s.port }

func (s *soak) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killing.Store(false)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.cmd = program(context.Background(), "serve", "--config", s.config)
	s.cmd.Env = append(s.cmd.Env, "GOGC=100") // its memory is looked at; make test has the tests collect less
	s.cmd.Dir, s.cmd.Stderr = s.dir, log
	if err := s.cmd.Start(); err != nil {
		s.t.Error(err)
		return
	}
	_ = log.Close()
	gone := make(chan error, 1)
	s.gone = gone
	go func(cmd *exec.Cmd) {
		err := cmd.Wait()
		if !s.killing.Load() {
			s.t.Errorf("the server ended by itself: %v", err)
		}
		gone <- err
	}(s.cmd)
	for range 2400 { // a signal before it listens could find it before it listens to signals
		if c, err := net.Dial("tcp", s.addr()); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Error("the server does not listen")
}

// memory notes the server's resident memory.
func (s *soak) memory() {
	s.mu.Lock()
	pid := s.cmd.Process.Pid
	s.mu.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return // between two processes
	}
	for _, line := range strings.Split(string(text), "\n") {
		if after, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if kb, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64); err == nil && kb > s.peak.Load() {
				s.peak.Store(kb)
			}
		}
	}
}

// client asks, and counts what it was answered, until ctx ends. Whatever fails, it comes again.
func (s *soak) client(ctx context.Context, user string, number int) {
	n := number * 10_000_000 // no two ask the same: a stored release would answer both, and one paid
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:demo@%s/demo?sslmode=disable", user, s.addr()))
		if err != nil {
			s.expected(err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for ctx.Err() == nil {
			n++
			repeat := n%5 == 0
			id := n
			if repeat {
				id = n - 1
			}
			var count, days int64
			err := conn.QueryRow(ctx, "SELECT count(*), sum(days) FROM stays WHERE stay_id <> $1", -id).Scan(&count, &days)
			if err != nil {
				s.expected(err)
				time.Sleep(20 * time.Millisecond)
				break
			}
			// 2 measures at epsilon 0.005 each: scales 3/0.005 and 90/0.005; beyond 40 scales has probability e^-40.
			if math.Abs(float64(count-1000)) > 40*600 || math.Abs(float64(days-14500)) > 40*18000 {
				s.t.Errorf("%s was told %d, %d", user, count, days)
			}
			s.answered.Add(1)
			time.Sleep(10 * time.Millisecond) // a start reads the whole ledger: it shall not have a million records
			if !repeat {
				s.mu.Lock()
				s.seen[user] += soakEpsilon
				s.mu.Unlock()
			}
		}
		_ = conn.Close(context.Background())
	}
}

// expected are the failures that a client may meet: the server or the database is away, the session was ended, a limit; PV013 after
// several statements that the database was cut off under, until the owner pardons (fault).
func (s *soak) expected(err error) {
	s.failed.Add(1)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && !slices.Contains([]string{"57P01", "PV012", "PV013", "PV016", "PV018", "53300", "57014", "28000"}, pe.Code) {
		s.t.Errorf("an honest client was told %s: %s", pe.Code, pe.Message)
	}
}

// kill ends the server at once, looks at the ledger and starts it again.
func (s *soak) kill() {
	s.mu.Lock()
	before := map[string]float64{}
	for k, v := range s.seen { // what clients saw before is on the ledger, whatever comes now
		before[k] = v
	}
	s.mu.Unlock()
	s.killing.Store(true)
	_ = s.cmd.Process.Kill()
	<-s.gone
	s.verify(before)
	s.start()
}

// verify reads the ledger whole.
func (s *soak) verify(seen map[string]float64) {
	ctx := context.Background()
	l, err := ledger.OpenForOwner(ctx, filepath.Join(s.dir, "demo.ledger"))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer func() { _ = l.Close() }()
	if err := l.Verify(ctx); err != nil {
		s.t.Error(err)
	}
	a, err := l.Accounts()
	if err != nil || len(a.Datasets) != 1 {
		s.t.Errorf("%+v, %v", a, err)
		return
	}
	for user, price := range seen {
		if spent := a.Datasets[0].Analysts[user].Spent.Pure; spent < price*(1-1e-6) {
			s.t.Errorf("%s saw answers worth %g, the ledger says %g", user, price, spent)
		}
	}
}

// fault does one thing that happens to servers.
func (s *soak) fault(rng *rand.Rand) string {
	good, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Error(err)
	}
	owner := func(args ...string) {
		if out, err := program(context.Background(), append(args, "--config", s.config)...).CombinedOutput(); err != nil && !strings.Contains(string(out), "in use") {
			s.t.Errorf("dpsql %v: %v\n%s", args, err, out)
		}
	}
	hangup := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.cmd.Process.Signal(syscall.SIGHUP)
	}
	faults := []struct {
		name string
		do   func()
	}{
		{"kill -9", s.kill},
		{"a broken policy", func() {
			s.write(string(good) + "nonsense: [\n")
			hangup()
			time.Sleep(200 * time.Millisecond)
			s.write(string(good))
		}},
		{"a reload", hangup},
		{"freeze", func() {
			owner("freeze", "abuser")
			owner("freeze", "bob")
			owner("unfreeze", "bob")
			owner("unfreeze", "abuser")
		}},
		{"the database restarts", func() {
			if err := errors.Join(s.pg.StopServer(), s.pg.StartServer()); err != nil {
				s.t.Error(err)
			}
		}},
		{"its connections are cut", func() {
			if err := s.pg.Exec("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"); err != nil {
				s.t.Error(err)
			}
		}},
		{"its schema changes", func() {
			if err := s.pg.Exec("postgres", fmt.Sprintf("CREATE INDEX ON stays (days, stay_id) WHERE days <> %d", rng.IntN(1000))); err != nil {
				s.t.Error(err)
			}
		}},
	}
	f := faults[rng.IntN(len(faults))]
	f.do()
	owner("unfreeze", "ann") // what the faults did to honest analysts is pardoned
	owner("unfreeze", "bob")
	return f.name
}

// TestSoak: honest clients beside an abuser and faults. The server ends only when it is killed, honest clients get answers or
// errors that they can expect, the ledger is whole after each kill and never below what they saw, and memory is bounded.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx, cancel := context.WithCancel(context.Background())
	stopAbuse := startAbuse(t, s.addr())
	var wg sync.WaitGroup
	for i, user := range []string{"ann", "ann", "bob"} {
		wg.Go(func() { s.client(ctx, user, i) })
	}
	done := map[string]int{}
	for end := time.Now().Add(soakTime(t)); time.Now().Before(end); {
		time.Sleep(time.Duration(500+rng.IntN(1500)) * time.Millisecond)
		s.memory()
		done[s.fault(rng)]++
	}
	s.memory()
	stopAbuse()
	cancel()
	wg.Wait()
	s.settle()
	s.killing.Store(true)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.gone; err != nil {
		t.Errorf("the end on SIGTERM: %v", err)
	}
	s.mu.Lock()
	s.verify(s.seen)
	s.mu.Unlock()
	if s.answered.Load() < 20 {
		t.Errorf("%d answers: the soak means nothing", s.answered.Load())
	}
	if peak := s.peak.Load(); peak > maxResident {
		t.Errorf("the server took %d MiB of memory", peak/1024)
	}
	t.Logf("%s: faults %v; honest clients: %d answers, %d failures that they can expect; at most %d MiB resident", soakTime(t), done, s.answered.Load(), s.failed.Load(), s.peak.Load()/1024)
}

// maxResident is what the server may take, in kB: 20 sessions of the abuser, each with its limits of statements and answers.
const maxResident = 1 << 20

// settle waits until the abuse is over for the server too: open files go back to what an idle server has.
func (s *soak) settle() {
	count := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
		if err != nil {
			return 0
		}
		return len(list)
	}
	for range 200 {
		if count() < 40 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Errorf("the server keeps %d files open", count())
}

// startAbuse runs the abuser, as low as the operating system lets it.
func startAbuse(t *testing.T, addr string) (stop func()) {
	t.Helper()
	cmd := exec.Command("nice", "-n", "19", os.Args[0])
	cmd.Env = append(os.Environ(), abuserVariable+"="+addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestAbuseLatency is part of make soak: what the abuse costs another session, as the ratio of median latencies in the same run.
func TestAbuseLatency(t *testing.T) {
	d := soakTime(t)
	if d < time.Minute {
		d = 0 // not in make test: nothing there rests on wall-clock time
	}
	s := newSoak(t)
	time.Sleep(time.Second)
	conn := connect(t, fmt.Sprintf("postgres://ann:demo@%s/demo?sslmode=disable", s.addr()))
	var quiet, noisy []float64
	n := 0
	phase := func(to *[]float64, length time.Duration) {
		for end := time.Now().Add(length); ; {
			n++
			var count int64
			began := time.Now()
			if err := conn.QueryRow(context.Background(), "SELECT count(*) FROM stays WHERE stay_id <> $1", -n).Scan(&count); err != nil {
				t.Fatal(err)
			}
			*to = append(*to, float64(time.Since(began).Microseconds())/1000)
			if time.Now().After(end) {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for end := time.Now().Add(d); ; {
		phase(&quiet, d/20)
		stop := startAbuse(t, s.addr())
		phase(&noisy, d/20)
		s.memory()
		stop()
		if time.Now().After(end) {
			break
		}
	}
	if peak := s.peak.Load(); peak > maxResident {
		t.Errorf("the server took %d MiB of memory", peak/1024)
	}
	a, b := middle(quiet), middle(noisy)
	t.Logf("a charged question, one session: median %.2f ms alone (%d), %.2f ms beside the abuse (%d): ratio %.2f; at most %d MiB resident; 4 abusing hands in a process of nice 19, 2 ms between tricks",
		a, len(quiet), b, len(noisy), b/a, s.peak.Load()/1024)
	s.killing.Store(true)
	_ = s.cmd.Process.Kill()
	<-s.gone
}

func middle(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
