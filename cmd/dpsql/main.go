// Command dpsql is a PostgreSQL-wire proxy that answers SQL over a database of people with differential privacy.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/sqlerr"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dpsql:", err)
		var e *sqlerr.Error
		if errors.As(err, &e) && e.Hint != "" {
			fmt.Fprintln(os.Stderr, "hint:", e.Hint)
		}
		stop()
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "dpsql",
		Short: "Ask questions of a database of people without learning anything about any one of them",
		Long: `dpsql stands between analysts and a database of people. It speaks PostgreSQL's wire protocol,
adds the noise that hides any one person to each answer, and keeps the privacy budget in a ledger.

See it work:            dpsql demo
Before your database:   dpsql serve --config policy.yaml`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(demoCommand(), serveCommand(), userCommand(), versionCommand())
	return c
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "dpsql", versionText())
			return err
		},
	}
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
