package citustest_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/citustest"
)

const holds = "DPSQL_CITUS_HOLDS" // set in the process that is killed

// TestServersDieWithTheProcess: a test process that is killed leaves no server of its cluster.
func TestServersDieWithTheProcess(t *testing.T) {
	citustest.Skip(t)
	if os.Getenv(holds) != "" {
		c, _, err := citustest.StartShared(1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("ports %d %d\n", c.Port, c.Workers[0].Port)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestServersDieWithTheProcess$")
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // postgres enters them
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Env = append(os.Environ(), holds+"=1", "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ports [2]int
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "ports %d %d", &ports[0], &ports[1]); n == 2 {
			break
		}
	}
	err = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil || ports[1] == 0 {
		t.Fatalf("ports %v: %v", ports, err)
	}
	for _, port := range ports {
		for {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				break
			}
			_ = conn.Close()
			time.Sleep(20 * time.Millisecond)
		}
	}
}
