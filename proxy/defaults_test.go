package proxy

import (
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
)

// TestDefaultsAreThePolicys: a proxy without options is limited as docs/configuration.md says of a policy without limits.
func TestDefaultsAreThePolicys(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := policy.DefaultLimits()
	for name, same := range map[string]bool{
		"message": o.MaxMessage == int(l.Message), "sessions": o.MaxSessions == int(l.Sessions), "sessions_per_analyst": o.MaxSessionsPerUser == int(l.SessionsPerAnalyst),
		"prepared_statements": o.MaxStatements == int(l.PreparedStatements), "portals": o.MaxPortals == int(l.Portals),
		"statement_memory": o.MaxStatementBytes == int(l.StatementMemory), "answer_memory": o.MaxAnswerBytes == int(l.AnswerMemory), "all_answer_memory": o.MaxAllAnswers == int(l.AllAnswerMemory),
		"waiting_logins": o.MaxPreAuth == int(l.WaitingLogins), "login_time": o.LoginTimeout == l.LoginTime, "idle_time": o.IdleTimeout == l.IdleTime,
		"write_time": o.WriteTimeout == l.WriteTime, "stop_time": o.StopGrace == l.StopTime,
	} {
		if !same {
			t.Errorf("%s: the proxy's default is not the policy's", name)
		}
	}
}
