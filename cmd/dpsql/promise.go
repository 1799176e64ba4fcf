package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
)

// leastGrant is the least budget that a policy takes too.
const leastGrant = 1e-9

func grantCommand() *cobra.Command {
	var config, reason string
	var epsilon float64
	c := &cobra.Command{
		Use:   "grant ANALYST|ROLE --epsilon E --reason WHY --config policy.yaml",
		Short: "Give an analyst, or a role, more of the data set's budget in this window",
		Long: `Give an analyst more than the policy's quota in the present window, or for ever where the budget has
no windows. In place of an analyst, name a role that has a budget. All its analysts then have more
together.

The grant moves budget inside the data set's total. What they spend of it, others cannot. The promise
to the people of the data stays the same. The ledger keeps the grant and its reason.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("give one analyst or role: dpsql budget grant ann --epsilon 1 --reason \"a second study\" --config policy.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(epsilon > 0) || math.IsInf(epsilon, 1) {
				return fmt.Errorf("--epsilon %g: a grant is a number above 0", epsilon)
			}
			if epsilon < leastGrant {
				return fmt.Errorf("--epsilon %g: a grant of less than %g lets nobody ask anything", epsilon, leastGrant)
			}
			return withLedger(cmd.Context(), config, func(p *policy.Policy, l ownersLedger) error {
				if _, known := p.Analyst(args[0]); !known && !p.HasRole(args[0]) {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: warning: %s has no analyst %q, and no role of that name with a budget\n", config, args[0])
				}
				if err := l.Grant(cmd.Context(), args[0], epsilon, whoami(), reason); err != nil {
					return err
				}
				if a, known := p.Analyst(args[0]); known && a.Epsilon == p.Budget.Epsilon {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: note: %s has no quota, and may spend the whole budget anyway: the grant changes nothing unless the policy gives one\n", args[0])
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
		Long: `Record that the data set's budget (epsilon, delta) or lifetime is now the larger one of the policy.
This is a new promise to the people of the data, so tell them. A smaller budget is refused.

It holds from the present window on. That window then counts against the lifetime with the larger
budget. Accountant, window and people stay as they were. So does the Renyi order until the window
ends, because it was fixed at the window's first charge. dpsql says if another order would hold more.

A running server reads the policy file again, and goes on under the larger promise. Other servers
that share a ledger in PostgreSQL need dpsql reload, or a restart with the new policy.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			p, err := policy.Places(config) // a running server has the secrets
			if err != nil {
				return err
			}
			if s, up := owner.Dial(cmd.Context(), p.Socket); up {
				err = s.Raise(cmd.Context(), promiseOf(p), whoami(), reason)
			} else {
				p, err = raiseAlone(cmd.Context(), config, reason)
			}
			if err != nil {
				return err
			}
			if _, err = fmt.Fprintf(cmd.OutOrStdout(), "promised: %s\n", promiseOf(p)); err != nil {
				return err
			}
			noteOrder(cmd, config)
			return nil
		},
	}
	configFlag(c, &config)
	c.Flags().StringVar(&reason, "reason", "", "why, for the ledger")
	if err := c.MarkFlagRequired("reason"); err != nil {
		panic(err)
	}
	return c
}

// noteOrder says where the ledger's order does not fit the policy. What was done is done, so where the budget cannot be read it says nothing.
func noteOrder(cmd *cobra.Command, config string) {
	_ = withLedger(cmd.Context(), config, func(_ *policy.Policy, l ownersLedger) error {
		b, err := l.Budget(cmd.Context())
		for _, d := range b.Datasets {
			if d.Note != "" {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: note: %s\n", d.Note)
			}
		}
		return err
	})
}

// raiseAlone takes the ledger itself: no server runs, or servers share it.
func raiseAlone(ctx context.Context, config, reason string) (_ *policy.Policy, err error) {
	p, err := policy.Load(config)
	if err != nil {
		return nil, err
	}
	head, err := server.Head(p, "raise")
	if err != nil {
		return nil, err
	}
	l, err := takeLedger(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return p, l.Raise(ctx, head, whoami(), reason)
}

// promiseOf is what a policy promises.
func promiseOf(p *policy.Policy) owner.Promise {
	return owner.Promise{Dataset: p.Dataset, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta, Lifetime: p.Budget.Lifetime}
}

// Raise makes the larger promise of the policy file, and puts that policy in force.
func (s *daemon) Raise(ctx context.Context, promise owner.Promise, by, reason string) error {
	p, err := policy.Load(s.config)
	if err != nil {
		return err
	}
	if now := promiseOf(p); now != promise {
		return fmt.Errorf("the running server's policy file %s says %s, this one %s: give the server's own file to --config", s.config, now, promise)
	}
	before := s.Engine.Policy()
	if err := s.Engine.Raise(ctx, p, by, reason); err != nil {
		return err
	}
	s.Log.Warn("promise raised", "promise", promise.String(), "by", by, "reason", reason)
	s.reloaded(before, p)
	return nil
}
