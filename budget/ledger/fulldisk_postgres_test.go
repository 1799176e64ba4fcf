package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestFullDiskOfPostgres: the disk of the ledger's PostgreSQL fills up, or that of its write-ahead log, so that the server crashes. What is not on the ledger was refused, what was charged or released is there once there is room, and all goes on. It mounts a disk of its own, for which one has to be root.
func TestFullDiskOfPostgres(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("it fills a disk of 160 MB: set DPSQL_LONG")
	}
	for _, full := range []string{"data", "pg_wal"} {
		t.Run(full, func(t *testing.T) { fillDisk(t, full) })
	}
}

// fillDisk fills the disk that holds a server's folder, twice.
func fillDisk(t *testing.T, full string) {
	base := must(os.MkdirTemp("", "dpsql-disk-"))(t) // PostgreSQL's user gets no further in t.TempDir
	disk := filepath.Join(base, "disk")
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(disk, 0o755)); err != nil { //nolint:gosec // for PostgreSQL's user
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160m,mode=0777"); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir() // not on that disk
	t.Setenv("TMPDIR", map[string]string{"data": disk, "pg_wal": base}[full])
	s, stop, err := pgtest.StartShared("fsync=on", "full_page_writes=on", "wal_recycle=off", "min_wal_size=32MB", "max_wal_size=64MB")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if full == "pg_wal" {
		wal := must(filepath.Glob(filepath.Join(base, "dpsql-pg-*/data/pg_wal")))(t)
		if err := s.StopServer(); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("sh", "-c", `cp -a "$0" "$1/pg_wal" && rm -r "$0" && ln -s "$1/pg_wal" "$0"`, wal[0], disk).CombinedOutput(); err != nil { //nolint:gosec // the test's own paths
			t.Fatalf("%v: %s", err, out)
		}
		if err := s.StartServer(); err != nil {
			t.Fatal(err)
		}
	}
	at := Server{URL: s.URL("postgres") + "&search_path=ledger", Path: filepath.Join(dir, "ledger")}
	head := pureHead(t, 1e6)
	l := must(OpenPostgres(ctx, at, head, dayCache()))(t)
	reserved, charges, released := 0, map[int64]bool{}, map[Hash]bool{}
	spend := func(bytes int) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		r := count(t, l.Filter(), "ann", 1, 0.1)
		_, _ = rand.Read(r.Statement[:])
		id, err := l.Reserve(ctx, r)
		if err != nil {
			return err
		}
		reserved++
		charges[id] = true
		payload := make([]byte, bytes)
		_, _ = rand.Read(payload)
		if err := l.Commit(ctx, id, Release{Key: r.Statement, Payload: payload}); err != nil {
			return err
		}
		released[r.Statement] = true
		return nil
	}
	holds := func(when string) {
		t.Helper()
		b := must(l.Balance(Payer{Analyst: "ann", Quota: 1e6}))(t)
		if b.Dataset.Statements < int64(reserved) {
			t.Errorf("%s: %d charges on the ledger, %d were made", when, b.Dataset.Statements, reserved)
		}
		for key := range released {
			if _, ok, err := l.Lookup(ctx, key, "ann"); !ok || err != nil {
				t.Fatalf("%s: a release is gone: %v", when, err)
			}
		}
	}
	for range 5 {
		if err := spend(1000); err != nil {
			t.Fatal(err)
		}
	}
	for round, bytes := range []int{1000, 1 << 20} {
		filler := must(os.Create(filepath.Join(disk, "filler")))(t)
		for chunk := make([]byte, 1<<16); ; {
			if _, err := filler.Write(chunk); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		for tries := 0; refused < 2 && tries < 20000; tries++ {
			if err := spend(bytes); err != nil {
				if refused++; refused <= 2 {
					t.Logf("round %d: refused after %d charges: %v", round, reserved, err)
				}
			}
		}
		if refused == 0 {
			t.Fatal("the disk did not fill up")
		}
		if err := errors.Join(filler.Close(), os.Remove(filler.Name())); err != nil {
			t.Fatal(err)
		}
		ended := errors.New("not tried")
		for wait := 0; ended != nil && wait < 100; wait++ {
			if wait == 2 { // it could not recover by itself
				t.Logf("round %d: the server has to be started: %v", round, ended)
				_ = s.StopServer()
				if err := s.StartServer(); err != nil {
					t.Fatal(err)
				}
			}
			if ended = spend(1000); ended != nil {
				time.Sleep(200 * time.Millisecond)
			}
		}
		if ended != nil {
			t.Fatalf("round %d: it does not go on: %v\n%s", round, ended, s.Log())
		}
		holds("where it went on")
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		l = must(OpenPostgres(ctx, at, head, dayCache()))(t)
		holds("opened again")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
