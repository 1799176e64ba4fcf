package citustest_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// printed is a statement as the backend was asked it.
type printed struct {
	sql  string
	args []backend.Arg
}

// recorder is a backend that keeps what it was asked.
type recorder struct {
	backend.Backend
	mu    sync.Mutex
	asked []printed
}

func (r *recorder) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := r.Backend.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return recordedTx{tx, r}, nil
}

type recordedTx struct {
	backend.Tx
	r *recorder
}

func (t recordedTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	t.r.mu.Lock()
	t.r.asked = append(t.r.asked, printed{sql, args})
	t.r.mu.Unlock()
	return t.Tx.Query(ctx, sql, args, want)
}

// leaks explains what was asked since the last call: how rows of people would leave the workers.
func (r *recorder) leaks(t testing.TB) (out []string) {
	t.Helper()
	r.mu.Lock()
	asked := r.asked
	r.asked = nil
	r.mu.Unlock()
	for _, p := range asked {
		text := explain(t, r.Backend, p)
		for _, leak := range leaving(text) {
			out = append(out, leak+"\n"+p.sql+"\n"+text)
		}
	}
	return out
}

// explain is EXPLAIN (VERBOSE) of a statement.
func explain(t testing.TB, b backend.Backend, p printed) string {
	t.Helper()
	rows, err := backendtest.Ask(context.Background(), b, "EXPLAIN (VERBOSE, COSTS OFF) "+p.sql, p.args, sqltype.Text)
	if err != nil {
		t.Fatalf("%s: %s", backendtest.Cause(err), p.sql)
	}
	var lines strings.Builder
	for _, row := range rows {
		fmt.Fprintln(&lines, row[0])
	}
	return lines.String()
}

var (
	// task is the node that runs on a worker, with what EXPLAIN says of it before the nodes below it.
	task      = regexp.MustCompile(`(?m)^ +Node: .*\n +->  (.*)\n((?: +[A-Z][A-Za-z ]*: .*\n)*)`)
	aggregate = regexp.MustCompile(`^(Finalize |Partial )?(Hash|Group|Mixed)?Aggregate|^Group$`)
	groupKey  = regexp.MustCompile(`(?m)^ +Group Key: (.*)$`)
	person    = regexp.MustCompile(`\b(u|patient_id|[col]_custkey)\b`)
	ofPeople  = regexp.MustCompile(`(?i)\b(patients|encounters|prescriptions|labs|visits|stays|customer|orders|lineitem)_\d+\b`)
)

// leaving says what leaves the workers beside totals of groups, by EXPLAIN (VERBOSE): each task that reads rows of people must end
// in an aggregate, and not in one for each person.
func leaving(text string) (out []string) {
	for _, one := range strings.Split(text, "->  Task\n")[1:] {
		if !ofPeople.MatchString(one) {
			continue
		}
		m := task.FindStringSubmatch(one)
		if m == nil {
			out = append(out, "no node of a task is shown")
			continue
		}
		key := groupKey.FindStringSubmatch(m[2])
		switch {
		case !aggregate.MatchString(m[1]):
			out = append(out, "a task ends in "+m[1])
		case key != nil && person.MatchString(key[1]):
			out = append(out, "a task aggregates by "+key[1])
		}
	}
	return out
}
