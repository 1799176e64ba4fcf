package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
)

// originOf is where a connection comes from, by the address that it was accepted from.
func (srv *Server) originOf(a net.Addr) origin {
	o := originOf(a)
	for _, b := range srv.opts.Balancers {
		if o.prefix.IsValid() && b.Contains(a.(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")) {
			o.shared = true
		}
	}
	return o
}

// readProxyHeader reads what a declared balancer says before the client's first byte. A connection without it, or with another, ends without a word.
func (s *session) readProxyHeader() error {
	client, err := readProxyHeader(s.raw)
	switch {
	case errors.Is(err, errProxyHeader):
		s.log.Warn("a balancer's connection does not begin with a header of the PROXY protocol, version 2", "balancer", s.address())
		return errQuiet
	case err != nil:
		return errQuiet
	case client.IsValid():
		s.srv.comesFrom(s, net.TCPAddrFromAddrPort(client))
	}
	return nil
}

// proxySignature begins each header of version 2; no start-up packet and no TLS begins so.
const proxySignature = "\r\n\r\n\x00\r\nQUIT\n"

var errProxyHeader = errors.New("no header of the PROXY protocol, version 2")

// readProxyHeader reads a header of the PROXY protocol, version 2, and no byte more. The client's address is invalid where the connection is the balancer's own (LOCAL, its health checks) or it does not say whose (UNSPEC). What stands behind the addresses, such as TLVs, is passed over.
// Version 1, which is text, is refused, as are addresses that are not of TCP.
func readProxyHeader(r io.Reader) (client netip.AddrPort, err error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return client, err
	}
	if string(head[:12]) != proxySignature {
		return client, errProxyHeader
	}
	length := int(binary.BigEndian.Uint16(head[14:]))
	size := 0 // of an address
	switch [2]byte{head[12], head[13]} {
	case [2]byte{0x21, 0x00}: // UNSPEC
	case [2]byte{0x21, 0x11}: // TCP over IPv4
		size = 4
	case [2]byte{0x21, 0x21}: // TCP over IPv6
		size = 16
	default:
		if head[12] != 0x20 { // LOCAL: whatever addresses it has say nothing
			return client, errProxyHeader
		}
	}
	known := 0
	if size > 0 {
		known = 2*size + 4 // source, destination, their ports
	}
	if length < known {
		return client, errProxyHeader
	}
	var addresses [36]byte
	if _, err := io.ReadFull(r, addresses[:known]); err != nil {
		return client, err
	}
	if _, err := io.CopyN(io.Discard, r, int64(length-known)); err != nil {
		return client, err
	}
	if size > 0 {
		ip, _ := netip.AddrFromSlice(addresses[:size]) // of 4 or 16 bytes
		client = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(addresses[2*size:]))
	}
	return client, nil
}
