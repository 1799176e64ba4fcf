package proxy

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// inside logs in over a connection of Server.Connect.
func inside(t *testing.T, srv *Server, proved, user, password string, ended func()) (*pgconn.PgConn, error) {
	t.Helper()
	cfg, err := pgconn.ParseConfig("host=127.0.0.1 sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password, cfg.Database = user, password, "demo"
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		return srv.Connect(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 9}, proved, ended), nil
	}
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

// TestConnect: a room of this process gets a session for a password, or for the one user who was proved, and for nobody else. Rows have intervals behind them there alone.
func TestConnect(t *testing.T) {
	a := newAuthority(t)
	for name, o := range map[string]Options{
		"plain":   {},
		"TLS":     {TLS: a.issueNow(t), RequireTLS: true},
		"headers": {Balancers: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32")}, ProxyProtocol: true, TLS: a.issueNow(t)},
	} {
		srv, err := New(newScripted(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer srv.stop()
		for _, login := range []struct {
			proved, user, password string
			ok                     bool
		}{{"", "analyst", "secret", true}, {"", "analyst", "wrong", false}, {"", "stranger", "secret", false}, {"analyst", "analyst", "", true}, {"analyst", "analyst2", "", false},
			{"analyst", "analyst2", "secret", false}, {"stranger", "stranger", "", false}, {"", "analyst", "", false}} {
			ended := make(chan struct{})
			conn, err := inside(t, srv, login.proved, login.user, login.password, func() { close(ended) })
			if (err == nil) != login.ok {
				t.Errorf("%s, %+v: %v", name, login, err)
			}
			if err != nil {
				<-ended
				continue
			}
			res := conn.ExecParams(t.Context(), "SHOW server_version", nil, nil, nil, nil).Read()
			if n := len(res.FieldDescriptions); res.Err != nil || n != 2 || res.FieldDescriptions[1].Name != "intervals" || len(res.Rows[0]) != 2 || res.Rows[0][1] != nil {
				t.Errorf("%s: %d columns, %v", name, n, res.Err)
			}
			select {
			case <-ended:
				t.Error("a session is over too early")
			default:
			}
			srv.Terminate(login.user)
			_, _ = conn.ReceiveMessage(t.Context()) // its FATAL
			<-ended
		}
	}
	srv, err := New(newScripted(), Options{TLS: a.issueNow(t), ClientCerts: &ClientCerts{Authorities: pool(t, a), Login: VerifyCA}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	if _, err := inside(t, srv, "", "analyst", "secret", func() {}); err == nil || !strings.Contains(err.Error(), "client certificate") {
		t.Errorf("a password in place of a certificate: %v", err)
	}
	conn := dial(t, proxyURL(startProxy(t, newScripted(), Options{})))
	if res := conn.ExecParams(t.Context(), "SHOW server_version", nil, nil, nil, nil).Read(); res.Err != nil || len(res.FieldDescriptions) != 1 {
		t.Errorf("elsewhere: %v", res.FieldDescriptions)
	}
}
