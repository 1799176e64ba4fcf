package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand writes man pages of all commands, for packages.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page of each command into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // man pages are for everybody
				return err
			}
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

func writeManPages(c *cobra.Command, dir string) error {
	if c.Hidden || c.Name() == "help" {
		return nil
	}
	path := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	if err := os.WriteFile(path, []byte(manPage(c)), 0o644); err != nil { //nolint:gosec // man pages are for everybody
		return err
	}
	for _, sub := range c.Commands() {
		if err := writeManPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manPage is a command's page in roff.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", strings.ToUpper(name), "dpsql "+versionText(), roff(name), roff(c.Short), roff(c.UseLine()))
	part := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	part("DESCRIPTION", c.Long)
	part("OPTIONS", c.NonInheritedFlags().FlagUsages())
	part("EXAMPLES", c.Example)
	var also []string
	if c.HasParent() {
		also = append(also, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, strings.ReplaceAll(sub.CommandPath(), " ", "-")+"(1)")
		}
	}
	part("SEE ALSO", strings.Join(also, ", "))
	return b.String()
}

// roff escapes what roff would read as its own.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
