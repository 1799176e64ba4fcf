package proxy

import "testing"

// TestResetToWhatIsAllowed: after a reload that no longer allows an option of the connection, RESET, SET TO DEFAULT and DISCARD ALL give the policy's value, and fail in nothing.
func TestResetToWhatIsAllowed(t *testing.T) {
	e := &scriptedSession{values: map[string]string{"dpsql.price": "0.5"}}
	s := &settings{engine: e, startEngine: []engineSetting{{"dpsql.price", []string{"99"}}}}
	s.resetAll()
	if got := e.values["dpsql.price"]; got != "0.1" {
		t.Errorf("RESET ALL: %s", got)
	}
	e.values["dpsql.price"] = "0.5"
	if err := s.reset("dpsql.price", false); err != nil || e.values["dpsql.price"] != "0.1" {
		t.Errorf("RESET: %v, %s", err, e.values["dpsql.price"])
	}
}
