package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestPublicBytes: what is stored of a release of public groups is no longer than was said before its charge, and, with many groups, not much shorter.
func TestPublicBytes(t *testing.T) {
	keys := `CASE WHEN days > 7 THEN '<"long\' || e'é\n\x01' ELSE 'short' END`
	for _, held := range []int64{50_000, 5} {
		s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.SpoolGroups = held }, "{epsilon: 20,", "{epsilon: 2000,", "max_query_price: 5", "max_query_price: 20")
		for _, c := range []struct {
			sql    string
			tight  float64 // bound by size, at most
			groups int
		}{
			{"select gender, ward, count(*) from patients group by 1, 2", 9, 6},
			{"select count(*), sum(big), avg(cost), sum(ratio) from encounters", 9, 1},
			{"select kind_id, days, medications, count(*) from encounters where medications < 40 group by 1, 2, 3", 3, 1000},
			{"select kind_id, days, medications, sum(big), sum(cost), avg(score), sum(free), var_samp(level) from encounters group by 1, 2, 3", 3, 1000},
			{"select kind_id, " + keys + ", count(*), count(distinct medications) from encounters group by 1, 2", 9, 2},
			{"select gender, median(weight), percentile_cont(0.9) within group (order by weight) from patients group by 1", 9, 2},
			{"select days, mode() within group (order by readmitted), dp_top_k(medications, 5), median(cost) from encounters group by 1", 9, 14},
		} {
			for _, epsilon := range []string{"2", "19"} {
				enginetest.Set(t, s, "dpsql.price", epsilon)
				enginetest.Set(t, s, "dpsql.fresh", "on")
				p, err := enginetest.Prepare(s, c.sql)
				if err == nil {
					_, err = enginetest.Try(s, c.sql)
				}
				if err != nil {
					t.Errorf("%s: %v", c.sql, err)
					continue
				}
				one, ok, err := s.Engine.Ledger.Lookup(context.Background(), p.Staged().Key(p.Staged().Stages[0], nil, nil), "ann")
				if err != nil || !ok {
					t.Fatalf("%s: no release: %v", c.sql, err)
				}
				size := int64(len(one.Payload))
				if one.Spool != nil {
					size += one.Spool.Bytes()
					if err := one.Spool.Close(); err != nil {
						t.Error(err)
					}
				}
				an := p.Staged().Stages[0].An
				bound, spooled := release.PublicBytes(an, uint64(held))
				if n := an.Groups.Count; !an.Groups.Public || spooled != (one.Spool != nil) || n < uint64(c.groups) || uint64(size) > bound || float64(bound) > c.tight*float64(size) && n > 500 {
					t.Errorf("%s at %s: %d groups take %d bytes, the bound is %d; spooled %v", c.sql, epsilon, n, size, bound, spooled)
				} else {
					t.Logf("%s: %d groups take %d bytes, the bound is %d", c.sql, n, size, bound)
				}
			}
		}
	}
}

// TestLargeInOnePiece: what a ledger does not store in one piece goes to a spool, whatever number of groups memory may hold; what cannot is refused before it is charged.
func TestLargeInOnePiece(t *testing.T) {
	s := enginetest.Limited(t, func(p *policy.Policy) { p.Limits.SpoolGroups = 100_000_000 }, "query:  {price: 0.5}", "query:  {price: 0.5, max_public_groups: 1000000}")
	from := " from encounters join patients using (patient_id) group by kind_id, days, medications, readmitted, gender, ward"
	var sums, ranks []string
	for i := range 40 {
		sums = append(sums, fmt.Sprintf("sum(cost * %d)", i+2))
		ranks = append(ranks, fmt.Sprintf("percentile_disc(0.%02d) within group (order by medications)", i+10))
	}
	p, err := enginetest.Prepare(s, "select "+strings.Join(sums, ", ")+from)
	if err != nil {
		t.Fatal(err)
	}
	groups := p.Staged().Stages[0].An.Groups.Count
	if l := p.Staged().Spooling(p.Staged().Stages[0]); groups < 100_000 || l.Items != int(groups)-1 {
		t.Errorf("%d of %d groups are held in memory", l.Items, groups)
	}
	if p, err = enginetest.Prepare(s, "select count(*)"+from); err != nil {
		t.Fatal(err)
	}
	if l := p.Staged().Spooling(p.Staged().Stages[0]); l.Items != 100_000_000 {
		t.Errorf("few bytes: %d groups are held in memory", l.Items)
	}
	enginetest.Refused(t, s, "select "+strings.Join(ranks, ", ")+from, sqlerr.TooManyGroups, 0)
}
