package ops

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// Metrics counts what happens on the wire and what is asked and charged. It serves the proxy and the engine as their counter.
type Metrics struct {
	registry   *prometheus.Registry
	sessions   prometheus.Gauge
	logins     *prometheus.CounterVec
	statements *prometheus.CounterVec
	private    *prometheus.CounterVec
	price      *prometheus.CounterVec
	bytes      *prometheus.CounterVec
}

// NewMetrics makes the counters of one server.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dpsql_sessions", Help: "Sessions that are open now."}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpsql_failed_logins_total", Help: "Log-ins that were refused, by SQLSTATE."},
			[]string{"code"}),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpsql_statements_total", Help: "Statements that ended, by ok or SQLSTATE."},
			[]string{"outcome"}),
		private: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpsql_private_statements_total", Help: "Statements over private rows that were priced, by analyst and outcome."},
			[]string{"analyst", "outcome"}),
		price: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpsql_charged_epsilon_total", Help: "Prices of charged statements, by analyst."},
			[]string{"analyst"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpsql_wire_bytes_total", Help: "Bytes of the wire protocol, without TLS."},
			[]string{"direction"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "dpsql_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(build, m.sessions, m.logins, m.statements, m.private, m.price, m.bytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Budget shows the ledger's balances beside the counters; accounts gives them whenever they are asked for.
func (m *Metrics) Budget(accounts func() (ledger.Accounts, error)) {
	m.registry.MustRegister(&budgetCollector{accounts})
}

// Audit shows whether the audit log can be written.
func (m *Metrics) Audit(a *Audit) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dpsql_audit_failing", Help: "1 while the last line of the audit log could not be written, else 0."}, func() float64 {
			if a.Failing() {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "dpsql_audit_failures_total", Help: "Lines of the audit log that could not be written."}, func() float64 { return float64(a.failures.Load()) }))
}

// SessionOpened counts a session that logged in.
func (m *Metrics) SessionOpened() { m.sessions.Inc() }

// SessionClosed counts its end.
func (m *Metrics) SessionClosed() { m.sessions.Dec() }

// LoginFailed counts a log-in that was refused.
func (m *Metrics) LoginFailed(code string) { m.logins.WithLabelValues(code).Inc() }

// Statement counts one that ended.
func (m *Metrics) Statement(outcome string) { m.statements.WithLabelValues(outcome).Inc() }

// Bytes counts the wire's.
func (m *Metrics) Bytes(received, sent int) {
	m.bytes.WithLabelValues("received").Add(float64(received))
	m.bytes.WithLabelValues("sent").Add(float64(sent))
}

// Charged does nothing: a charge is counted at its statement's end.
func (m *Metrics) Charged(server.AuditEvent) {}

// Ended counts a private statement.
func (m *Metrics) Ended(h server.AuditEvent) {
	m.private.WithLabelValues(h.Analyst, string(h.Outcome)).Inc()
	if h.Reservation != 0 {
		m.price.WithLabelValues(h.Analyst).Add(h.Price)
	}
}

// budgetCollector reads the ledger's balances when it is asked.
type budgetCollector struct {
	accounts func() (ledger.Accounts, error)
}

var (
	spentDesc = prometheus.NewDesc("dpsql_budget_spent", "Spent of the data set's budget in this window: sides pure (epsilon), renyi, delta. A side that has ended or does not exist is absent.",
		[]string{"data_set", "side"}, nil)
	roomDesc     = prometheus.NewDesc("dpsql_budget_room", "What the window's budget holds in all, by side.", []string{"data_set", "side"}, nil)
	frozenDesc   = prometheus.NewDesc("dpsql_frozen", "Freezes that hold.", nil, nil)
	lifetimeDesc = prometheus.NewDesc("dpsql_lifetime_epsilon", "Epsilon of all charged windows (spent), and the lifetime's (limit).", []string{"kind"}, nil)
)

// Describe names what Collect gives.
func (c *budgetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{spentDesc, roomDesc, frozenDesc, lifetimeDesc} {
		to <- d
	}
}

// Collect reads the balances.
func (c *budgetCollector) Collect(to chan<- prometheus.Metric) {
	a, err := c.accounts()
	if err != nil {
		to <- prometheus.NewInvalidMetric(spentDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, x float64, labels ...string) {
		if !math.IsInf(x, 0) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
		}
	}
	for _, d := range a.Datasets {
		s, r := d.Account.Spent, d.Account.Rooms
		gauge(spentDesc, s.Pure, d.Dataset, "pure")
		gauge(spentDesc, s.Delta, d.Dataset, "delta")
		gauge(roomDesc, r.Pure, d.Dataset, "pure")
		gauge(roomDesc, r.Delta, d.Dataset, "delta")
		if r.Renyi > 0 { // else there is no such side
			gauge(spentDesc, s.Renyi, d.Dataset, "renyi")
			gauge(roomDesc, r.Renyi, d.Dataset, "renyi")
		}
	}
	gauge(frozenDesc, float64(len(a.Frozen)))
	gauge(lifetimeDesc, a.Lifetime.Spent, "spent")
	if a.Lifetime.Limited {
		gauge(lifetimeDesc, a.Lifetime.Epsilon, "limit")
	}
}
