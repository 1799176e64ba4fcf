package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/docs"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

func errorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "errors [CODE]",
		Short: "Explain an error: what it means, its cure and an example",
		Long: `Explain an error, by its SQLSTATE (PV007) or its id (budget_exhausted), as docs/errors.md does.
Without a code, list all ids with their SQLSTATEs.`,
		Example: "  dpsql errors PV007\n  dpsql errors budget_exhausted",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, k := range sqlerr.Kinds() {
				list = append(list, k.ID, k.Code)
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := errorList()
			if len(args) == 1 {
				var err error
				if text, err = explainCode(args[0]); err != nil {
					return err
				}
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}

// errorList names every kind of error.
func errorList() string {
	var b strings.Builder
	for _, k := range sqlerr.Kinds() {
		_, _ = fmt.Fprintf(&b, "%s  %s\n", k.Code, k.ID)
	}
	return b.String()
}

// explainCode gives the sections of docs/errors.md about an id, or about all ids of a SQLSTATE.
func explainCode(code string) (string, error) {
	var sections []string
	for _, k := range sqlerr.Kinds() {
		if !strings.EqualFold(code, k.ID) && !strings.EqualFold(code, k.Code) {
			continue
		}
		_, section, ok := strings.Cut(docs.Errors, "\n### "+k.ID+"\n\n")
		if !ok {
			return "", fmt.Errorf("docs/errors.md does not explain %s", k.ID)
		}
		if end := nextHeading.FindStringIndex(section); end != nil {
			section = section[:end[0]]
		}
		sections = append(sections, k.ID+"\n\n"+plainText(section)+"\n")
	}
	if len(sections) == 0 {
		return "", fmt.Errorf("no error has the SQLSTATE or id %q; dpsql errors lists all", code)
	}
	return strings.Join(sections, "\n"), nil
}

var (
	nextHeading  = regexp.MustCompile(`\n##+ `)
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
)

// plainText is a section for a terminal: prose wrapped, code indented.
func plainText(section string) string {
	var out []string
	isCode := false
	for line := range strings.SplitSeq(strings.TrimSpace(section), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			isCode = !isCode
		case isCode:
			out = append(out, "    "+line)
		default:
			line = markdownLink.ReplaceAllString(line, "$1")
			out = append(out, wrapped(strings.NewReplacer("**", "", "`", "").Replace(line), 100)...)
		}
	}
	return strings.Join(out, "\n")
}

// wrapped breaks a line between words.
func wrapped(line string, width int) (lines []string) {
	now := ""
	for _, word := range strings.Fields(line) {
		if now != "" && len(now)+1+len(word) > width {
			lines, now = append(lines, now), ""
		}
		now = strings.TrimPrefix(now+" "+word, " ")
	}
	return append(lines, now)
}
