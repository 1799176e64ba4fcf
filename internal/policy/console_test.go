package policy

import "testing"

// TestConsole: where the console listens, and that off the machine it needs a certificate.
func TestConsole(t *testing.T) {
	const rest = "dataset: d\nbackend: {duckdb: d}\nunit: people.id\ntables: {people: {columns: {id: {}}}}\nbudget: {epsilon: 1}\nanalysts: {ann: {password: env:NONE}}\n"
	for _, c := range []struct {
		text, listen string
		local        bool
	}{
		{"", "", false},
		{"console: none\n", "", false},
		{"console: {listen: 127.0.0.1:8543}\n", "127.0.0.1:8543", true},
		{"console: {listen: localhost:1}\n", "localhost:1", true},
		{"tls: {cert: c, key: k}\nconsole: {listen: \"0.0.0.0:443\"}\n", "0.0.0.0:443", false},
	} {
		p := parsed("p.yaml", []byte(rest+c.text), func(string) (string, bool) { return "", false }).p
		if p.Console != c.listen || p.Console != "" && p.IsConsoleLocal() != c.local {
			t.Errorf("%q: %q, local %v", c.text, p.Console, p.IsConsoleLocal())
		}
	}
}
