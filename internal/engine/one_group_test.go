package engine_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestOneGroupNote: of unknown groups EXPLAIN and the warning say how many times less noise one group has that a condition names, and it has. Of sums, whose intervals have what bounds cut, it is said as the most. Public groups, and unknown ones of which a person is in one, have no such note.
func TestOneGroupNote(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst", func(p *policy.Policy) {
		p.Query.Bounding, p.Query.MaxGroups = "auto", 0
	}), 5)
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	const groups, one = "select diag_1, count(distinct patient_id) from encounters group by 1", "select count(distinct patient_id) from encounters where diag_1 = '414'"
	note := regexp.MustCompile(`One group alone, by a condition in WHERE, has (up to|about) ([0-9.]+) times less noise`)
	told := func(text, how string) float64 {
		m := note.FindStringSubmatch(text)
		if m == nil || m[1] != how {
			t.Fatal(text)
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	brief := func(sql string) (text string) {
		for _, r := range enginetest.MustTry(t, s, "explain "+sql) {
			text += r[0].(string) + "\n"
		}
		return text
	}
	upTo := told(brief(groups), "up to")
	_, a := enginetest.Ask(t, s, groups)
	about := told(strings.Join(a.Warnings, "\n"), "about")
	if again := told(brief(groups), "about"); again != about || about > upTo {
		t.Errorf("up to %g, about %g, then %g", upTo, about, again)
	}
	scale := func(sql string) float64 {
		enginetest.Ask(t, s, sql)
		_, last := enginetest.Ask(t, s, "select max(scale) from dpsql.last where kind = 'units'")
		return last.Rows[0][0].(float64)
	}
	if got := scale(groups) / scale(one); got < 0.8*about || got > 1.25*about {
		t.Errorf("%g times less noise, told %g", got, about)
	}
	const sums = "select diag_1, sum(medications) from encounters group by 1"
	_, a = enginetest.Ask(t, s, sums) // of which a bound on a person's sum cuts, in one group too
	told(strings.Join(a.Warnings, "\n"), "up to")
	told(brief(sums), "up to")
	for _, sql := range []string{"select readmitted, count(*) from encounters group by 1", "select race, count(*) from patients group by 1", one} {
		if text := brief(sql); note.MatchString(text) {
			t.Errorf("%s: %s", sql, text)
		}
	}
}
