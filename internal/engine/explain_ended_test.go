package engine_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestExplainEnded: that Gaussian noise ends the plain sum of epsilons is told before it does, not afterwards; of an analyst whose own goes on, that own one. From then on EXPLAIN compares the other noise at the same Renyi loss too.
func TestExplainEnded(t *testing.T) {
	const asked = "select avg(days) from encounters"
	const all, own, same = "from the first Gaussian statement on, the budget counts Renyi losses alone", "From your first Gaussian statement on", "noise at the same Renyi loss"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	bob := enginetest.NewSession(s.Engine, t, "bob")
	told := func(s *session.Session, mechanism string, want ...string) string {
		t.Helper()
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		text := enginetest.Explained(t, s, asked)
		for _, words := range []string{all, own, same} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == words
			}
			if strings.Contains(text, words) != wanted {
				t.Errorf("%s: %q: %s", mechanism, words, text)
			}
		}
		return text
	}
	told(s, "gaussian", all)
	told(s, "laplace")
	enginetest.Ask(t, s, "select count(*) from patients") // pure: the sum goes on
	told(s, "gaussian", all)
	if b, err := s.Balance(); err != nil {
		t.Fatal(err)
	} else if some, ended := b.PureEnded(); some || ended {
		t.Error("Laplace noise ends no plain sum")
	}
	enginetest.Ask(t, s, "select count(*) from encounters")
	if b, err := s.Balance(); err != nil {
		t.Fatal(err)
	} else if some, ended := b.PureEnded(); !some || !ended {
		t.Error("Gaussian noise ends the plain sum")
	}
	told(bob, "gaussian", own, same)
	told(bob, "laplace", same)
	text := told(s, "gaussian", same)
	told(s, "laplace", same)

	number := func(pattern string) float64 {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, text)
		}
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	gauss, laplace := number(`With Gaussian noise at this price: Renyi ([0-9.e-]+)`), number(`same Renyi loss, [^:]*: price [0-9.]+, epsilon [0-9.]+, Renyi ([0-9.e-]+)`)
	if laplace > gauss*1.001 || laplace < 0.97*gauss { // prices are looked for to 0.2%, losses grow with their squares; texts have three digits
		t.Errorf("Renyi %g beside %g: %s", laplace, gauss, text)
	}
	if price, at := number(`same Renyi loss, [^:]*: price ([0-9.]+)`), number(`at this price: epsilon [0-9.]+, Renyi ([0-9.e-]+)`); price <= 0.5 || at >= gauss {
		t.Errorf("Laplace noise loses less at one price: %s", text)
	}
}
