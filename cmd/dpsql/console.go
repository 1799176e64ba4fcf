package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/console"
	"github.com/dpsql/dpsql/internal/policy"
)

// linkTime is how long a link to the console may lie unused.
const linkTime = time.Minute

func consoleCommand() *cobra.Command {
	c := &cobra.Command{Use: "console", Short: "The page for browsers: analysts ask, and owners see the budget"}
	var config, user string
	var owners bool
	link := &cobra.Command{
		Use:   "link --config policy.yaml {--user analyst | --owner}",
		Short: "Print a link that logs in to the console, once and within a minute",
		Long: `Print a link to the console. It works once, within a minute. The running server is asked over its
socket.

--user logs an analyst in. --owner opens the owner's page: budget and forecast, ledger with
statements, releases, analysts, running statements and failures. It can freeze and unfreeze. Whoever
has the link sees every analyst's statements, so give it to nobody.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := runningServer(cmd.Context(), config)
			if err != nil {
				return err
			}
			var url string
			if owners {
				url, err = s.OwnerLink(cmd.Context(), whoami())
			} else {
				url, err = s.Link(cmd.Context(), user, whoami())
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), url)
			return err
		},
	}
	configFlag(link, &config)
	link.Flags().StringVar(&user, "user", "", "the analyst")
	link.Flags().BoolVar(&owners, "owner", false, "to the owner's page")
	link.MarkFlagsOneRequired("user", "owner")
	link.MarkFlagsMutuallyExclusive("user", "owner")
	c.AddCommand(link, endConsoleCommand())
	return c
}

func endConsoleCommand() *cobra.Command {
	var config, user string
	var owners bool
	end := &cobra.Command{
		Use:   "end --config policy.yaml {--user analyst | --owner}",
		Short: "End the sessions of the console, and make its unused links void",
		Long: `End an analyst's sessions of the console, or all of the owner's page. What runs in them is canceled.
Links that were printed and not used do not work any more. The running server is asked over its
socket.

It does not keep anybody out: an analyst can log in again. dpsql freeze does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := runningServer(cmd.Context(), config)
			if err != nil {
				return err
			}
			if !owners && user == "" {
				return errors.New("--user takes an analyst's name")
			}
			n, err := s.EndConsole(cmd.Context(), user, whoami())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ended sessions: %d\n", n)
			return err
		},
	}
	configFlag(end, &config)
	end.Flags().StringVar(&user, "user", "", "the analyst")
	end.Flags().BoolVar(&owners, "owner", false, "all of the owner's page")
	end.MarkFlagsOneRequired("user", "owner")
	end.MarkFlagsMutuallyExclusive("user", "owner")
	return end
}

// openConsole makes the page for browsers. On an address of this machine it is clear text; elsewhere it has the wire's certificate.
func (s *daemon) openConsole(l net.Listener) {
	o := console.Options{Connect: s.Wire.Connect, Owner: &s.Service, IsFrozen: s.IsFrozen, Database: s.Engine.Database, Logger: s.Log, Loopback: s.policy.IsConsoleLocal()}
	s.pageURL = "http://" + l.Addr().String() + "/"
	if !o.Loopback {
		o.TLS = &tls.Config{GetCertificate: s.certs.GetCertificate, MinVersion: tls.VersionTLS12}
		s.pageURL = "https://" + s.certificateHost(l) + "/"
	}
	s.page = console.New(o)
	s.Log.Info("console", "url", s.pageURL)
}

// certificateHost is the first name of the certificate that is no wildcard, with the console's port: the page answers to those names alone.
func (s *daemon) certificateHost(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if cert, err := s.certs.GetCertificate(&tls.ClientHelloInfo{}); err == nil && cert.Leaf != nil {
		names := slices.DeleteFunc(slices.Clone(cert.Leaf.DNSNames), func(name string) bool { return strings.HasPrefix(name, "*") })
		switch {
		case len(names) > 0:
			host = names[0]
		case len(cert.Leaf.IPAddresses) > 0:
			host = cert.Leaf.IPAddresses[0].String()
		}
	}
	return net.JoinHostPort(host, port)
}

// Link makes a link that logs an analyst in to the console.
func (s *daemon) Link(_ context.Context, analyst, by string) (string, error) {
	if s.page == nil {
		return "", errNoConsole
	}
	if _, ok := s.Engine.Verifier(analyst); !ok {
		return "", fmt.Errorf("the policy has no analyst %q", analyst)
	}
	s.Log.Warn("link to the console", "analyst", analyst, "by", by)
	return s.pageURL + s.page.Link(analyst, linkTime), nil
}

// OwnerLink makes a link to the owner's page.
func (s *daemon) OwnerLink(_ context.Context, by string) (string, error) {
	if s.page == nil {
		return "", errNoConsole
	}
	s.Log.Warn("link to the owner's page", "by", by)
	return s.pageURL + s.page.OwnerLink(by, linkTime), nil
}

// EndConsole ends an analyst's sessions of the console, or with "" all of the owner's page.
func (s *daemon) EndConsole(_ context.Context, analyst, by string) (int, error) {
	if s.page == nil {
		return 0, errNoConsole
	}
	n := s.page.EndSessions(analyst)
	s.Log.Warn("sessions of the console were ended", "analyst", analyst, "owner", analyst == "", "sessions", n, "by", by)
	return n, nil
}

var errNoConsole = fmt.Errorf("the server has no console. Write console: {listen: %s} into its policy, and start it again", policy.DefaultConsole)
