package rooms

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of a page's prose.
const (
	medianWords    = 16   // the median sentence is below
	longWords      = 30   // a long sentence has more
	longShare      = 0.02 // the most long sentences, as a share of all
	mostWords      = 45   // of any sentence
	cellWords      = 25   // of any table cell
	semicolonShare = 0.05 // the most semicolons a sentence
	readmeWords    = 700  // of README.md, as wc -w counts, and as words of letters outside of blocks, those of links too
)

// TestProse: README.md and every page of docs keep the limits above. What programs write into a page between comments is left out, but for the pages that
// are made as a whole.
func TestProse(t *testing.T) {
	for page, text := range readPages(t) {
		problems := proseProblems(text)
		if n := max(len(strings.Fields(text)), len(countedWords.FindAllString(fences.ReplaceAllString(text, ""), -1))); page == "README.md" && n > readmeWords {
			problems = append(problems, fmt.Sprintf("%d words, at most %d", n, readmeWords))
		}
		for _, problem := range problems {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

// TestNoOutsideFolder: no page names a folder that users do not have.
func TestNoOutsideFolder(t *testing.T) {
	pages := readPages(t)
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	pages["CONTRIBUTING.md"] = string(text)
	for page, text := range pages {
		if strings.Contains(text, "../shared") {
			t.Errorf("%s names ../shared, which is no part of the repository", page)
		}
	}
}

// TestChangelog: one release of at most 60 lines, whose entries have at most 25 words.
func TestChangelog(t *testing.T) {
	b, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if lines, releases := strings.Count(text, "\n"), strings.Count(text, "\n## ["); lines > 60 || releases != 1 || !strings.Contains(text, "\n## [0.1.0]") {
		t.Errorf("%d lines, %d releases", lines, releases)
	}
	for entry := range strings.Lines(text) {
		if n := len(countedWords.FindAllString(entry, -1)); strings.HasPrefix(entry, "- ") && n > cellWords {
			t.Errorf("%d words: %s", n, entry)
		}
	}
}

// TestLinks: every link of every page leads to a file that exists, and every anchor to a heading of it.
func TestLinks(t *testing.T) {
	pages := readPages(t)
	for page, text := range pages {
		for _, target := range linkTargets(text) {
			file, anchor, hasAnchor := strings.Cut(target, "#")
			path := page
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
				t.Errorf("%s: %s leads nowhere", page, target)
				continue
			}
			if !hasAnchor {
				continue
			}
			text, isPage := pages[path]
			if !isPage {
				b, err := os.ReadFile(filepath.Join("..", "..", path))
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			}
			if !slices.Contains(anchors(text), anchor) {
				t.Errorf("%s: %s has no such heading", page, target)
			}
		}
	}
}

// TestProseBites: each limit is found broken where it is, and a page that keeps all of them has no problem.
func TestProseBites(t *testing.T) {
	good := strings.Repeat("dpsql adds noise to each answer. ", 60) + "\n\n| a | b |\n|---|---|\n| one | two |\n"
	if got := proseProblems(good); len(got) > 0 {
		t.Fatal(got)
	}
	sentence := func(n int) string { return "Word" + strings.Repeat(" word", n-1) + "." }
	for name, bad := range map[string]string{
		"the median":   strings.Repeat(sentence(16)+" ", 10),
		"many long":    good + "\n" + strings.Repeat(sentence(31)+" ", 2),
		"one too long": good + "\n" + sentence(46),
		"a cell":       good + "\n| " + strings.Repeat("word ", 26) + "| b |\n",
		"semicolons":   good + "\nIt ends; it is done; it is over; it was; it is.\n",
		"a list":       good + "\n- " + sentence(46) + "\n",
	} {
		if len(proseProblems(bad)) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
	if got := anchors("# The way\n\n## `SHOW` and (more)\n\n### The way\n"); !slices.Equal(got, []string{"the-way", "show-and-more", "the-way-1"}) {
		t.Error(got)
	}
	if got := linkTargets("[a](b.md#c), `[d](e)`, ![f](g.svg) and [h](https://i)\n```\n[j](k)\n```\n"); !slices.Equal(got, []string{"b.md#c", "g.svg"}) {
		t.Error(got)
	}
}

// readPages is README.md and the pages of docs, by their path from the root.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	pages := map[string]string{}
	for _, path := range append(paths, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = string(text)
	}
	return pages
}

// proseProblems holds a page against the limits.
func proseProblems(page string) (out []string) {
	sentences, cells := prose(page)
	var lengths []int
	long, semicolons := 0, 0
	for _, sentence := range sentences {
		n := len(words(sentence))
		if semicolons += strings.Count(sentence, ";"); n < 3 {
			continue
		}
		lengths = append(lengths, n)
		if n > longWords {
			long++
		}
		if n > mostWords {
			out = append(out, fmt.Sprintf("a sentence of %d words: %s", n, beginning(sentence)))
		}
	}
	for _, cell := range cells {
		if n := len(words(cell)); n > cellWords {
			out = append(out, fmt.Sprintf("a cell of %d words: %s", n, beginning(cell)))
		}
	}
	if len(lengths) == 0 {
		return out
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median >= medianWords {
		out = append(out, fmt.Sprintf("the median sentence has %d words", median))
	}
	if share := float64(long) / float64(len(lengths)); share > longShare {
		out = append(out, fmt.Sprintf("%.1f %% of the sentences have over %d words", 100*share, longWords))
	}
	if share := float64(semicolons) / float64(len(lengths)); share > semicolonShare {
		out = append(out, fmt.Sprintf("%d semicolons in %d sentences", semicolons, len(lengths)))
	}
	return out
}

var (
	fences       = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	generated    = regexp.MustCompile(`(?s)<!-- bench:.*?<!-- (?:bench: )?end -->|<!--.*?-->`)
	links        = regexp.MustCompile(`!?\[([^\]]*)\]\(([^)]*)\)`)
	codeSpans    = regexp.MustCompile("``.+?``|`[^`\n]*`")
	newItem      = regexp.MustCompile(`\n\s*(?:[-*]|\d+\.)\s+|\n\s*\n`)
	endOfOne     = regexp.MustCompile(`[.!?][*_")]*\s+([A-Z"(*]|dpsql)`)
	wordsOfOne   = regexp.MustCompile(`[\p{L}\p{N}_'’/-]+`)
	countedWords = regexp.MustCompile(`[\p{L}\p{N}_'’-]+`)
	notInSlugs   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// withoutCode takes fenced blocks, generated blocks and comments out of a page.
func withoutCode(page string) string {
	return generated.ReplaceAllString(fences.ReplaceAllString(page, "\n\n"), "\n\n")
}

// prose is the sentences and the table cells of a page. A code span counts as one word.
func prose(page string) (sentences, cells []string) {
	text := codeSpans.ReplaceAllString(links.ReplaceAllString(withoutCode(page), "$1"), "Code")
	var rest strings.Builder
	for _, line := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "|"):
			cells = append(cells, strings.Split(strings.Trim(trimmed, "|"), "|")...)
			rest.WriteString("\n\n")
		case strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "<"):
			rest.WriteString("\n\n")
		default:
			rest.WriteString(line + "\n")
		}
	}
	for _, paragraph := range newItem.Split("\n"+rest.String(), -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		for {
			next := endOfOne.FindStringSubmatchIndex(paragraph)
			if next == nil {
				break
			}
			sentences = append(sentences, paragraph[:next[2]])
			paragraph = paragraph[next[2]:]
		}
		sentences = append(sentences, paragraph)
	}
	return sentences, cells
}

func words(text string) []string { return wordsOfOne.FindAllString(text, -1) }

func beginning(sentence string) string {
	sentence = strings.TrimSpace(sentence)
	return string([]rune(sentence)[:min(100, len([]rune(sentence)))])
}

// linkTargets are the targets of a page's links to files and headings; those to the web are left out.
func linkTargets(page string) (out []string) {
	text := codeSpans.ReplaceAllString(fences.ReplaceAllString(page, ""), "")
	for _, link := range links.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(link[2], "://") && !strings.HasPrefix(link[2], "mailto:") {
			out = append(out, link[2])
		}
	}
	return out
}

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(page string) (out []string) {
	seen := map[string]int{}
	for _, line := range strings.Split(fences.ReplaceAllString(page, ""), "\n") {
		heading := strings.TrimLeft(line, "#")
		if level := len(line) - len(heading); level == 0 || level > 6 || !strings.HasPrefix(heading, " ") {
			continue
		}
		heading = links.ReplaceAllString(strings.TrimSpace(heading), "$1")
		slug := strings.ReplaceAll(notInSlugs.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	}
	return out
}
