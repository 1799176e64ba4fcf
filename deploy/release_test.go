package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// releaseVersion is the one that CHANGELOG.md names first.
func releaseVersion(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(read(t, filepath.Join(root, "CHANGELOG.md")))
	if found == nil {
		t.Fatal("CHANGELOG.md names no version")
	}
	return found[1]
}

// output is what a command prints.
func output(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// TestReleaseCheck makes a release and looks at it: the archive's and the package's program runs, says its version and has no symbols; each command has a man page that man reads; the package has the unit with its own path, completions,
// the copyright and what the program is linked with. It needs minutes and so DPSQL_LONG (make deploy-check). DPSQL_DIST names a folder that make release has made already.
func TestReleaseCheck(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("DPSQL_LONG is not set")
	}
	version := releaseVersion(t)
	dist := os.Getenv("DPSQL_DIST")
	if dist == "" {
		output(t, root, "make", "release")
		dist = filepath.Join(root, "dist")
	}
	output(t, dist, "sha256sum", "--check", "--strict", "SHA256SUMS")
	arch := strings.TrimSpace(output(t, ".", "dpkg", "--print-architecture"))
	dir := t.TempDir()

	name := "dpsql-" + version + "-linux-" + arch
	output(t, dir, "tar", "-xzf", absolute(t, dist, name+".tar.gz"))
	checkProgram(t, filepath.Join(dir, name, "dpsql"), version)

	deb := absolute(t, dist, "dpsql_"+version+"_"+arch+".deb")
	if got := output(t, ".", "dpkg-deb", "--field", deb, "Package", "Version", "Architecture"); got != "Package: dpsql\nVersion: "+version+"\nArchitecture: "+arch+"\n" {
		t.Error(got)
	}
	files := filepath.Join(dir, "deb")
	output(t, ".", "dpkg-deb", "--extract", deb, files)
	checkProgram(t, filepath.Join(files, "usr/bin/dpsql"), version)
	checkLinks(t, filepath.Join(files, "usr/bin/dpsql"), output(t, ".", "dpkg-deb", "--field", deb, "Depends"))
	if unit := read(t, filepath.Join(files, "lib/systemd/system/dpsql.service")); unit != strings.Replace(read(t, "dpsql.service"), "/usr/local/bin/dpsql", "/usr/bin/dpsql", 1) {
		t.Errorf("the package's unit is\n%s", unit)
	}
	for _, want := range []string{"usr/share/bash-completion/completions/dpsql", "usr/share/zsh/vendor-completions/_dpsql", "usr/share/fish/vendor_completions.d/dpsql.fish", "usr/share/doc/dpsql/copyright"} {
		if len(read(t, filepath.Join(files, want))) < 1000 {
			t.Errorf("%s is short", want)
		}
	}
	pages, err := filepath.Glob(filepath.Join(files, "usr/share/man/man1/*.gz"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d man pages, %v", len(pages), err)
	}
	if _, err := exec.LookPath("groff"); err == nil {
		for _, page := range pages {
			if said := output(t, ".", "sh", "-c", "gzip -dc '"+page+"' | groff -man -ww -Tutf8 -z 2>&1"); said != "" {
				t.Errorf("%s: %s", filepath.Base(page), said)
			}
		}
	}
	for _, script := range []string{"postinst", "prerm"} {
		output(t, ".", "sh", "-n", "package/"+script)
	}
	if os.Getuid() == 0 && os.Getenv("CI") != "" { // a machine that is thrown away
		output(t, ".", "dpkg", "--install", deb)
		if got := output(t, ".", "/usr/bin/dpsql", "--version"); !strings.Contains(got, version) {
			t.Error(got)
		}
		output(t, ".", "getent", "passwd", "dpsql")
		output(t, ".", "dpkg", "--purge", "dpsql")
	}
}

func absolute(t *testing.T, dir, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkProgram runs a release's program, and looks for what is not to be in it.
func checkProgram(t *testing.T, path, version string) {
	t.Helper()
	if got := output(t, ".", path, "--version"); !strings.HasPrefix(got, "dpsql v"+version+" (") {
		t.Error(got)
	}
	if sections := output(t, ".", "readelf", "--sections", "--wide", path); strings.Contains(sections, ".symtab") || strings.Contains(sections, ".debug_") {
		t.Error("the program is not stripped")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s has %d MB", path, info.Size()>>20)
}

// checkLinks compares what a program is linked with to what its package depends on: which libraries, and no newer C library.
func checkLinks(t *testing.T, path, depends string) {
	t.Helper()
	declared := regexp.MustCompile(`libc6 \(>= 2\.(\d+)\)`).FindStringSubmatch(depends)
	if declared == nil {
		t.Fatal(depends)
	}
	for _, symbol := range regexp.MustCompile(`GLIBC_2\.(\d+)`).FindAllStringSubmatch(output(t, ".", "readelf", "--version-info", "--wide", path), -1) {
		if len(symbol[1]) > len(declared[1]) || len(symbol[1]) == len(declared[1]) && symbol[1] > declared[1] {
			t.Errorf("the program needs %s, the package %s", symbol[0], declared[0])
		}
	}
	for _, needed := range regexp.MustCompile(`\(NEEDED\).*\[(.*?)\.so`).FindAllStringSubmatch(output(t, ".", "readelf", "--dynamic", "--wide", path), -1) {
		if !slices.Contains([]string{"libc", "libm", "libgcc_s", "libstdc++", "ld-linux-x86-64", "ld-linux-aarch64"}, needed[1]) {
			t.Errorf("the package does not name %s", needed[1])
		}
	}
}
