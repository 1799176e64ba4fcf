package engine_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestBIAnalytic prepares what BI tools send before the demo on both backends, where the shared folder is, and with DPSQL_LONG asks it too: what was
// prepared is answered. Of the statements that are not about rows of persons at least 95 in 100 are answered on PostgreSQL.
func TestBIAnalytic(t *testing.T) {
	f, err := os.Open("../../../shared/clients/bi-analytic.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../shared/clients is not there")
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	type statement struct {
		Client, SQL string
		Refuse      bool `json:"refuse_expected"`
	}
	var list []statement
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var st statement
		if err := json.Unmarshal(sc.Bytes(), &st); err != nil {
			t.Fatal(err)
		}
		list = append(list, st)
	}
	for _, b := range enginetest.Dialects {
		t.Run(b.String(), func(t *testing.T) {
			over := enginetest.DemoDuck(t)
			if b != over.Dialect() {
				over = enginetest.DemoPostgres(t)
			}
			s := enginetest.DemoSession(t, over, "analyst", func(p *policy.Policy) { p.Budget.Epsilon = 1000 })
			answered, asked := 0, 0
			for _, st := range list {
				if !st.Refuse {
					asked++
				}
				p, err := enginetest.Prepare(s, strings.TrimSuffix(st.SQL, ";"))
				if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.ID != sqlerr.Internal.ID {
					if !st.Refuse {
						t.Logf("%s: %s\n%v; %s", st.Client, st.SQL, err, e.Hint)
					}
					continue
				} else if err != nil {
					t.Fatalf("%s: %s\n%v", st.Client, st.SQL, err)
				}
				if os.Getenv("DPSQL_LONG") != "" {
					if _, err := p.Run(t.Context(), nil); err != nil {
						t.Errorf("%s: %s\n%v", st.Client, st.SQL, err)
						continue
					}
				}
				if st.Refuse {
					t.Errorf("%s: rows of persons are shown: %s", st.Client, st.SQL)
				}
				answered++
			}
			least := 95
			if b == funcs.DuckDB { // no division of numerics there
				least = 90
			}
			if asked < 60 || 100*answered < least*asked {
				t.Errorf("%d of %d are answered", answered, asked)
			}
			t.Logf("%d of %d are answered", answered, asked)
		})
	}
}
