package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The key of stored releases comes from a file beside the policy or from the environment, never from the policy itself, and is in no message.
func TestReleaseKey(t *testing.T) {
	dir, good := t.TempDir(), strings.Repeat("0a", 32)
	t.Setenv("RELEASE_KEY", good)
	t.Setenv("SHORT_KEY", good[2:])
	for name, text := range map[string]string{"key": good + "\n", "zeros": strings.Repeat("0", 64), "text": "secret"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(key string) (*Policy, error) {
		text := strings.Replace(with("backend: {duckdb: d.duckdb}\ncache: {key: '"+key+"'}"), "env:VERIFIER", `"`+testVerifier+`"`, 1)
		if err := os.WriteFile(dir+"/p.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(dir + "/p.yaml")
	}
	for _, key := range []string{"file:key", "env:RELEASE_KEY"} {
		p, err := load(key)
		if err != nil || string(p.Cache.Key) != strings.Repeat("\n", 32) {
			t.Fatalf("%s: %v", key, err)
		}
		if said := fmt.Sprintf("%v %+v %#v", p.Cache, p.Cache, p.Cache); !strings.Contains(said, "(secret)") || strings.Contains(said, "\n") {
			t.Errorf("it is printed: %s", said)
		}
	}
	for key, want := range map[string]string{
		good: "not stand in the policy", "file:zeros": "32 random bytes", "file:text": "32 random bytes", "file:none": "no such file",
		"env:SHORT_KEY": "32 random bytes", "env:NO_KEY": "NO_KEY is not set",
	} {
		if _, err := load(key); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), good[2:]) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
