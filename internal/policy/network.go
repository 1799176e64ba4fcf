package policy

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// TLS names the files of the server's certificate (PEM, with its chain) and private key.
type TLS struct{ Cert, Key string }

func (f *file) tls(n ast.Node) {
	t := &TLS{}
	read := func(what string, to *string) func(ast.Node) {
		return func(n ast.Node) {
			if w, ok := f.text(n, what); ok {
				*to = f.path(w.text)
			}
		}
	}
	f.fields(n, "tls", []field{
		{name: "cert", required: true, read: read("tls.cert", &t.Cert)},
		{name: "key", required: true, read: read("tls.key", &t.Key)},
	})
	f.p.TLS = t
}

func (f *file) listen(n ast.Node) {
	w, ok := f.text(n, "listen")
	if !ok {
		return
	}
	if err := f.p.SetListen(w.text); err != nil {
		f.add(w.position, "%v", err).hint("such as %s", defaultListen)
	}
}

// SetListen replaces the address to listen on, host:port, under the policy's own rule: other addresses than the machine's own
// need TLS.
func (p *Policy) SetListen(addr string) error {
	loopback, err := splitAddress("listen", addr)
	if err != nil {
		return err
	}
	if !loopback && p.TLS == nil {
		return errors.New("listen: other addresses than the machine's own need tls: {cert: ..., key: ...}")
	}
	p.Listen = addr
	return nil
}

// RequireTLS reports that plaintext is refused: everywhere but on the machine's own addresses.
func (p *Policy) RequireTLS() bool {
	loopback, err := splitAddress("listen", p.Listen)
	return err != nil || !loopback
}

// splitAddress checks host:port and tells whether it is the machine's own.
func splitAddress(what, addr string) (loopback bool, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return false, fmt.Errorf("%s must be host:port, not %q", what, clip(addr))
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// metrics reads the address of /metrics and /healthz. They say nothing about people, but how much is asked; so any address
// is the owner's to choose.
func (f *file) metrics(n ast.Node) {
	w, ok := f.text(n, "metrics")
	if !ok || w.text == "none" {
		return
	}
	if _, err := splitAddress("metrics", w.text); err != nil {
		f.add(w.position, "%v", err).hint("such as 127.0.0.1:9187, or none")
		return
	}
	f.p.Metrics = w.text
}
