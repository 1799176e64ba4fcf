package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/policy"
)

func grantCommand() *cobra.Command {
	var config, reason string
	var epsilon float64
	c := &cobra.Command{
		Use:   "grant ANALYST --epsilon E --reason WHY --config policy.yaml",
		Short: "Give an analyst more of the data set's budget in this window",
		Long: `Give an analyst more than the policy's quota, in the present window (without windows: for ever). It is moved inside the data set's total: what the
analyst spends of it, the others cannot. The promise to the data set's people stays what it is. The grant and its reason are kept in the ledger.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLedger(cmd.Context(), config, func(p *policy.Policy, l ownersLedger) error {
				if _, known := p.Analyst(args[0]); !known {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: warning: %s has no analyst %q\n", config, args[0])
				}
				if err := l.Grant(cmd.Context(), args[0], epsilon, whoami(), reason); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "granted: epsilon %g to %s\n", epsilon, args[0])
				return err
			})
		},
	}
	configFlag(c, &config)
	c.Flags().Float64Var(&epsilon, "epsilon", 0, "how much, beside the quota")
	c.Flags().StringVar(&reason, "reason", "", "why, for the ledger")
	for _, name := range []string{"epsilon", "reason"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}

func raiseCommand() *cobra.Command {
	var config, reason string
	c := &cobra.Command{
		Use:   "raise --reason WHY --config policy.yaml",
		Short: "Make a larger promise: record the policy's larger budget or lifetime",
		Long: `Record that the data set's budget (epsilon, delta) or lifetime is now the larger one of the policy. This is a new promise to the people of the data: tell them.
It holds from the present window on, which then counts against the lifetime with the larger budget; a smaller one is refused, for what was promised stays.
Accountant, window and people stay as they were. Stop the server of a SQLite ledger first; servers that share a ledger in PostgreSQL take the new policy over when
they are started again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			p, err := policy.Load(config)
			if err != nil {
				return err
			}
			head, err := engine.Head(p, "raise")
			if err != nil {
				return err
			}
			l, err := takeLedger(cmd.Context(), p)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			if err := l.Raise(cmd.Context(), head, whoami(), reason); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "promised: epsilon %g, delta %g for data set %s\n", p.Budget.Epsilon, p.Budget.Delta, p.Dataset)
			return err
		},
	}
	configFlag(c, &config)
	c.Flags().StringVar(&reason, "reason", "", "why, for the ledger")
	if err := c.MarkFlagRequired("reason"); err != nil {
		panic(err)
	}
	return c
}
