package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/owner"
)

// TestBudgetShow: every analyst of the policy is shown with quota, grant, what was spent and is left, beside a server and without one alike.
func TestBudgetShow(t *testing.T) {
	path := smallServer(t, 2, 0.25)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^  analyst: .*\n`).Find(text)
	quiet := strings.Replace(strings.Replace(string(line), "analyst:", "quiet:", 1), "{", "{budget: {epsilon: 0.5}, ", 1)
	named := strings.Replace(quiet, "quiet:", "asks:", 1)
	body := strings.Replace(string(text), "delta: 0}", "delta: 0, per: year, lifetime: 20}", 1) + quiet + named
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "query", "select count(*) from stays", "--analyst", "asks", "--config", path)
	output(t, "budget", "grant", "quiet", "--epsilon", "1", "--reason", "thesis", "--config", path)
	out, err := program(t.Context(), "budget", "grant", "analyst", "--epsilon", "1", "--reason", "thesis", "--config", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "has no quota") {
		t.Errorf("%v\n%s", err, out)
	}
	alone := output(t, "budget", "show", "--config", path)
	asJSON := output(t, "budget", "show", "--json", "--config", path)
	s := serveDir(t, path)
	defer s.kill()
	if beside := output(t, "budget", "show", "--config", path); beside != alone {
		t.Errorf("without a server\n%s\nbeside one\n%s", alone, beside)
	}
	if beside := output(t, "budget", "show", "--json", "--config", path); beside != asJSON {
		t.Errorf("without a server\n%s\nbeside one\n%s", asJSON, beside)
	}
	for _, want := range []string{`(?m)^  \(everybody\) +12\.5 % +2 +0 +0\.25 +1\.75 .* 1 +7 +0$`, `(?m)^  analyst +0 % +2 +1 +0 +1\.75 .* 0 +7 +0$`, `(?m)^  asks +50 % +0\.5 +0 +0\.25 +0\.25 .* 1 +1 +0$`,
		`(?m)^  quiet +0 % +0\.5 +1 +0 +1\.5 .* 0 +[56] +0$`, `when it comes back`} {
		if !regexp.MustCompile(want).MatchString(alone) {
			t.Errorf("no %s in\n%s", want, alone)
		}
	}
	for _, e := range []string{"NaN", "+Inf", "-1", "0"} {
		if said := failing(t, "budget", "grant", "quiet", "--epsilon", e, "--reason", "r", "--config", path); !strings.Contains(said, "a grant is a number above 0") {
			t.Error(said)
		}
	}
	if said := failing(t, "budget", "grant", "quiet", "--epsilon", "1e-320", "--reason", "r", "--config", path); !strings.Contains(said, "lets nobody ask anything") {
		t.Error(said)
	}
	var b owner.Budget
	if err := json.Unmarshal([]byte(asJSON), &b); err != nil {
		t.Fatal(err)
	}
	for _, a := range b.Datasets[0].Accounts {
		if a.Quota == nil || a.Renews == nil || a.PureLeft == nil || a.PureRoom > 2 {
			t.Errorf("%+v", a)
		}
	}
}
