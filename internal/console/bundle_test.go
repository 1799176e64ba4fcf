package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourcesHash is that of what the page is built from; build.mjs computes the same.
func sourcesHash(t *testing.T) string {
	t.Helper()
	names := []string{"build.mjs", "package-lock.json", "tsconfig.json"}
	list, err := os.ReadDir("web/src")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, "src/"+e.Name())
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("web", name))
		if err != nil {
			t.Fatal(err)
		}
		hash.Write([]byte(name + "\x00"))
		hash.Write(text)
		hash.Write([]byte{0})
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// TestBundle: what is served was built from the sources beside it, is small, asks no other server, and names the licences of what is in it.
func TestBundle(t *testing.T) {
	all := files()
	if want := []byte("/* sources sha256 " + sourcesHash(t) + " */"); !bytes.HasPrefix(all["/app.js"].plain, want) {
		t.Error("the page is not that of its sources: make console")
	}
	first := 0
	for name, f := range all {
		if !strings.HasPrefix(name, "/chart-") && name != "/" && name != "/licences.txt" {
			first += len(f.zipped)
		}
		for _, loads := range []string{"fetch(\"http", "import(\"http", "src=\"http", "@import", "url(http"} {
			if bytes.Contains(f.plain, []byte(loads)) {
				t.Errorf("%s has %s", name, loads)
			}
		}
	}
	if first > 300_000 {
		t.Errorf("the first page has %d bytes, compressed", first)
	}
	for _, name := range []string{"preact", "@codemirror/view", "@observablehq/plot", "d3-scale"} {
		if !bytes.Contains(all["/licences.txt"].plain, []byte("---- "+name+" ")) {
			t.Errorf("the licence of %s is not listed", name)
		}
	}
}
