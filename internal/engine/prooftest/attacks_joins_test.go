package prooftest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// joinsUnder are the ways to bound joined rows, each with statements that it answers.
var joinsUnder = map[string][]string{
	"elastic":  joinedStatements[:3],
	"truncate": {truncatedStatements[0], truncatedStatements[4], truncatedStatements[5]},
	"weighted": {weightedStatements[0].sql},
	"auto":     {truncatedStatements[0], joinedStatements[2]},
}

// TestAttack10Joins: a group of joined rows tells that somebody has its value: none is shown whose values are not public.
func TestAttack10Joins(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.DeclaredKeys...)
		for bounding := range joinsUnder {
			enginetest.Set(t, s, "dpsql.bounding", bounding)
			if _, err := enginetest.Prepare(s, "select a.diag, count(*) from encounters a join encounters b on a.days = b.days group by 1"); err == nil || bounding != "weighted" && bounding != "truncate" && sqlerr.ID(err) != sqlerr.UnknownGroups.ID {
				t.Errorf("%s: %s: %v", d, bounding, err)
			}
		}
	}
}

// TestAttack11Joins: a join with somebody who has no rows, or of nobody at all, is answered by one number as any other.
func TestAttack11Joins(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.DeclaredKeys...)
		for bounding := range joinsUnder {
			enginetest.Set(t, s, "dpsql.bounding", bounding)
			for _, nobody := range []string{"1", "999999"} {
				rows, err := enginetest.Try(s, "select count(*) from encounters a join encounters b on a.days = b.days where a.patient_id = "+nobody)
				if err != nil || len(rows) != 1 || rows[0][0] == nil {
					t.Errorf("%s: %s: %v, %v", d, bounding, rows, err)
				}
			}
		}
	}
}

// TestAttack12Joins: what is said of joined rows before they are asked, EXPLAIN with the bounds that were not taken and the events, is the same whoever is in the data. The careless proxy says how often the most frequent value occurs.
func TestAttack12Joins(t *testing.T) {
	with, out := naivePair(t)
	succeeds(t, differs(with, out, "select max(n) from (select count(*) n from encounters group by diag) x"))
	for _, d := range enginetest.Dialects {
		for bounding, statements := range joinsUnder {
			said := func(c enginetest.Clinic) asker {
				s := enginetest.ClinicSession(t, c, d, enginetest.DeclaredKeys...)
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				return func(sql string) seen {
					p, err := enginetest.Prepare(s, sql)
					if err != nil {
						return seen{err: everything(err)}
					}
					mp, err := enginetest.PriceOf(s, p.Analysis())
					if err != nil {
						t.Fatal(err)
					}
					return seen{rows: append(through(s)("explain verbose "+sql).rows, []string{fmt.Sprintf("%v %+v", mp.Events(), mp.Loss), fmt.Sprint(p.Columns())})}
				}
			}
			fails(t, differs(said(enginetest.Wild), said(enginetest.WithoutOne), statements...))
		}
	}
}

// TestAttack24Joins: which rows a cap keeps does not follow the heap. The careless proxy keeps the first ones.
func TestAttack24Joins(t *testing.T) {
	enginetest.Wild.Open(t, funcs.Postgres)
	enginetest.Mixed.Open(t, funcs.Postgres)
	succeeds(t, differs(naive(t, "clinic_"+enginetest.Wild.Name), naive(t, "clinic_"+enginetest.Mixed.Name), "select sum(days) from (select days, row_number() over (partition by diag) n from encounters) x where n <= 7"))
	for _, d := range enginetest.Dialects {
		for bounding, statements := range joinsUnder {
			one, other := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.DeclaredKeys...), enginetest.ClinicSession(t, enginetest.Mixed, d, enginetest.DeclaredKeys...)
			enginetest.Set(t, one, "dpsql.bounding", bounding)
			enginetest.Set(t, other, "dpsql.bounding", bounding)
			fails(t, differs(everyTotal(t, one), everyTotal(t, other), slices.Clone(statements)...))
		}
	}
}
