package divide_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// TestShowsFirst: which answers are the first rows by one aggregate, and chosen by nothing else.
func TestShowsFirst(t *testing.T) {
	const of = "select kind_id, count(*) as n, sum(days) as s from encounters group by 1"
	for sql, want := range map[string]divide.First{
		of + " order by 2 desc limit 3":        {Rows: 3, Desc: true},
		of + " order by 3, 2 limit 3 offset 2": {Agg: 1, Rows: 5},
		"select kind_id, m from (select kind_id, n as m from (" + of + ") t) u order by m desc limit 1": {Rows: 1, Desc: true},
		"select * from (" + of + " order by n desc limit 2) t order by s":                               {Rows: 2, Desc: true},
		of + " order by 1 limit 3":                                                                         {},
		of + " order by 1, 2 limit 3":                                                                      {},
		"select kind_id, n from (" + of + ") t order by n + 1 limit 3":                                     {},
		of + " having count(*) > 3 order by 2 limit 3":                                                     {},
		"select * from (" + of + " order by n desc limit 4) t order by s limit 1":                          {},
		"select *, case when n > 3 then s end from (" + of + ") t order by n limit 2":                      {},
		"select kind_id, lag(n) over (order by n) from (" + of + ") t order by n limit 2":                  {},
		"select kind_id, (select max(id) from kinds) from (" + of + ") t order by n limit 2":               {},
		of + " order by 2 desc":                                                                            {},
		of + " union all select 9, count(*), sum(days) from encounters order by 2 limit 2":                 {},
		"select t.kind_id, n from (" + of + ") t join kinds k on k.id = t.kind_id order by n desc limit 2": {},
	} {
		p, _, err := dividedIn(neighbour.Clinic+bills+stops+images, sql, options())
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got, ok := p.NoisyRowChoice(); got != want && ok || ok != (want.Rows > 0) {
			t.Errorf("%s: %+v, %t", sql, got, ok)
		}
	}
}
