package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/mlext"
)

func moveCommand() *cobra.Command {
	var config, from string
	c := &cobra.Command{
		Use:   "move --from FILE|URL --config policy.yaml",
		Short: "Move a ledger to where the policy now says: from a file to PostgreSQL, or back",
		Long: `Move all charges and stored releases to where the policy's ledger now says. Proceed in this order:

  1. Change the policy.
  2. Stop all servers of the old ledger.
  3. Run this command. --from names the old ledger: a SQLite file, or the URL of a ledger in
     PostgreSQL. Write env:NAME for a URL with a password.
  4. Start the servers with the new policy.

The records are copied with their chain of hashes, read back and compared. Then the old ledger is
closed for good, and says where it went. Nothing is overwritten. If the command is cut, either the
old ledger is still in use, or the same command finishes the move. The two are never usable at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := policy.Places(config)
			if err != nil {
				return err
			}
			old, err := placeNamed(p, from)
			if err != nil {
				return err
			}
			to := placeOf(p)
			if old.String() == to.String() {
				return fmt.Errorf("the policy's ledger is %s still: write the new place into %s first", to, config)
			}
			moved, err := ledger.Move(cmd.Context(), old, to, ledger.Mover{People: p.People, By: whoami(), Folder: filepath.Dir(p.Ledger.Shared)})
			switch {
			case errors.Is(err, ledger.ErrInUse):
				return fmt.Errorf("%w. Stop the servers that use it, and every other dpsql command, then move", err)
			case errors.Is(err, ledger.ErrNotExist):
				return fmt.Errorf("%w: --from names the ledger as it is now (%s)", err, old)
			case err != nil:
				return err
			}
			if err := ledger.CopyTextKey(besideOf(old), besideOf(to)); err != nil {
				return fmt.Errorf("the ledger is moved; the key of its statements' texts is not, and the same command tries again: %w", err)
			}
			models, err := moveModels(cmd.Context(), old, to)
			if err != nil {
				return fmt.Errorf("the ledger is moved; its models are not, and the same command tries again: %w", err)
			}
			if err := moveWatches(cmd.Context(), old, to); err != nil {
				return fmt.Errorf("the ledger is moved; its watches are not, and the same command tries again: %w", err)
			}
			if moved.Already {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "it is in %s already: %d records\n", to, moved.Records)
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "moved: %d records, %d stored releases and %d models from %s to %s\nThe old place is closed for good; start the servers with the new policy.\n",
				moved.Records, moved.Releases, models, old, to)
			if err == nil && moved.Broken != nil {
				_, err = fmt.Fprintln(cmd.ErrOrStderr(), moved.Broken)
			}
			return err
		},
	}
	configFlag(c, &config)
	c.Flags().StringVar(&from, "from", "", "where the ledger is now: a file, a URL postgres://..., or env:NAME of one")
	if err := c.MarkFlagRequired("from"); err != nil {
		panic(err)
	}
	return c
}

// moveModels copies the models that lie beside a ledger.
func moveModels(ctx context.Context, from, to ledger.Place) (n int, err error) {
	if from.SQLite != "" {
		if _, err := os.Stat(from.SQLite + server.ModelsSuffix); errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
	}
	old, err := modelsAt(from, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	target, err := modelsAt(to, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return old.CopyTo(ctx, target)
}

// moveWatches moves the watches that lie beside a ledger.
func moveWatches(ctx context.Context, from, to ledger.Place) (err error) {
	if from.SQLite != "" {
		if _, err := os.Stat(from.SQLite + server.WatchesSuffix); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	old, err := server.WatchesAt(from, "", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	target, err := server.WatchesAt(to, "", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return old.MoveTo(ctx, target)
}

// besideOf is the path beside which a ledger's mark and key lie.
func besideOf(at ledger.Place) string {
	if at.SQLite != "" {
		return at.SQLite
	}
	return at.Postgres.Path
}

// modelsAt opens the models of a data set beside a ledger; without the owner's key their texts stay sealed.
func modelsAt(at ledger.Place, dataset string) (*mlext.Store, error) {
	if at.SQLite != "" {
		return mlext.OpenFile(at.SQLite+server.ModelsSuffix, dataset, nil)
	}
	return mlext.OpenServer(at.Postgres.URL, dataset, nil)
}

// placeNamed is where --from says. The mark of a ledger in PostgreSQL lies beside the policy.
func placeNamed(p *policy.Policy, from string) (ledger.Place, error) {
	if name, ok := strings.CutPrefix(from, "env:"); ok {
		if from = os.Getenv(name); from == "" {
			return ledger.Place{}, fmt.Errorf("--from: the environment variable %s is not set", name)
		}
	}
	if strings.HasPrefix(from, "postgres://") || strings.HasPrefix(from, "postgresql://") {
		return ledger.Place{Postgres: ledger.Server{URL: from, Path: p.Ledger.Shared}}, nil
	}
	abs, err := filepath.Abs(from)
	return ledger.Place{SQLite: abs}, err
}
