package policy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// ClientCerts are what a client's certificate may be good for: it comes beside a password, or (the last) alone.
var ClientCerts = []string{"verify-full", "verify-ca", CertAlone}

// CertAlone logs an analyst in by certificate, without a password.
const CertAlone = "cert"

// ClientNames are the parts of a certificate that may be the analyst's name.
var ClientNames = []string{"cn", "email", "dns"}

// HasPasswords reports that analysts log in with passwords, with or without a certificate.
func (t *TLS) HasPasswords() bool { return t == nil || t.ClientCert != CertAlone }

func (f *file) tls(n ast.Node) {
	t := &TLS{}
	var cert, name ast.Node
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
		{name: "client_ca", read: read("tls.client_ca", &t.ClientCA)},
		{name: "client_cert", read: func(n ast.Node) { cert = n }},
		{name: "client_name", read: func(n ast.Node) { name = n }},
	})
	f.clientCerts(t, cert, name)
	f.p.TLS = t
}

// clientCerts reads what clients' certificates are for. Without authorities nothing could be verified.
func (f *file) clientCerts(t *TLS, cert, name ast.Node) {
	const cure = "client_ca: the file of the authorities that sign clients' certificates"
	if t.ClientCA != "" {
		t.ClientCert, t.ClientName = ClientCerts[0], ClientNames[0]
	}
	if cert != nil {
		if t.ClientCert = f.choice(cert, "tls.client_cert", ClientCerts, nil); t.ClientCA == "" {
			f.add(at(cert), "tls.client_cert needs tls.client_ca").hint(cure)
		}
	}
	if name != nil {
		t.ClientName = f.choice(name, "tls.client_name", ClientNames, nil)
		switch {
		case t.ClientCA == "":
			f.add(at(name), "tls.client_name needs tls.client_ca").hint(cure)
		case t.ClientCert == "verify-ca":
			f.add(at(name), "tls.client_name beside client_cert: verify-ca would not be looked at").hint("client_cert: verify-full asks for the analyst's own certificate")
		}
	}
	if t.ClientCert == "verify-ca" {
		t.ClientName = ""
	}
}

// The words of balancers.proxy_protocol.
const (
	proxyV2   = "v2"
	proxyNone = "none"
)

// wideNetwork is of how many free bits a network is that check warns of.
const wideNetwork = 16

func (f *file) balancers(n ast.Node) {
	b := &f.p.Balancers
	b.at, b.Header = at(n), true
	f.fields(n, "balancers", []field{
		{name: "addresses", required: true, read: func(n ast.Node) {
			list, ok := f.items(n, "balancers.addresses")
			if !ok {
				return
			}
			for _, it := range list {
				w, ok := f.text(it, "balancers.addresses")
				if !ok {
					continue
				}
				p, err := netip.ParsePrefix(w.text)
				if a, single := netip.ParseAddr(w.text); err != nil && single == nil {
					p, err = netip.PrefixFrom(a, a.BitLen()), nil
				}
				switch {
				case err != nil || !p.IsValid() || p.Addr().Zone() != "" || p.Addr().Is4In6():
					f.add(w.position, "balancers.addresses: %q is no address", clip(w.text)).hint("an address such as 10.0.0.5, or a network such as 10.0.1.0/24")
				case p.Bits() == 0:
					f.add(w.position, "balancers.addresses: %s is everybody's address, so anybody could claim to come from anywhere", p).hint("the balancers' own addresses, such as 10.0.0.5")
				default:
					b.Addresses = append(b.Addresses, p.Masked())
				}
			}
		}},
		{name: "proxy_protocol", read: func(n ast.Node) {
			b.Header = f.choice(n, "balancers.proxy_protocol", []string{proxyV2, proxyNone}, nil) == proxyV2
		}},
	})
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

// IsTLSRequired reports that plaintext is refused: everywhere but on the machine's own addresses, and there too where clients need certificates.
func (p *Policy) IsTLSRequired() bool {
	if p.TLS != nil && p.TLS.ClientCA != "" {
		return true
	}
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

// DefaultConsole is the usual address of the console.
const DefaultConsole = "127.0.0.1:8543"

// console reads where the console listens: under the rule of listen. It asks for passwords, so it does not stand beside client certificates.
func (f *file) console(n ast.Node) {
	f.tell(n, sight{kind: sawWord, words: []string{"none"}})
	if w, ok := n.(*ast.StringNode); ok && w.Value == "none" {
		return
	}
	f.fields(n, "console", []field{{name: "listen", required: true, read: func(n ast.Node) {
		w, ok := f.text(n, "console.listen")
		if !ok {
			return
		}
		loopback, err := splitAddress("console.listen", w.text)
		switch {
		case err != nil:
			f.add(w.position, "%v", err).hint("such as %s", DefaultConsole)
		case !loopback && f.p.TLS == nil:
			f.add(w.position, "console.listen: other addresses than the machine's own need tls: {cert: ..., key: ...}").hint("such as %s", DefaultConsole)
		case f.p.TLS != nil && f.p.TLS.ClientCA != "":
			f.add(w.position, "console beside tls.client_ca: the console asks for passwords, and for no certificates").hint("console: none")
		default:
			f.p.Console = w.text
		}
	}}})
}

// IsConsoleLocal reports that the console is on one of the machine's own addresses.
func (p *Policy) IsConsoleLocal() bool {
	loopback, err := splitAddress("console.listen", p.Console)
	return err == nil && loopback
}
