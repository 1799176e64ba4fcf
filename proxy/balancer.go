package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
)

// readProxyHeader reads what a declared balancer says before the client's first byte. A connection without it, or with another, ends without a word.
//
// A client of another machine is to come by TLS although the balancer's own connection does not leave this one: over TLS to us, or to the balancer. Of one whose address the balancer does not say nothing is known, so it is taken for one of another machine.
func (s *connection) readProxyHeader() error {
	from, err := readProxyHeader(s.wire.raw)
	switch {
	case errors.Is(err, errProxyHeader):
		s.log.Warn("a balancer's connection does not begin with a header of the PROXY protocol, version 2", "balancer", s.peer.address())
		return errQuiet
	case err != nil:
		return errQuiet
	case from.client.IsValid():
		s.srv.comesFrom(s, net.TCPAddrFromAddrPort(from.client))
	}
	s.peer.remote = !from.local && !from.tls && !from.client.Addr().IsLoopback()
	return nil
}

// proxySignature begins each header of version 2; no start-up packet and no TLS begins so.
const proxySignature = "\r\n\r\n\x00\r\nQUIT\n"

// The TLV of a client's TLS, and the bit of its first byte that says that there was one (PP2_TYPE_SSL, PP2_CLIENT_SSL).
const (
	proxyTLS  = 0x20
	clientTLS = 0x01
)

var errProxyHeader = errors.New("no header of the PROXY protocol, version 2")

// proxied is what a header says.
type proxied struct {
	client netip.AddrPort // invalid: the balancer does not say (UNSPEC), or it is its own connection
	local  bool           // it is the balancer's own connection (LOCAL, its health checks)
	tls    bool           // the client's TLS ended at the balancer
}

// readProxyHeader reads a header of the PROXY protocol, version 2, and no byte more. Of what stands behind the addresses only the TLV of the client's TLS is read; one that is cut says nothing.
// Version 1, which is text, is refused, as are addresses that are not of TCP.
func readProxyHeader(r io.Reader) (from proxied, err error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return from, err
	}
	if string(head[:12]) != proxySignature {
		return from, errProxyHeader
	}
	size := 0 // of an address
	switch [2]byte{head[12], head[13]} {
	case [2]byte{0x21, 0x00}: // UNSPEC: what it says is passed over
	case [2]byte{0x21, 0x11}: // TCP over IPv4
		size = 4
	case [2]byte{0x21, 0x21}: // TCP over IPv6
		size = 16
	default:
		if from.local = head[12] == 0x20; !from.local { // whatever a LOCAL one has says nothing
			return from, errProxyHeader
		}
	}
	body := make([]byte, binary.BigEndian.Uint16(head[14:]))
	known := 2*size + 4 // source, destination, their ports
	if size > 0 && len(body) < known {
		return from, errProxyHeader
	}
	if _, err := io.ReadFull(r, body); err != nil {
		return proxied{}, err
	}
	if size > 0 {
		ip, _ := netip.AddrFromSlice(body[:size]) // of 4 or 16 bytes
		from.client = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(body[2*size:]))
		from.tls = endedTLS(body[known:])
	}
	return from, nil
}

// endedTLS: the TLVs say that the client came to the balancer by TLS.
func endedTLS(tlvs []byte) bool {
	for len(tlvs) >= 3 {
		length := 3 + int(binary.BigEndian.Uint16(tlvs[1:]))
		if length > len(tlvs) {
			return false
		}
		if tlvs[0] == proxyTLS {
			return length > 3 && tlvs[3]&clientTLS != 0
		}
		tlvs = tlvs[length:]
	}
	return false
}
