// Command dpsql is a PostgreSQL-wire proxy that answers SQL over a database of people with differential privacy.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
	exitFound  = 3 // the command did its work and found something to mend (check, rehearse, explain of a file)
)

func main() {
	syscall.Umask(0o077) // ledger, its log, audit and socket are their owner's alone
	setClientEnvAside()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := run(ctx, root())
	stop()
	os.Exit(code)
}

// run executes a command and says on standard error what went wrong.
func run(ctx context.Context, c *cobra.Command) int {
	ran, err := c.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFound):
		return exitFound
	}
	if wrong := usageOf(ran, err); wrong != nil {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s %v\nSee %s --help.\n", coloured(c.ErrOrStderr(), red, "dpsql:"), wrong, ran.CommandPath())
		return exitUsage
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	_, _ = fmt.Fprintln(c.ErrOrStderr(), coloured(c.ErrOrStderr(), red, "dpsql:"), err)
	hint := connectionHint(err)
	var e *sqlerr.Error
	if errors.As(err, &e) {
		hint = e.Hint
	}
	if hint != "" {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), coloured(c.ErrOrStderr(), cyan, "hint:"), hint)
	}
	return exitFailed
}

// usageError is a command line that means nothing.
type usageError struct{ error }

// flagsOf finds the flags that cobra names.
var flagsOf = regexp.MustCompile(`"([^"]+)"|\[([^]]+)\]`)

// usageOf says what is wrong with a command line, and what to write; nil where it is something else. cobra has no types for these.
func usageOf(c *cobra.Command, err error) error {
	var wrong usageError
	if errors.As(err, &wrong) {
		return wrong
	}
	text, flags := err.Error(), []string(nil)
	for _, m := range flagsOf.FindAllStringSubmatch(text, 2) {
		for _, name := range strings.Fields(m[1] + m[2]) {
			flags = append(flags, "--"+name)
		}
	}
	names := strings.Join(flags, " and ")
	switch {
	case strings.HasPrefix(text, "unknown command"):
		return err
	case strings.HasPrefix(text, "required flag"):
		return fmt.Errorf("%s is missing: write %s", names, written(c))
	case strings.HasPrefix(text, "at least one of the flags"):
		return fmt.Errorf("%s is missing: write %s", strings.Join(flags, " or "), written(c))
	case strings.HasPrefix(text, "if any flags in the group"):
		return fmt.Errorf("%s do not go together: write %s", names, written(c))
	}
	return nil
}

// written is how a command is written.
func written(c *cobra.Command) string {
	if !c.HasParent() {
		return c.Use
	}
	return c.Parent().CommandPath() + " " + c.Use
}

// strict makes mistakes of the command line usageError values, in all commands.
func strict(c *cobra.Command) *cobra.Command {
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.HasParent() && c.HasSubCommands() && !c.Runnable() {
			ofSubcommands(c)
		}
		if check := c.Args; check != nil {
			c.Args = func(cmd *cobra.Command, args []string) error {
				err := check(cmd, args)
				switch {
				case err == nil:
					return nil
				case len(args) > 0 && cmd.Flags().Lookup("config") != nil && isPolicyFile(args[len(args)-1]):
					return usageError{fmt.Errorf("the policy's file goes behind --config: %s --config %s", cmd.CommandPath(), args[len(args)-1])}
				case !strings.Contains(err.Error(), "arg(s)"):
				case len(args) == 0:
					err = fmt.Errorf("an argument is missing: write %s", written(cmd))
				default:
					err = fmt.Errorf("there are %d arguments, but it takes one: write %s, with quotes around an argument that has spaces", len(args), written(cmd))
				}
				return usageError{err}
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(c)
	return c
}

// ofSubcommands makes a command that only has others say which word is none of them, whatever flags follow it.
func ofSubcommands(c *cobra.Command) {
	c.SuggestionsMinimumDistance, c.DisableFlagsInUseLine = 2, true
	c.FParseErrWhitelist.UnknownFlags = true // flags are those of its commands
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		names := c.SuggestionsFor(args[0])
		says := "perhaps you meant"
		if len(names) == 0 {
			says = "known are"
			for _, sub := range c.Commands() {
				names = append(names, sub.Name())
			}
		}
		return usageError{fmt.Errorf("unknown command %q for %q: %s %s", args[0], c.CommandPath(), says, strings.Join(names, ", "))}
	}
}

func isPolicyFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "dpsql",
		Short: "Ask questions of a database of people without learning anything about any one of them",
		Long: `dpsql stands between analysts and a database of people. It speaks PostgreSQL's wire protocol. To each
answer it adds noise that hides any one person, and it keeps the privacy budget in a ledger.

  See it work:            dpsql demo
  Before your database:   dpsql init --backend postgres://user@host/database > policy.yaml
                          dpsql check --config policy.yaml
                          dpsql serve --config policy.yaml

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 found something to mend (check, rehearse,
explain FILE).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionLine(),
	}
	c.SetVersionTemplate("{{.Version}}\n")
	c.AddCommand(demoCommand(), initCommand(), checkCommand(), serveCommand(), reloadCommand(), budgetCommand(), watchCommand(), freezeCommand(), unfreezeCommand(),
		consoleCommand(), queryCommand(), explainCommand(), trainCommand(), rehearseCommand(), userCommand(), errorsCommand(), schemaCommand(), manCommand(), versionCommand())
	return strict(c)
}
