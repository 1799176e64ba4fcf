package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
)

// Watches lists all analysts' watches, as they lie beside the ledger.
func (a alone) Watches(ctx context.Context) (list []*watches.Watch, err error) {
	if a.policy.Ledger.Postgres == "" {
		if _, err := os.Stat(a.policy.Ledger.SQLite + server.WatchesSuffix); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	keys, err := server.TextKeys(a.policy, a.policy.Ledger.Beside)
	if err != nil {
		return nil, err
	}
	store, err := server.WatchesOf(a.policy, keys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.List(ctx, "")
}

func watchCommand() *cobra.Command {
	c := &cobra.Command{Use: "watch", Short: "Show the watches that analysts have created"}
	var config string
	var asJSON bool
	list := &cobra.Command{
		Use:   "list [--json] --config policy.yaml",
		Short: "List the watches: statement, threshold, looks, alerts, state",
		Long: `List each analyst's watches (CREATE DP WATCH), with their looks and alerts. A running server is asked
over its socket. If none runs, the file beside the ledger is read. The noise of a watch's threshold
is in no list.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLedger(cmd.Context(), config, func(_ *policy.Policy, l ownersLedger) error {
				list, err := l.Watches(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), append([]*watches.Watch{}, list...))
				}
				return owner.PrintWatches(cmd.OutOrStdout(), list)
			})
		},
	}
	configFlag(list, &config)
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(list)
	return c
}
