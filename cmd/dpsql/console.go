package main

import (
	"context"
	"crypto/tls"
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
	c.AddCommand(link)
	return c
}

// openConsole makes the page for browsers. On an address of this machine it is clear text; elsewhere it has the wire's certificate.
func (s *daemon) openConsole(l net.Listener) {
	o := console.Options{Connect: s.Wire.Connect, Owner: &s.Service, Database: s.Engine.Database, Logger: s.Log, Loopback: s.policy.IsConsoleLocal()}
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

var errNoConsole = fmt.Errorf("the server has no console. Write console: {listen: %s} into its policy, and start it again", policy.DefaultConsole)
