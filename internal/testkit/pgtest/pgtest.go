// Package pgtest starts a real PostgreSQL for tests: a fresh cluster in a temporary folder, on a free port of 127.0.0.1, with
// durability off. jit is off, as on dpsql's own connections: it compiles for longer than a test's rows take. The package is
// imported by test files only and is no part of the product. Where the test process dies without stopping it, the server dies too.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const startTimeout = 60 * time.Second

// Server is one running PostgreSQL. Its superuser is "postgres", without a password.
type Server struct {
	Port int

	bin, dir string
	settings []string // after pgtest's own
	cred     *syscall.Credential
	cmd      *exec.Cmd
	stdin    io.Closer // closing it stops the server
}

// Start starts a server that is stopped, and its folder removed, at the end of the test. Settings ("fsync=on") overrule pgtest's own.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, stop, err := StartShared(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return s
}

// StartShared starts a server for TestMain: the caller calls stop before it exits.
func StartShared(settings ...string) (s *Server, stop func(), err error) {
	bin, err := findBin()
	if err != nil {
		return nil, nil, err
	}
	cred, err := credential()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "dpsql-pg-")
	if err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	s = &Server{bin: bin, dir: dir, cred: cred, settings: settings}
	stop = func() {
		_ = s.StopServer()
		_ = os.RemoveAll(dir)
	}
	if err := s.initCluster(); err != nil {
		stop()
		return nil, nil, err
	}
	if err := s.startOnFreePort(); err != nil {
		stop()
		return nil, nil, err
	}
	return s, stop, nil
}

func (s *Server) initCluster() error {
	if s.cred != nil {
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	cmd := s.command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return s.configure()
}

// configure writes the settings into the server's file, so that ALTER SYSTEM may change them. The last one counts.
func (s *Server) configure() (err error) {
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, set := range append([]string{"fsync=off", "synchronous_commit=off", "full_page_writes=off", "jit=off"}, s.settings...) {
		name, value, _ := strings.Cut(set, "=")
		if _, err := fmt.Fprintf(f, "%s = '%s'\n", name, value); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	return nil
}

// startOnFreePort retries: between our look at a free port and PostgreSQL's, somebody else may take it.
func (s *Server) startOnFreePort() error {
	var err error
	for range 3 {
		if s.Port, err = freePort(); err != nil {
			return err
		}
		if err = s.StartServer(); err == nil {
			return nil
		}
	}
	return err
}

// StartServer starts the server again after StopServer, on the same port and data.
func (s *Server) StartServer() error {
	log, err := os.Create(s.logFile())
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	// The shell holds our pipe: when it closes, by us or by our death, the server is shut down at once.
	cmd := s.command("/bin/sh", "-c", `"$@" & pid=$!; read -r _; kill -QUIT $pid; wait $pid`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.Port), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "max_wal_size=4GB", "-c", "autovacuum=off", "-c", "log_checkpoints=off")
	cmd.Stdout, cmd.Stderr = log, log
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	s.cmd = cmd
	if err := s.waitReady(); err != nil {
		_ = s.StopServer()
		return fmt.Errorf("pgtest: the server did not come up: %w\n%s", err, s.Log())
	}
	return nil
}

// StopServer shuts the server down at once, breaking its connections; the data stays.
func (s *Server) StopServer() error {
	if s.cmd == nil {
		return nil
	}
	_ = s.stdin.Close()
	err := s.cmd.Wait()
	s.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) { // an immediate shutdown is no clean exit
		return nil
	}
	return err
}

func (s *Server) waitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if text := s.Log(); fatalStart(text) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL is the superuser's connection string for a database; "postgres" always exists.
func (s *Server) URL(db string) string { return s.url("postgres", db) }

// ReaderURL is the connection string of dpsql_reader, who may only read what LoadDemo or LoadTPCH loaded.
func (s *Server) ReaderURL(db string) string { return s.url(Reader, db) }

func (s *Server) url(user, db string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, s.Port, db)
}

// Log is the server's log so far.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true} // a ^C at the tests is ours to handle
	return cmd
}

// findBin gives the folder of initdb and postgres: from PATH, or Debian's newest.
func findBin() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	if len(found) == 0 {
		return "", errors.New("pgtest: PostgreSQL's initdb was not found in PATH or /usr/lib/postgresql: run `make deps`")
	}
	major := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p))))
		return n
	}
	sort.Slice(found, func(i, j int) bool { return major(found[i]) > major(found[j]) })
	return filepath.Dir(found[0]), nil
}

// credential is who runs the server: PostgreSQL refuses root.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("pgtest: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
