package main

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateTraining = flag.Bool("update-training", false, "write the psql transcript of docs/training.md")

const (
	trainingPage   = "../../docs/training.md"
	trainingScript = "testdata/training.sql"
	trainingBegin  = "<!-- transcript: begin -->\n```\n"
	trainingEnd    = "```\n<!-- transcript: end -->\n"
)

// shapeOf are a transcript's lines without what noise and machines change: numbers, the widths of columns, and which intervals of a score have rows enough to be shown.
func shapeOf(transcript string) (out []string) {
	number := regexp.MustCompile(`[-+]?\d+(\.\d+)?(e[-+]?\d+)?`)
	policy := regexp.MustCompile(`policy +\| [0-9a-f]+`)
	for _, l := range strings.Split(transcript, "\n") {
		l = number.ReplaceAllString(policy.ReplaceAllString(l, "policy | #"), "#")
		l = strings.Join(strings.Fields(strings.ReplaceAll(l, "-", "")), " ")
		if l == "" || l == "+" || strings.HasPrefix(l, "predicted #") || strings.HasPrefix(l, "AUC") || strings.HasPrefix(l, "R# |") {
			continue
		}
		out = append(out, l)
	}
	return out
}

// TestTrainingDoc: docs/training.md shows what psql prints of testdata/training.sql before the demo. Here the statements are compared; make test-long asks them again, and compares all but the numbers.
func TestTrainingDoc(t *testing.T) {
	page, err := os.ReadFile(trainingPage)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(page)
	from, to := strings.Index(doc, trainingBegin), strings.Index(doc, trainingEnd)
	if from < 0 || to < from {
		t.Fatalf("%s has no transcript", trainingPage)
	}
	from += len(trainingBegin)
	script, err := os.ReadFile(trainingScript)
	if err != nil {
		t.Fatal(err)
	}
	if !*updateTraining {
		rest := doc[from:to]
		for _, l := range strings.Split(strings.TrimSpace(string(script)), "\n") {
			_, after, found := strings.Cut(rest, l+"\n")
			if !found {
				t.Fatalf("%s does not have, in its place, %q: go test ./cmd/dpsql -run TestTrainingDoc -args -update-training", trainingPage, l)
			}
			rest = after
		}
	}
	if !*updateTraining && os.Getenv("DPSQL_LONG") == "" {
		return
	}
	host, port, err := net.SplitHostPort(demoServer(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "psql", "-X", "-a", "-h", host, "-p", port, "-U", "analyst", "demo")
	cmd.Env = append(os.Environ(), "PGPASSWORD=demo", "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(string(script))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "ERROR") {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []string
	for _, l := range strings.Split(string(out), "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	text := strings.Join(lines, "\n")
	if *updateTraining {
		if err := os.WriteFile(trainingPage, []byte(doc[:from]+text+doc[to:]), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := shapeOf(text), shapeOf(doc[from:to]); !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("from line %d on the transcript is another:\n%s", i, strings.Join(got[min(i, len(got)):], "\n"))
			}
		}
	}
}
