package proxy

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"
	"time"
)

// Options limit what clients may use. Zero values mean the defaults.
type Options struct {
	Logger  *slog.Logger // nothing is logged by default
	Metrics Metrics      // nothing is counted by default
	Post    Post         // to the other proxies over the same ledger, for cancels of their sessions; none by default

	// TLS is the server's side of TLS: GetCertificate (as Certificates has it) or exactly one certificate. It is used from
	// TLS 1.2 on, for upgrades by SSLRequest and for clients that begin with TLS (sslnegotiation=direct). Without it no
	// encryption is offered.
	TLS *tls.Config
	// RequireTLS refuses log-ins in clear text, before any password is asked for. Cancel requests are taken: libpq 15 sends
	// them in clear text always. Of clients of other machines that come through Balancers TLS is required whatever it says.
	RequireTLS bool
	// ClientCerts asks clients for certificates; log-ins then need TLS, whatever RequireTLS says. nil asks for none.
	ClientCerts *ClientCerts

	// Balancers are the addresses of TCP balancers before this proxy. Their clients are counted together with nobody's: an address of many clients has no limit of its own.
	Balancers []netip.Prefix
	// ProxyProtocol says that each connection from Balancers begins with a header of the PROXY protocol, version 2, which has the client's own address.
	ProxyProtocol bool

	MaxMessage         int           // bytes of one message's body; 8 MiB. A longer one ends the session: 54000
	MaxSessions        int           // sessions at once; 100, PostgreSQL's max_connections. 53300
	MaxSessionsPerUser int           // sessions of one analyst at once, so that nobody locks the others out; 20. 53300
	MaxPreAuth         int           // connections of one address (IPv6: of one /64) that have not logged in; 50. Then one of them is closed (givesWay)
	MaxStatements      int           // prepared statements of one session; 1000. 53400
	MaxPortals         int           // portals of one session; 1000. 53400
	MaxStatementBytes  int           // memory of one session's prepared statements and portals, as estimated from texts, trees and parameters; 32 MiB. 53400
	MaxAnswerBytes     int           // memory of answers that one session's portals hold unread, about: more statements are not run; 64 MiB. 53400
	MaxAllAnswers      int           // memory of the answers that all sessions hold unread, about: the session that holds most ends, or gives its new answer up; 256 MiB. 53400
	LoginTimeout       time.Duration // from accept to the end of authentication, TLS included; 60 s, PostgreSQL's authentication_timeout
	IdleTimeout        time.Duration // of a session that sends no message; 0 is none. 57P05
	WriteTimeout       time.Duration // for a client that does not read; 60 s
	StopGrace          time.Duration // for running statements when Serve is stopped; 5 s
	// ServerSecret derives the salts shown to users who do not exist. By default it is random for each Server: then such a salt
	// changes when the proxy restarts, and that of a user does not.
	ServerSecret []byte
	// Iterations is the SCRAM iteration count that users who do not exist are shown, asked at each log-in. None: 4096. It does not follow from the users, so that one who is added or changed changes nothing for the others.
	Iterations func() int

	now   func() time.Time                           // the clock of failed log-ins
	sleep func(ctx context.Context, d time.Duration) // waits, or less if ctx ends
}

// Metrics counts what happens on the wire. Its methods are called by many sessions at once and must not block. No argument
// holds a name, a text or a value of a client's.
type Metrics interface {
	SessionOpened()
	SessionClosed()
	// LoginFailed is a log-in that was refused, with its SQLSTATE.
	LoginFailed(code string)
	// Statement is one that ended: "ok" or its error's SQLSTATE. A message of several counts each.
	Statement(outcome string)
	// Bytes counts the protocol's bytes, without TLS.
	Bytes(received, sent int)
}

type noMetrics struct{}

func (noMetrics) SessionOpened()     {}
func (noMetrics) SessionClosed()     {}
func (noMetrics) LoginFailed(string) {}
func (noMetrics) Statement(string)   {}
func (noMetrics) Bytes(_, _ int)     {}

func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	for _, d := range []struct {
		v   *int
		def int
	}{{&o.MaxMessage, 8 << 20}, {&o.MaxSessions, 100}, {&o.MaxSessionsPerUser, 20}, {&o.MaxPreAuth, 50}, {&o.MaxStatements, 1000}, {&o.MaxPortals, 1000},
		{&o.MaxStatementBytes, 32 << 20}, {&o.MaxAnswerBytes, 64 << 20}, {&o.MaxAllAnswers, 256 << 20}} {
		if *d.v < 0 {
			return o, fmt.Errorf("proxy: a limit is negative")
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&o.LoginTimeout, time.Minute}, {&o.IdleTimeout, 0}, {&o.WriteTimeout, time.Minute}, {&o.StopGrace, 5 * time.Second}} {
		if *d.v < 0 {
			return o, fmt.Errorf("proxy: a time is negative")
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if len(o.ServerSecret) == 0 {
		o.ServerSecret = make([]byte, 32)
		if _, err := rand.Read(o.ServerSecret); err != nil {
			return o, fmt.Errorf("proxy: %w", err)
		}
	}
	if o.Iterations == nil {
		o.Iterations = func() int { return usualIterations }
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	var err error
	o.TLS, err = serverTLS(o.TLS)
	if err == nil && o.ClientCerts != nil {
		o.RequireTLS = true
		err = o.ClientCerts.valid()
	}
	if err == nil && o.TLS == nil && o.RequireTLS {
		err = fmt.Errorf("proxy: TLS is required and there is no certificate")
	}
	return o, err
}

// sleep waits, or less if ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// usualIterations is how PostgreSQL writes verifiers.
const usualIterations = 4096
