package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

// errFound ends a command that did its work and found something to mend: exit code 3.
var errFound = errors.New("found")

func checkCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "check --config policy.yaml",
		Short: "Check a policy against the live database: all mistakes at once",
		Long: `Check a policy file against the live database. All mistakes come at once, each with its line:

  - keys, tables and columns that do not exist
  - keys that the database does not enforce
  - tables whose rows lead to a second person, and views whose rows come from several people
  - row-level security
  - rights that the backend's role lacks or does not need, with the SQL that mends them
  - a budget that is not the one that the ledger promised

A warning is about something that dpsql accepts, but that you should look at. In a PostgreSQL with
Citus that includes tables that are not distributed by the unit's column. No row is read.

Exit code: 0 nothing wrong, 1 could not check, 3 mistakes were found.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd, config) },
	}
	configFlag(c, &config)
	return c
}

func check(cmd *cobra.Command, config string) (err error) {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := startProgress(cmd.ErrOrStderr(), "reading the schema")
	defer progress.End()
	var b backend.Backend
	r, err := policy.Check(config, func(p *policy.Policy) (_ []sqltype.Relation, err error) {
		if b, err = openBackend(ctx, p); err != nil {
			return nil, err
		}
		return server.Describe(ctx, b, p)
	})
	if b != nil {
		defer func() { err = errors.Join(err, b.Close()) }()
	}
	if r == nil {
		return err
	}
	if err == nil {
		err = spread(ctx, b, r)
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	for _, p := range r.Problems {
		say("%s\n", problem(config, "", p))
	}
	for _, p := range r.Warnings {
		say("%s\n", problem(config, coloured(out, yellow, "warning: "), p))
	}
	findings, warnings := 0, len(r.Warnings)
	named := r.Policy.Dataset != "" // else nobody knows which files are the ledger's
	if loose := looseFiles(r.Policy); named && len(loose) > 0 {
		say("%s: "+coloured(out, yellow, "warning:")+" others on this machine may read or write the ledger's files\n    %s\n", config, tighten(loose))
		warnings++
	}
	if t := r.Policy.TLS; t != nil && t.Cert != "" && t.Key != "" {
		if _, err := proxy.LoadCertificates(t.Cert, t.Key); err != nil {
			say("tls: %v\n", err)
			findings++
		}
	}
	if t := r.Policy.TLS; t != nil && t.ClientCA != "" {
		if _, err := proxy.LoadAuthorities(t.ClientCA); err != nil {
			say("tls: %v\n", err)
			findings++
		}
	}
	var others []string
	if named {
		others = rivals(config, r.Policy)
	}
	for _, text := range others {
		say("%s: %s %s\n", config, coloured(out, yellow, "warning:"), text)
	}
	warnings += len(others)
	if err == nil && named {
		found, err := otherLedger(ctx, b, r.Policy)
		if err != nil {
			return err
		}
		if found == nil {
			found = otherPromise(ctx, r.Policy)
		}
		if found != nil {
			say("%v\n", found)
			findings++
		}
	}
	var files *duckdb.FilesError
	switch {
	case errors.As(err, &files):
		say("%v\n", files)
		findings += len(files.Mistakes)
	case err != nil:
		say("the schema could not be checked\n")
		return err
	}
	if a, ok := b.(backend.Auditor); ok {
		progress.At("checking the rights of the backend's role")
		audit, err := a.Audit(ctx, listed(r.Policy))
		if err != nil {
			return err
		}
		findings += printAudit(out, audit, r)
	}
	if len(r.Problems)+findings > 0 {
		say("%s, %s\n", counted(len(r.Problems)+findings, "mistake"), counted(warnings, "warning"))
		return errFound
	}
	say("%s: no mistakes, %s\n", config, counted(warnings, "warning"))
	return nil
}

// spread adds what is to be said of a distributed backend.
func spread(ctx context.Context, b backend.Backend, r *policy.Review) error {
	s, ok := b.(backend.Spreader)
	if !ok {
		return nil
	}
	list, err := s.Spread(ctx, relations(r.Policy))
	if err != nil {
		return err
	}
	var tables []policy.Spread
	for _, t := range list {
		tables = append(tables, policy.Spread{Relation: policy.RelationName{Schema: t.Schema, Name: t.Name}, Cut: t.How == backend.Cut, Copied: t.How == backend.Copied, Column: t.Column, Group: t.Group})
	}
	r.Spread(tables)
	return nil
}

func problem(file, kind string, p policy.Problem) string {
	s := fmt.Sprintf("%s:%d:%d: %s%s", file, p.Line, p.Col, kind, p.Message)
	if p.Hint != "" {
		s += "\n    " + p.Hint
	}
	return s
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// printAudit tells what the backend's role may do that it need not, and the SQL that mends it. A missing right that is a
// mistake of the policy's tables already is left out; the number of the other findings is given.
func printAudit(out io.Writer, a *backend.Audit, r *policy.Review) (n int) {
	if a.Script == "" {
		return 0
	}
	for _, f := range a.Findings {
		if slices.Contains(r.Unread, policy.RelationName(f.Unread)) {
			continue
		}
		if n++; n == 1 {
			_, _ = fmt.Fprintf(out, "the backend's role %s:\n", a.Role)
		}
		_, _ = fmt.Fprintf(out, "  %s\n", f.What)
	}
	_, _ = fmt.Fprintf(out, "as an administrator of the database, run:\n\n%s\n", a.Script)
	if a.Instead != "" {
		_, _ = fmt.Fprintf(out, "then let dpsql connect as %s, and check again. Under backend in %s, or in the variable that it names, write\n  %s\n\n",
			a.Instead, r.Policy.Name, asRole(r.Policy.Backend.Postgres, a.Instead))
	}
	return n
}

// asRole is a database's URL for another role, without its password.
func asRole(text, role string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "postgres://" + role + "@host/database"
	}
	options := u.Query()
	for _, secret := range []string{"user", "password", "sslpassword", "passfile"} {
		options.Del(secret)
	}
	u.RawQuery = options.Encode()
	_, has := u.User.Password()
	if u.User = url.User(role); has {
		u.User = url.UserPassword(role, "PASSWORD")
	}
	return u.String()
}
