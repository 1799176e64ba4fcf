package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// shown is a statement or a command of a page, with what the page says that it prints.
type shownStatement struct {
	line   int
	text   string
	prints []string
}

// shownStatements are what the page's console blocks have at a prompt of psql, and the psql commands of a shell.
func shownStatements(page string) (statements, commands []shownStatement) {
	console := false
	var last *shownStatement
	for i, line := range strings.Split(page, "\n") {
		text, is := strings.CutPrefix(line, "demo=> ")
		command, isCommand := strings.CutPrefix(line, "$ PGPASSWORD=demo psql ")
		more, continues := strings.CutPrefix(line, "demo-> ")
		switch {
		case strings.HasPrefix(line, "```"):
			console, last = line == "```console", nil
		case !console:
		case is:
			statements = append(statements, shownStatement{line: i + 1, text: text})
			last = &statements[len(statements)-1]
		case isCommand && strings.Contains(command, " -c "):
			commands = append(commands, shownStatement{line: i + 1, text: command})
			last = &commands[len(commands)-1]
		case last == nil:
		case continues:
			last.text += "\n" + more
		default:
			last.prints = append(last.prints, line)
		}
	}
	return statements, commands
}

// likeShown is what was printed without what noise changes: numbers, the order of rows, warnings that the page has not, and the NOTICEs that it leaves out.
func likeShown(lines, page []string) (out []string) {
	notices := slices.ContainsFunc(page, func(l string) bool { return strings.HasPrefix(l, "NOTICE:") })
	for _, l := range lines {
		has := func(shown string) bool { return plain(shown) == plain(l) }
		if text := plain(l); text != "" && (notices || !strings.HasPrefix(l, "NOTICE:")) && (!strings.HasPrefix(l, "WARNING:") || slices.ContainsFunc(page, has)) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// TestAnalystDoc asks the statements of docs/analyst.md before the demo, in one session as the page does, and compares what psql prints but for what noise changes. A false alarm takes another
// specialty among the five with most patients: the fifth has 2,000 more than the sixth, whose noises have deviations below 100, so it has a probability below 1e-40.
func TestAnalystDoc(t *testing.T) { asksPage(t, "../../docs/analyst.md", 20, 1) }

// TestSyntheticDoc asks the statements of docs/synthetic.md so. A false alarm takes counts of thousands whose noise has a deviation below 100.
func TestSyntheticDoc(t *testing.T) { asksPage(t, "../../docs/synthetic.md", 6, 0) }

// TestWatchesDoc asks the statements of docs/watches.md so. What they print has no noise.
func TestWatchesDoc(t *testing.T) { asksPage(t, "../../docs/watches.md", 4, 0) }

// TestCubesDoc asks the statements of docs/cubes.md so. A false alarm takes counts of thousands whose noise has a deviation below 10.
func TestCubesDoc(t *testing.T) { asksPage(t, "../../docs/cubes.md", 7, 0) }

// asksPage asks a page's statements. A bound is chosen too low, and an answer NULL, in fewer than 1 of 1,000 statements (docs/accuracy.md), so in fewer than 1 of 50 runs of a page: then another demo is asked, six in all, which fails by chance in fewer than 1e-10 runs.
func asksPage(t *testing.T, doc string, least, leastCommands int) {
	t.Helper()
	page, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	statements, commands := shownStatements(string(page))
	if len(statements) < least || len(commands) < leastCommands {
		t.Fatalf("the page has %d statements and %d commands", len(statements), len(commands))
	}
	psql := func(input string, words ...string) string {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "PGPASSWORD=demo", "LC_ALL=C.UTF-8")
		cmd.Stdin = strings.NewReader(input)
		out, _ := cmd.CombinedOutput() // a statement may be refused on purpose: what is printed is compared
		return string(out)
	}
	compare := func(s shownStatement, printed string) {
		t.Helper()
		if few := "too few people have rows here"; strings.Contains(strings.Join(s.prints, "\n"), few) && !strings.Contains(printed, few) {
			return // noise may let a choice succeed that nobody has rows for
		}
		got, want := likeShown(strings.Split(printed, "\n"), s.prints), likeShown(s.prints, s.prints)
		if !slices.Equal(got, want) {
			t.Errorf("%s:%d: %s\nprints\n%s\nwant\n%s", doc, s.line, s.text, printed, strings.Join(s.prints, "\n"))
		}
	}
	var script strings.Builder
	for _, s := range statements {
		fmt.Fprintf(&script, "%s\n\\echo === next\n", s.text)
	}
	const tooLow = "is far below what people have, so what depends on it is NULL"
	var port string
	var answers []string
	for attempt := 0; attempt == 0 || attempt < 6 && strings.Contains(strings.Join(answers, ""), tooLow); attempt++ {
		var host string
		if host, port, err = net.SplitHostPort(demoServer(t)); err != nil {
			t.Fatal(err)
		}
		answers = strings.Split(psql(script.String(), "psql", "-X", "-h", host, "-p", port, "-U", "analyst", "demo"), "=== next\n")
	}
	if len(answers) != len(statements)+1 {
		t.Fatalf("%d answers to %d statements:\n%s", len(answers)-1, len(statements), strings.Join(answers, "\n"))
	}
	for i, s := range statements {
		compare(s, answers[i])
	}
	for _, c := range commands {
		compare(c, psql("", "/bin/sh", "-c", "psql "+strings.Replace(c.text, "-p 6543", "-p "+port, 1)))
	}
}
