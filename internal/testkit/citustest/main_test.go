package citustest_test

import (
	"maps"
	"os"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/citustest"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

var shared struct {
	once    sync.Once
	cluster *citustest.Cluster
	stop    func()
	err     error
}

func TestMain(m *testing.M) {
	code := enginetest.Main(m)
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// cluster is the test binary's one cluster: a coordinator and two workers.
func cluster(t testing.TB) *citustest.Cluster {
	t.Helper()
	citustest.Skip(t)
	shared.once.Do(func() { shared.cluster, shared.stop, shared.err = citustest.StartShared(2) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// database makes one of statements on the cluster, distributes its tables between the first ones and the rest, and looks whether they are.
func database(t testing.TB, name string, create []string, tables [][2]string, fill []string) {
	t.Helper()
	c := cluster(t)
	if err := c.CreateDB(name); err != nil {
		t.Fatal(err)
	}
	run := func(list []string) {
		for _, s := range list {
			if err := c.Exec(name, s); err != nil {
				t.Fatalf("%v\n%.300s", err, s)
			}
		}
	}
	run(create)
	if err := c.Distribute(name, tables); err != nil {
		t.Fatal(err)
	}
	run(fill)
	want := map[string]string{}
	for _, d := range tables {
		want[d[0]] = d[1]
	}
	if got, err := c.Spread(name); err != nil || !maps.Equal(got, want) {
		t.Fatalf("tables lie as %v, want %v: %v", got, want, err)
	}
}
