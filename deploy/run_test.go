package deploy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const password = "wordOfAnn"

// certificate is the command of docs/operations.md that makes a certificate to try with.
const certificate = `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout conf/tls/server.key -out conf/tls/server.crt`

// TestDeployCheck does without docker what the Dockerfile and the compose file say: the same build from the same folders, the same
// SQL in a real PostgreSQL, the same policy, environment, user and command line, the same health check. It needs minutes and so
// DPSQL_LONG (make deploy-check, make test-long).
func TestDeployCheck(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("DPSQL_LONG is not set")
	}
	c := &container{t: t, log: &log{}}
	c.dir = shared(t)
	c.build()
	pg := pgtest.Start(t)
	c.initialise(pg)
	c.configure(fmt.Sprintf("127.0.0.1:%d", pg.Port))

	if out, err := c.command("check", "--config", "/etc/dpsql/policy.yaml").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("no mistakes, 0 warnings")) {
		t.Fatalf("dpsql check: %v\n%s", err, out)
	}
	serve := c.command(list(t, one(t, dockerfile(t)[1], "CMD"))...)
	serve.Stderr = c.log
	// The unit's MemoryDenyWriteExecute, which children inherit. Kernels before 6.3 do not know it.
	if err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); err != nil {
		t.Logf("PR_SET_MDWE: %v", err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- serve.Wait() }()
	t.Cleanup(func() { _ = serve.Process.Kill() })
	c.wait("healthy", func() bool { return c.healthy() == nil })

	// A question over TLS, with the server's certificate checked; none without TLS.
	out, err := c.psql("verify-full", "select gender, count(*) from patients group by 1 order by 1")
	if rows := regexp.MustCompile(`(?m)^(f|m),\d+$`).FindAllString(out, -1); err != nil || len(rows) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := c.psql("verify-full", "select w.name, avg(s.days) from stays s join wards w on w.ward_id = s.ward_id group by 1"); err != nil || strings.Count(out, "\n") < 3 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := c.psql("disable", "select 1"); err == nil {
		t.Errorf("without TLS: %s", out)
	}

	// The owner's commands find the server; ExecReload's signal is obeyed.
	out2, err := c.command("budget", "show", "--config", "/etc/dpsql/policy.yaml").CombinedOutput()
	if err != nil || !bytes.Contains(out2, []byte("ann")) {
		t.Errorf("budget show: %v\n%s", err, out2)
	}
	if err := serve.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.wait("reloaded", func() bool { return c.log.has("reloaded") })
	c.private("clinic.ledger", "clinic.ledger.audit.jsonl", "clinic.ledger.sock")

	// Without its database it is not healthy, and lives.
	if err := pg.StopServer(); err != nil {
		t.Fatal(err)
	}
	c.wait("not healthy", func() bool { return c.healthy() != nil })
	if err := pg.StartServer(); err != nil {
		t.Fatal(err)
	}
	c.wait("healthy again", func() bool { return c.healthy() == nil })

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("after STOPSIGNAL: %v\n%s", err, c.log)
		}
	case <-time.After(composeFile(t).Services["dpsql"].StopGracePeriod):
		t.Error("docker would have killed it")
	}
	if text := c.log.String(); strings.Contains(text, password) || strings.Contains(text, "SCRAM-SHA-256$") {
		t.Errorf("the log holds a secret:\n%s", text)
	}
	for line := range strings.Lines(c.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// container is a folder in place of a container's file system, and a user in place of its.
type container struct {
	t               *testing.T
	dir             string
	env             []string
	listen, metrics string // ports in place of 6543 and 9187
	log             *log
}

// shared is a temporary folder with a short name that other users may enter.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "deploy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, d := range []string{"", "src", "out", "conf", "conf/tls", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// build runs the Dockerfile's go build on what the Dockerfile copies, and compares what the program is linked with to what the image
// has.
func (c *container) build() {
	c.t.Helper()
	for _, s := range sources(c.t) {
		c.run("", "cp", "-a", filepath.Join(root, s), filepath.Join(c.dir, "src"))
	}
	command := strings.ReplaceAll(buildCommand(c.t), "/out/dpsql", filepath.Join(c.dir, "out/dpsql"))
	build := exec.Command("/bin/sh", "-c", command)
	build.Dir, build.Env = filepath.Join(c.dir, "src"), append(os.Environ(), "VERSION=v0.0.0-check")
	if out, err := build.CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	c.t.Setenv("LC_ALL", "C")
	for line := range strings.Lines(c.run("", "ldd", filepath.Join(c.dir, "out/dpsql"))) {
		lib := filepath.Base(strings.Fields(line)[0])
		name, _, _ := strings.Cut(lib, ".so")
		if !slices.Contains([]string{"linux-vdso", "ld-linux-x86-64", "ld-linux-aarch64", "libc", "libm", "libgcc_s", "libstdc++"}, name) {
			c.t.Errorf("the image may lack %s", lib)
		}
	}
	if out, err := c.command("version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "dpsql v0.0.0-check (go") {
		c.t.Errorf("%v\n%s", err, out)
	}
}

// initialise runs init.sql as the image of PostgreSQL does (its docker-entrypoint.sh, docker_process_sql).
func (c *container) initialise(pg *pgtest.Server) {
	c.t.Helper()
	if err := pg.CreateDB("clinic"); err != nil {
		c.t.Fatal(err)
	}
	psql := exec.Command("psql", "-v", "ON_ERROR_STOP=1", "--no-psqlrc", "--no-password", "-d", pg.URL("clinic"), "-f", "init.sql")
	psql.Env = append(os.Environ(), "READER_PASSWORD="+password)
	if out, err := psql.CombinedOutput(); err != nil {
		c.t.Fatalf("init.sql: %v\n%s", err, out)
	}
	// The test's server asks nobody for a password; the container's does.
	if err := pg.Exec("clinic", "DO $$ BEGIN ASSERT (SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'dpsql_reader'); END $$"); err != nil {
		c.t.Errorf("the reader has no password: %v", err)
	}
}

// configure makes the folders that the compose file mounts, as docs/operations.md says to.
func (c *container) configure(database string) {
	c.t.Helper()
	c.listen, c.metrics = freePort(c.t), freePort(c.t)
	text := read(c.t, "conf/policy.yaml")
	for old, now := range map[string]string{"/var/lib/dpsql/": filepath.Join(c.dir, "state") + "/", "0.0.0.0:6543": "0.0.0.0:" + c.listen, "0.0.0.0:9187": "127.0.0.1:" + c.metrics} {
		if strings.Count(text, old) != 1 {
			c.t.Errorf("the policy has %d times %s", strings.Count(text, old), old)
		}
		text = strings.Replace(text, old, now, 1)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "conf/policy.yaml"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	c.run(c.dir, strings.Fields(certificate)...)
	if !strings.Contains(strings.ReplaceAll(read(c.t, "../docs/operations.md"), " \\\n    ", " "), certificate) {
		c.t.Error("docs/operations.md makes the certificate in another way")
	}
	if err := os.Chmod(filepath.Join(c.dir, "state"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if u := imageUser(); u != nil {
		for _, f := range []string{"conf/tls/server.key", "state"} {
			if err := os.Chown(filepath.Join(c.dir, f), int(u.Uid), int(u.Gid)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	for name, value := range environment(c.t, password, database) {
		c.env = append(c.env, name+"="+value)
	}
}

// imageUser is the image's, where the test may become another user.
func imageUser() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 10001, Gid: 10001}
}

// command is one of the image's ENTRYPOINT, as its user with its environment.
func (c *container) command(args ...string) *exec.Cmd {
	for i, a := range args {
		args[i] = strings.Replace(a, "/etc/dpsql", filepath.Join(c.dir, "conf"), 1)
	}
	cmd := exec.Command(filepath.Join(c.dir, "out/dpsql"), args...)
	cmd.Dir, cmd.Env = filepath.Join(c.dir, "state"), append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, c.env...)
	if u := imageUser(); u != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u}
		if len(c.env) == 0 { // before the folder is the user's
			cmd.Dir = c.dir
		}
	}
	return cmd
}

// healthy runs the image's health check.
func (c *container) healthy() error {
	words := healthCommand(c.t)
	for i := range words {
		words[i] = strings.Replace(words[i], "/9187 ", "/"+c.metrics+" ", 1)
	}
	return exec.Command(words[0], words[1:]...).Run()
}

// psql asks over the wire as ann.
func (c *container) psql(sslmode, sql string) (string, error) {
	dsn := fmt.Sprintf("host=localhost port=%s user=ann dbname=clinic sslmode=%s sslrootcert=%s", c.listen, sslmode, filepath.Join(c.dir, "conf/tls/server.crt"))
	cmd := exec.Command("psql", "-X", "--csv", "-v", "ON_ERROR_STOP=1", "-c", sql, dsn)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// private asks that files of the state folder be their owner's alone.
func (c *container) private(files ...string) {
	c.t.Helper()
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(c.dir, "state", f)); err != nil || info.Mode().Perm() != 0o600 {
			c.t.Errorf("%s: %v, %v", f, info, err)
		}
	}
	for _, f := range []string{"clinic.ledger", "clinic.ledger-mark"} {
		if _, err := os.Stat(filepath.Join(c.dir, "state", f)); errors.Is(err, fs.ErrNotExist) {
			c.t.Error(err)
		}
	}
}

func (c *container) wait(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("it did not become %s\n%s", what, c.log)
		}
	}
}

func (c *container) run(dir string, words ...string) string {
	c.t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return port
}

// log is what the program wrote so far.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// has reports a message.
func (l *log) has(msg string) bool {
	sc := bufio.NewScanner(strings.NewReader(l.String()))
	for sc.Scan() {
		var line struct{ Msg string }
		if json.Unmarshal(sc.Bytes(), &line) == nil && line.Msg == msg {
			return true
		}
	}
	return false
}
