package ops

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dpsql/dpsql/internal/engine/server"
)

// Serve answers /metrics and /healthz on l until ctx ends. healthy says what is wrong, or nil; the words go to the owner's
// network, so they name no statement.
func Serve(ctx context.Context, l net.Listener, m *Metrics, healthy func(context.Context) error) error {
	mux := http.NewServeMux()
	// A ledger that cannot be read takes its gauges away, not the counters; /healthz says so.
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "ok\n"
		var goesOn Degraded
		switch err := healthy(r.Context()); {
		case errors.As(err, &goesOn):
			text = "ok, but " + goesOn.Error() + "\n"
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			text = err.Error() + "\n"
		}
		_, _ = w.Write([]byte(text)) // the asker may be gone
	})
	s := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Degraded is what is wrong with a server that goes on: /healthz says it, and stays 200.
type Degraded string

// Error is the words.
func (d Degraded) Error() string { return string(d) }

// Observers are several of them as one.
type Observers []server.Observer

// Charged tells all.
func (ws Observers) Charged(h server.AuditEvent) {
	for _, w := range ws {
		w.Charged(h)
	}
}

// Ended tells all.
func (ws Observers) Ended(h server.AuditEvent) {
	for _, w := range ws {
		w.Ended(h)
	}
}
