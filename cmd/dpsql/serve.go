package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

func serveCommand() *cobra.Command {
	var config, listen string
	c := &cobra.Command{
		Use:   "serve --config policy.yaml",
		Short: "Serve the data set of a policy file to analysts",
		Long: `Serve the data set of a policy file over PostgreSQL's wire protocol until interrupted.
The policy names the database, the privacy unit, what may be asked and what it may cost: see docs/policy.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := policy.Load(config)
			if err != nil {
				return err
			}
			if listen != "" {
				if err := p.SetListen(listen); err != nil {
					return err
				}
			}
			return serve(cmd.Context(), p)
		},
	}
	c.Flags().StringVarP(&config, "config", "c", "", "the policy file (required)")
	c.Flags().StringVar(&listen, "listen", "", "address to listen on, in place of the policy's")
	_ = c.MarkFlagRequired("config")
	return c
}

func serve(ctx context.Context, p *policy.Policy) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	b, err := openBackend(ctx, p)
	if err != nil {
		return err
	}
	defer closing(log, "backend", b.Close)
	e, err := engine.Open(ctx, engine.Options{Policy: p, Backend: b, Logger: log})
	if err != nil {
		return err
	}
	defer closing(log, "ledger", e.Close)
	l, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return err
	}
	log.Info("serving", "dataset", p.Dataset, "listen", l.Addr().String())
	return proxy.Serve(ctx, l, wire{e}, wireOptions(p, log))
}

// wireOptions make what a user who does not exist is shown look like that of the policy's analysts: the same over restarts (the
// secret is derived from the verifiers, which are secret themselves) and of their iteration count.
func wireOptions(p *policy.Policy, log *slog.Logger) proxy.Options {
	o := proxy.Options{Logger: log}
	mac := sha256.New()
	mac.Write([]byte("dpsql salts of unknown users"))
	for _, a := range p.Analysts {
		mac.Write([]byte(a.Verifier))
		if n, err := strconv.Atoi(iterations(a.Verifier)); err == nil {
			o.MockIterations = n
		}
	}
	o.ServerSecret = mac.Sum(nil)
	return o
}

// iterations is the count in "SCRAM-SHA-256$count:salt$...".
func iterations(verifier string) string {
	_, rest, _ := strings.Cut(verifier, "$")
	n, _, _ := strings.Cut(rest, ":")
	return n
}

// openBackend opens the database that the policy names: one line a kind of backend.
func openBackend(ctx context.Context, p *policy.Policy) (backend.Backend, error) {
	switch {
	case p.Backend.Postgres != "":
		return postgres.Open(ctx, p.Backend.Postgres, postgres.Options{Settings: p.Backend.Settings})
	case p.Backend.DuckDB != "":
		return duckdb.Open(ctx, p.Backend.DuckDB, duckdb.Options{})
	}
	return nil, fmt.Errorf("the policy names no backend")
}

func closing(log *slog.Logger, what string, f func() error) {
	if err := f(); err != nil {
		log.Error("closing", "what", what, "error", err.Error())
	}
}
