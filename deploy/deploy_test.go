// Package deploy_test checks the files that start dpsql elsewhere: systemd's unit, the Dockerfile, the compose file with its policy
// and SQL. Docker does not run here; run_test.go does by hand what the Dockerfile and the compose file say.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/goccy/go-yaml"

	"github.com/dpsql/dpsql/internal/policy"
)

const root = ".."

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// instruction is one of a Dockerfile.
type instruction struct{ name, args string }

// dockerfile splits a Dockerfile into stages of instructions.
func dockerfile(t testing.TB) (stages [][]instruction) {
	t.Helper()
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "ARG", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
	var lines []string
	for line := range strings.Lines(read(t, "Dockerfile")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if n := len(lines); n > 0 && strings.HasSuffix(lines[n-1], `\`) {
			lines[n-1] = strings.TrimSuffix(lines[n-1], `\`) + line
		} else {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		name, args, _ := strings.Cut(line, " ")
		if !slices.Contains(known, name) || args == "" {
			t.Errorf("Dockerfile: %s", line)
		}
		if name == "FROM" {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatal("the Dockerfile does not begin with FROM")
		}
		last := &stages[len(stages)-1]
		*last = append(*last, instruction{name, args})
	}
	if len(stages) != 2 {
		t.Fatalf("%d stages", len(stages))
	}
	return stages
}

// one is the arguments of a stage's only instruction of a name.
func one(t testing.TB, stage []instruction, name string) string {
	t.Helper()
	var found []string
	for _, in := range stage {
		if in.name == name {
			found = append(found, in.args)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d times %s", len(found), name)
	}
	return found[0]
}

// list is an instruction's arguments in the form of JSON.
func list(t testing.TB, args string) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(args), &words); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return words
}

// healthCommand is what the image's HEALTHCHECK runs.
func healthCommand(t testing.TB) []string {
	t.Helper()
	_, command, ok := strings.Cut(one(t, dockerfile(t)[1], "HEALTHCHECK"), "CMD ")
	if !ok {
		t.Fatal("HEALTHCHECK has no CMD")
	}
	return list(t, command)
}

// sources are what the build stage copies from the repository.
func sources(t testing.TB) (out []string) {
	t.Helper()
	for _, in := range dockerfile(t)[0] {
		if in.name == "COPY" {
			words := strings.Fields(in.args)
			out = append(out, words[:len(words)-1]...)
		}
	}
	return out
}

func TestDockerfile(t *testing.T) {
	stages := dockerfile(t)
	build, run := stages[0], stages[1]
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))[1]
	if got := one(t, build, "FROM"); got != "golang:"+goVersion+"-bookworm AS build" {
		t.Errorf("go.mod wants Go %s, the image is %s", goVersion, got)
	}
	if got := one(t, run, "FROM"); got != "debian:bookworm-slim" { // the same libc and libstdc++ as the build's
		t.Error(got)
	}
	if got := one(t, run, "COPY"); got != "--from=build /out/dpsql /usr/local/bin/dpsql" || !strings.Contains(buildCommand(t), "-o /out/dpsql ./cmd/dpsql") {
		t.Error(got)
	}
	if uid, _, _ := strings.Cut(one(t, run, "USER"), ":"); uid != "10001" || !strings.Contains(one(t, run, "RUN"), "--uid "+uid) {
		t.Errorf("the image runs as %s", uid)
	}
	if got := one(t, run, "STOPSIGNAL"); got != "SIGTERM" {
		t.Error(got)
	}
	if got := list(t, one(t, run, "ENTRYPOINT")); !slices.Equal(got, []string{"/usr/local/bin/dpsql"}) {
		t.Error(got)
	}
	if got := list(t, one(t, run, "CMD")); !slices.Equal(got, []string{"serve", "--config", "/etc/dpsql/policy.yaml"}) {
		t.Error(got)
	}
}

// buildCommand is the RUN that builds the program.
func buildCommand(t testing.TB) string {
	t.Helper()
	stage := dockerfile(t)[0]
	for _, in := range stage {
		if in.name == "RUN" && strings.Contains(in.args, "go build") {
			return in.args
		}
	}
	t.Fatal("nothing builds")
	return ""
}

// TestDockerfileSources: what is copied is there, and the program needs no other folder of the repository.
func TestDockerfileSources(t *testing.T) {
	copied := sources(t)
	for _, s := range copied {
		if _, err := os.Stat(filepath.Join(root, s)); err != nil {
			t.Error(err)
		}
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "./cmd/dpsql")
	list.Dir = root
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 20 {
		t.Errorf("only %d packages", len(packages))
	}
	for _, p := range packages {
		folder, _, _ := strings.Cut(strings.TrimPrefix(p, "github.com/dpsql/dpsql/"), "/")
		if !slices.Contains(copied, folder) {
			t.Errorf("the Dockerfile does not copy %s, of %s", folder, p)
		}
	}
}

// TestUnit: systemd's own parsers find nothing wrong, and the values fit the program.
func TestUnit(t *testing.T) {
	sections, err := unit.DeserializeSections(strings.NewReader(read(t, "dpsql.service")))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	var names []string
	for _, s := range sections {
		names = append(names, s.Section)
		for _, e := range s.Entries {
			values[s.Section+"."+e.Name] = append(values[s.Section+"."+e.Name], e.Value)
		}
	}
	if !slices.Equal(names, []string{"Unit", "Service", "Install"}) {
		t.Error(names)
	}
	for key, want := range map[string]string{
		"User": "dpsql", "ExecStart": "/usr/local/bin/dpsql serve --config /etc/dpsql/policy.yaml", "ExecReload": "/bin/kill -HUP $MAINPID", "Restart": "on-failure",
		"StateDirectory": "dpsql", "StateDirectoryMode": "0700", "WorkingDirectory": "/var/lib/dpsql", "UMask": "0077", "LimitCORE": "0", "NoNewPrivileges": "true",
		"ProtectSystem": "strict", "ProtectHome": "true", "PrivateTmp": "true", "CapabilityBoundingSet": "", "MemoryDenyWriteExecute": "true", "EnvironmentFile": "-/etc/dpsql/env",
	} {
		if got := values["Service."+key]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s=%q, want %q", key, got, want)
		}
	}
	stop, err := time.ParseDuration(values["Service.TimeoutStopSec"][0] + "s")
	if err != nil || stop <= 2*policy.DefaultLimits().StopTime {
		t.Errorf("TimeoutStopSec=%s is over before a stop is: %v", stop, err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze")
	}
	// The program is not installed where the tests run; anything else that it says is a mistake.
	file := filepath.Join(t.TempDir(), "dpsql.service")
	if err := os.WriteFile(file, []byte(strings.Replace(read(t, "dpsql.service"), "/usr/local/bin/dpsql", "/bin/true", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// compose is as much of the format as compose.yaml uses; other keys are mistakes.
type compose struct {
	Name     string
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Environment map[string]string
		Volumes     []string
		Networks    []string
		Ports       []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct {
			Test              []string
			Interval, Timeout time.Duration
			Retries           int
		}
		StopGracePeriod time.Duration `yaml:"stop_grace_period"`
		ReadOnly        bool          `yaml:"read_only"`
		Tmpfs           []string
		CapDrop         []string `yaml:"cap_drop"`
		SecurityOpt     []string `yaml:"security_opt"`
		Restart         string
	}
	Volumes  map[string]struct{}
	Networks map[string]struct{ Internal bool }
}

func composeFile(t testing.TB) *compose {
	t.Helper()
	var c compose
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "compose.yaml")), &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestCompose(t *testing.T) {
	c := composeFile(t)
	db, dpsql := c.Services["db"], c.Services["dpsql"]
	if len(c.Services) != 2 || db.Image != "postgres:15" {
		t.Errorf("%+v", c.Services)
	}
	if _, err := os.Stat(filepath.Join(dpsql.Build.Context, dpsql.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	if dpsql.DependsOn["db"].Condition != "service_healthy" || len(db.Healthcheck.Test) == 0 || db.Healthcheck.Test[0] != "CMD" {
		t.Error("dpsql does not wait for the database")
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, named := c.Volumes[from]; !named {
				if _, err := os.Stat(from); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for _, n := range s.Networks {
			if _, ok := c.Networks[n]; !ok {
				t.Errorf("%s: no network %s", name, n)
			}
		}
	}
	if !c.Networks["data"].Internal || !slices.Equal(db.Networks, []string{"data"}) || len(db.Ports) > 0 {
		t.Error("the database can be reached around dpsql")
	}
	if !slices.Equal(dpsql.Ports, []string{"6543:6543"}) || !dpsql.ReadOnly || !slices.Equal(dpsql.CapDrop, []string{"ALL"}) || len(dpsql.SecurityOpt) != 1 {
		t.Errorf("%+v", dpsql)
	}
	if dpsql.StopGracePeriod <= 2*policy.DefaultLimits().StopTime {
		t.Error("docker kills dpsql before it stops")
	}
}

// TestComposePolicy: the sample policy stands by itself, and its paths and ports are those of the image and the compose file.
func TestComposePolicy(t *testing.T) {
	for name, value := range environment(t, "word", "127.0.0.1:5432") {
		t.Setenv(name, value)
	}
	p, err := policy.Parse("/etc/dpsql/policy.yaml", []byte(read(t, "conf/policy.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	dpsql := composeFile(t).Services["dpsql"]
	if p.Ledger.SQLite != "/var/lib/dpsql/clinic.ledger" || !slices.Contains(dpsql.Volumes, "ledger:/var/lib/dpsql") {
		t.Error("the ledger is in no volume")
	}
	if p.TLS == nil || p.TLS.Key != "/etc/dpsql/tls/server.key" || !slices.Contains(dpsql.Volumes, "./conf:/etc/dpsql:ro") || !p.IsTLSRequired() {
		t.Errorf("%+v", p.TLS)
	}
	if p.Listen != "0.0.0.0:6543" || p.Metrics != "0.0.0.0:9187" || !strings.Contains(strings.Join(healthCommand(t), " "), "/9187 ") {
		t.Errorf("%s %s", p.Listen, p.Metrics)
	}
}

// secretShape is what must not stand in a file that is kept: a verifier, a key, a value given to a password.
var secretShape = regexp.MustCompile(`SCRAM-SHA-256\$|PRIVATE KEY|(?i:password|verifier\w*)\s*[:=]\s*'?[a-z0-9+/]{4,}`)

// notSecret names where a secret comes from: env: of a policy, a variable of psql.
var notSecret = regexp.MustCompile(`password: env:|:'reader_password'`)

func TestNoSecrets(t *testing.T) {
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range append(files, "conf/policy.yaml") {
		if info, err := os.Stat(f); err != nil || info.IsDir() || strings.HasSuffix(f, "_test.go") {
			continue
		}
		seen++
		for line := range strings.Lines(read(t, f)) {
			if secretShape.MatchString(notSecret.ReplaceAllString(line, "")) {
				t.Errorf("%s: %s", f, line)
			}
		}
	}
	if seen != 7 {
		t.Errorf("%d files were read", seen)
	}
	for _, planted := range []string{"POSTGRES_PASSWORD: hunter22", "DPSQL_VERIFIER_ANN='SCRAM-SHA-256$4096:x'", "password: demo1"} {
		if !secretShape.MatchString(planted) {
			t.Errorf("%s was not seen", planted)
		}
	}
	if read(t, ".gitignore") != "/.env\n/conf/tls/\n" {
		t.Error("git does not ignore what is secret")
	}
	// Every name that the compose file takes from .env is in the sample, without a value.
	sample := read(t, "env.sample")
	for _, m := range regexp.MustCompile(`\$\{(\w+)`).FindAllStringSubmatch(read(t, "compose.yaml"), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `=(?:'')?$`).MatchString(sample) {
			t.Errorf("env.sample does not name %s", m[1])
		}
	}
}

// environment is that of compose's service dpsql, with a password for everything and the database at an address.
func environment(t testing.TB, password, database string) map[string]string {
	t.Helper()
	verifier, err := policy.MakeVerifier(password, policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"READER_PASSWORD": password, "POSTGRES_PASSWORD": password, "DPSQL_VERIFIER_ANN": verifier}
	out := map[string]string{}
	for name, value := range composeFile(t).Services["dpsql"].Environment {
		out[name] = strings.Replace(os.Expand(value, func(v string) string {
			v, _, _ = strings.Cut(v, ":?")
			if given[v] == "" {
				t.Errorf("compose.yaml: %s is not known", v)
			}
			return given[v]
		}), "@db:5432/", "@"+database+"/", 1)
	}
	return out
}

// TestDocumentedLogs: the messages that docs/operations.md tells to look for are those of the code.
func TestDocumentedLogs(t *testing.T) {
	_, table, ok := strings.Cut(read(t, filepath.Join(root, "docs/operations.md")), "| message | look at |\n|---|---|\n")
	if !ok {
		t.Fatal("there is no table of messages")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var code strings.Builder
	for _, folder := range []string{"cmd/dpsql", "internal/engine", "internal/engine/*", "internal/ops", "proxy"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				code.WriteString(read(t, f))
			}
		}
	}
	messages := 0
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(line[2:], " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			messages++
			text, cut := strings.CutSuffix(m[1], " ...")
			if !cut {
				text += `"`
			}
			if !regexp.MustCompile(`[lL]og\.(?:Info|Warn|Error)\("` + regexp.QuoteMeta(text)).MatchString(code.String()) {
				t.Errorf("nothing logs %q", m[1])
			}
		}
	}
	if messages < 8 {
		t.Errorf("only %d messages", messages)
	}
}
