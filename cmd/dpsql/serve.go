package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/console"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/ops"
	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/proxy"
)

func serveCommand() *cobra.Command {
	var config, listen string
	c := &cobra.Command{
		Use:   "serve --config policy.yaml",
		Short: "Serve the data set of a policy file to analysts",
		Long: `Serve the data set of a policy file over PostgreSQL's wire protocol until interrupted. The policy
names the database, the privacy unit, what may be asked and what it may cost: see docs/policy.md.

SIGHUP (or dpsql reload) reads the policy and the certificate again, and opens the audit log anew.
SIGTERM and SIGINT give running statements limits.stop_time to end.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := policy.Load(config)
			if err != nil {
				return err
			}
			written := p.Listen
			if listen != "" {
				if err := p.SetListen(listen); err != nil {
					return err
				}
			}
			s := &daemon{config: config, policy: p, listen: written, Service: owner.Service{Log: slog.New(slog.NewJSONHandler(os.Stderr, nil))}}
			return s.run(cmd.Context())
		},
	}
	configFlag(c, &config)
	c.Flags().StringVar(&listen, "listen", "", "address to listen on, in place of the policy's")
	return c
}

// daemon is one running `dpsql serve`.
type daemon struct {
	config string
	policy *policy.Policy // as it was at the start
	listen string         // as the file had it then, whatever --listen said

	owner.Service
	certs *proxy.Certificates // nil without TLS
	signs *proxy.Authorities  // of clients' certificates; nil where none are asked for

	tcp net.Addr // where it listens for analysts

	page    *console.Server // nil without one
	pageURL string
}

func (s *daemon) run(ctx context.Context) (err error) {
	p := s.policy
	hangup := make(chan os.Signal, 1) // from the first moment: while the server starts, too, a SIGHUP must not end it
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	progress := startProgress(os.Stderr, "reading the data")
	ready := sync.OnceFunc(progress.End)
	defer ready()
	b, err := openBackend(ctx, p)
	if err != nil {
		return err
	}
	defer closing(s.Log, "backend", b.Close)
	s.Backend = b
	progress.At("reading the schema and the ledger")
	var watch ops.Observers
	if p.Audit != "none" {
		if s.Audit, err = ops.OpenAudit(p.Audit, s.Log); err != nil {
			return err
		}
		defer closing(s.Log, "audit log", s.Audit.Close)
		watch = append(watch, s.Audit)
	}
	metrics := ops.NewMetrics(versionText())
	watch = append(watch, metrics, &s.Recent)
	if s.Audit != nil {
		metrics.Audit(s.Audit)
	}
	if s.Engine, err = server.Open(ctx, server.Options{Policy: p, Backend: b, Logger: s.Log, Observer: watch}); err != nil {
		if errors.Is(err, ledger.ErrInUse) {
			err = fmt.Errorf("%w. If a dpsql serves this policy already, stop it first, or let it read the changed policy: dpsql reload --config %s", err, s.config)
		}
		return err
	}
	defer closing(s.Log, "ledger", s.Engine.Close)
	metrics.Budget(s.Engine.Accounts)
	warnOfRights(ctx, s.Log, b, p)
	if loose := looseFiles(p); len(loose) > 0 {
		s.Log.Warn("others on this machine may read or write the ledger's files", "run", tighten(loose))
	}

	o, err := s.wireOptions(ctx)
	if err != nil {
		return err
	}
	o.Metrics = metrics
	post := s.Engine.Post()
	if post != nil {
		o.Post = post
	}
	if s.Wire, err = proxy.New(wire{s.Engine}, o); err != nil {
		return err
	}
	// Everything is opened before anything is served, so that a wrong address fails at once.
	l, err := net.Listen("tcp", p.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken by another program, such as dpsql demo: stop it, or choose another port with --listen or listen: in the policy", p.Listen)
	}
	if err != nil {
		return err
	}
	ready()
	s.tcp = l.Addr()
	opened := []io.Closer{l}
	closeAll := func(err error) error {
		for _, c := range opened {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	served := []func(context.Context) error{func(ctx context.Context) error { return s.Wire.Serve(ctx, l) }}
	if p.Socket != "none" {
		sock, err := owner.Listen(ctx, p.Socket)
		if err != nil {
			return closeAll(err)
		}
		opened = append(opened, sock)
		served = append(served, func(ctx context.Context) error { return owner.Serve(ctx, sock, s) })
	}
	if p.Metrics != "" {
		ml, err := net.Listen("tcp", p.Metrics)
		if err != nil {
			return closeAll(err)
		}
		served = append(served, func(ctx context.Context) error {
			return ops.Serve(ctx, ml, metrics, s.Healthy)
		})
	}
	if p.Console != "" {
		cl, err := net.Listen("tcp", p.Console)
		if err != nil {
			return closeAll(err)
		}
		s.openConsole(cl)
		served = append(served, func(ctx context.Context) error { return s.page.Serve(ctx, cl) })
	}
	if post != nil {
		served = append(served, func(ctx context.Context) error {
			return post.Listen(ctx, s.Wire.Hear, func(error) {
				s.Log.Warn("cancels that reach other proxies are not heard until the ledger's server answers")
			})
		})
	}
	served = append(served, engine.Looker(s.Engine).Run, func(ctx context.Context) error { return s.reloadOn(ctx, hangup) })
	s.Log.Info("serving", "dataset", p.Dataset, "listen", l.Addr().String(), "tls", s.certs != nil, "metrics", p.Metrics, "socket", p.Socket, "audit", p.Audit)
	err = together(ctx, served)
	s.Log.Info("stopped", "dataset", p.Dataset)
	return err
}

// Address is where the server listens for analysts: the host as --listen or the policy writes it, which certificates name, and the port that it got.
func (s *daemon) Address() string {
	host, _, _ := net.SplitHostPort(s.policy.Listen)
	_, port, _ := net.SplitHostPort(s.tcp.String())
	return net.JoinHostPort(host, port)
}

// together runs all until the first ends; then it stops the others. The error is that of the first that failed.
func together(ctx context.Context, run []func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, len(run))
	for _, f := range run {
		go func() {
			defer cancel()
			done <- f(ctx)
		}()
	}
	var first error
	for range run {
		if err := <-done; first == nil {
			first = err
		}
	}
	return first
}

// reloadOn obeys SIGHUP until ctx ends.
func (s *daemon) reloadOn(ctx context.Context, hangup <-chan os.Signal) error {
	for {
		select {
		case <-hangup:
			if err := s.Reload(ctx); err != nil {
				s.Log.Error("the reload was refused; the server goes on as it was", "error", err.Error())
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Reload reads the policy file, the certificate and the authorities of clients' certificates again, and opens the audit log anew. Each that is wrong leaves what was
// in force.
func (s *daemon) Reload(ctx context.Context) error {
	var errs []error
	if s.certs != nil {
		errs = append(errs, s.certs.Reload())
	}
	if s.signs != nil {
		errs = append(errs, s.signs.Reload())
	}
	if s.Audit != nil {
		errs = append(errs, s.Audit.Reopen())
	}
	p, err := policy.Load(s.config)
	if err == nil {
		before := s.Engine.Policy()
		if err = s.Engine.Reload(ctx, p); err == nil {
			s.reloaded(before, p)
		}
	}
	return errors.Join(append(errs, err)...)
}

// reloaded ends the sessions of analysts who are gone or have another password, and names what waits for a restart.
func (s *daemon) reloaded(before, now *policy.Policy) {
	for _, a := range before.Analysts {
		if b, ok := now.Analyst(a.Name); !ok || b.Verifier != a.Verifier {
			s.Wire.Terminate(a.Name)
		}
	}
	waits := s.policy.Limits.Waiting(now.Limits)
	for _, k := range []struct {
		key  string
		same bool
	}{
		{"listen", s.listen == now.Listen}, {"console", s.policy.Console == now.Console}, {"metrics", s.policy.Metrics == now.Metrics}, {"socket", s.policy.Socket == now.Socket}, {"audit", s.policy.Audit == now.Audit},
		{"balancers", now.Balancers.Header == s.policy.Balancers.Header && slices.Equal(now.Balancers.Addresses, s.policy.Balancers.Addresses)}, {"tls", (s.policy.TLS == nil) == (now.TLS == nil) && (now.TLS == nil || *s.policy.TLS == *now.TLS)},
	} {
		if !k.same {
			waits = append(waits, k.key)
		}
	}
	s.Log.Info("reloaded", "wait_for_restart", waits)
}

// wireOptions are the policy's limits and certificate.
func (s *daemon) wireOptions(ctx context.Context) (proxy.Options, error) {
	p, l := s.policy, s.policy.Limits
	o := proxy.Options{
		Logger: s.Log, RequireTLS: p.IsTLSRequired(), MaxMessage: int(l.Message), MaxSessions: int(l.Sessions), MaxSessionsPerUser: int(l.SessionsPerAnalyst),
		MaxPreAuth: int(l.WaitingLogins), MaxStatements: int(l.PreparedStatements), MaxPortals: int(l.Portals), MaxStatementBytes: int(l.StatementMemory),
		Balancers: p.Balancers.Addresses, ProxyProtocol: p.Balancers.Header, MaxAnswerBytes: int(l.AnswerMemory), MaxAllAnswers: int(l.AllAnswerMemory), LoginTimeout: l.LoginTime, IdleTimeout: l.IdleTime, WriteTimeout: l.WriteTime, StopGrace: l.StopTime,
	}
	var err error
	if o.ServerSecret, err = s.Engine.Secret(ctx); err != nil {
		return o, err
	}
	o.Iterations = func() int { return s.Engine.Policy().ScramIterations }
	if p.TLS == nil {
		return o, nil
	}
	if s.certs, err = proxy.LoadCertificates(p.TLS.Cert, p.TLS.Key); err != nil {
		return o, err
	}
	o.TLS = &tls.Config{GetCertificate: s.certs.GetCertificate}
	if p.TLS.ClientCA == "" {
		return o, nil
	}
	if s.signs, err = proxy.LoadAuthorities(p.TLS.ClientCA); err != nil {
		return o, err
	}
	o.ClientCerts = &proxy.ClientCerts{Authorities: s.signs.Pool, Login: proxy.ClientLogin(p.TLS.ClientCert), Name: proxy.CertName(p.TLS.ClientName)}
	return o, nil
}

// warnOfRights says at the start what dpsql check says at length: the backend's role should read the listed tables and no more.
func warnOfRights(ctx context.Context, log *slog.Logger, b backend.Backend, p *policy.Policy) {
	a, ok := b.(backend.Auditor)
	if !ok {
		return
	}
	audit, err := a.Audit(ctx, listed(p))
	switch {
	case err != nil:
		log.Warn("the rights of the backend's role could not be read", "error", err.Error())
	case len(audit.Findings) > 0:
		log.Warn("the backend's role may do more, or less, than read the policy's tables: run dpsql check", "role", audit.Role, "findings", len(audit.Findings))
	}
}
