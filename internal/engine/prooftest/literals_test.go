package prooftest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

// TestLiteralNeighbours: where groups are those of VALUES and generate_series, one unit changes no total by more than is claimed, on both backends. Where a unit's groups are counted by them,
// the print filters rows to them: without the condition that leaves a group out nothing changes, and without the filter too a unit is in more groups than is claimed.
func TestLiteralNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		full := 0
		for _, sql := range neighbour.Literals {
			shares := map[string]float64{}
			for _, groups := range []string{"1", "4"} {
				enginetest.Set(t, s, "dpsql.max_groups", groups)
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %s: %v", d, sql, err)
				}
				if !p.Analysis().Groups.Public {
					t.Errorf("%s: the groups of %s are not public", d, sql)
				}
				says := claimed(t, p)
				share, known := shares[says]
				if !known {
					if share, err = compareClinics(t, p, nil); err != nil {
						t.Errorf("%s: %s: %v", d, sql, err)
					}
					shares[says] = share
				}
				if share == 1 {
					full++
				}
			}
		}
		if full < 6 {
			t.Errorf("%s: only %d statements use their whole claim", d, full)
		}
		p, err := enginetest.Prepare(s, neighbour.LiteralFiltered)
		if err != nil {
			t.Fatal(err)
		}
		if src := p.Analysis().Groups.Sources; len(src) != 1 || len(src[0].Tuples) != 2 || !src[0].Counts || p.Analysis().Limit.Capped {
			t.Fatalf("%s: %+v, %+v", d, src, p.Analysis().Limit)
		}
		condition, filter := regexp.MustCompile(` AND \(\("t2"\."c2".*? <> .*?\)\)\)`), regexp.MustCompile(` AND "t2"\."c2".*? IN \(.*?\)\)`)
		var printed string
		for _, drop := range []struct {
			list  []*regexp.Regexp
			leaks bool
		}{{[]*regexp.Regexp{condition}, false}, {[]*regexp.Regexp{condition, filter}, true}} {
			_, err := compareClinics(t, p, func(sql string) string {
				for _, re := range drop.list {
					cut := re.ReplaceAllString(sql, "")
					if cut == sql {
						t.Fatalf("%s: %s is not in %s", d, re, sql)
					}
					sql = cut
				}
				printed = sql
				return sql
			})
			if (err != nil) != drop.leaks || err != nil && strings.Contains(err.Error(), "SQLSTATE") {
				t.Errorf("%s: %v\n%s", d, err, printed)
			}
		}
	}
}
