package proxy

import (
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// maxStartup is MAX_STARTUP_PACKET_LENGTH.
const maxStartup = 10000

// startup reads the start-up packets, authenticates and greets. Nothing is read beyond what was asked for: bytes behind an
// SSLRequest are never taken as clear text.
func (s *connection) startup() error {
	if err := s.wire.raw.SetDeadline(time.Now().Add(s.srv.opts.LoginTimeout)); err != nil {
		return err
	}
	switch {
	case s.peer.inside: // it passed no network
	case s.peer.origin.shared && s.srv.opts.ProxyProtocol:
		if err := s.readProxyHeader(); err != nil {
			return err
		}
	case s.peer.origin.shared: // whoever it is can come by TLS where there is a certificate
		s.peer.remote = s.srv.opts.TLS != nil
	}
	params, err := s.readStartup()
	if err != nil {
		return err
	}
	s.user = params["user"]
	if s.user == "" {
		return sqlerr.New(sqlerr.InvalidAuth, "no PostgreSQL user name specified in startup packet")
	}
	if (s.srv.opts.RequireTLS || s.peer.remote) && s.wire.tls == nil && !s.peer.inside {
		return s.srv.errPlaintext()
	}
	verifier, err := s.authenticate()
	if err != nil {
		return err
	}
	if err := s.wire.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	s.wire.tap.timeout = s.srv.opts.WriteTimeout
	if err := s.srv.register(s); err != nil {
		return err
	}
	if now, ok := s.srv.engine.Verifier(s.user); !ok || now != verifier { // changed since, and Terminate did not see us
		return wrongPassword(s.user)
	}
	database := params["database"]
	if database == "" {
		database = s.user
	}
	if database != s.srv.engine.Database() {
		return sqlerr.New(sqlerr.UndefinedDatabase, "database %q does not exist", database)
	}
	if s.engine, err = s.srv.engine.Open(s.user, params["application_name"]); err != nil {
		return err
	}
	s.set = newSettings(s.user, s.engine)
	s.set.pid, s.set.of = s.key.pid, s
	s.engine.UseParameters(s.set)
	if s.peer.inside {
		s.engine.UseIntervals()
	}
	s.engine.UseProgress(func(text string) {
		s.progress(text)
		if err := s.flush(); err != nil { // a client that does not take them is seen when its answer is due
			s.log.Info("word of a statement's progress was not taken")
		}
	})
	if s.srv.opts.TLS != nil {
		s.set.starts["ssl"] = "on"
	}
	if err := s.startSettings(params); err != nil {
		return err
	}
	s.wire.reader.SetMaxBodyLen(s.srv.opts.MaxMessage)
	s.log = s.log.With("user", s.user, "pid", s.key.pid)
	s.log.Info("session", "client", s.peer.address(), "tls", s.wire.tls != nil)
	s.wire.send(&pgproto3.AuthenticationOk{})
	s.reportSettings()
	s.wire.send(&pgproto3.BackendKeyData{ProcessID: s.key.pid, SecretKey: s.key.secret})
	return s.ready()
}

// readStartup answers requests for encryption until the start-up packet comes, and gives its parameters.
func (s *connection) readStartup() (map[string]string, error) {
	requested := map[uint32]bool{}
	for first := true; ; first = false {
		packet, err := s.readPacket(first)
		if err != nil {
			return nil, err
		}
		code := binary.BigEndian.Uint32(packet)
		switch code {
		case cancelCode:
			var m pgproto3.CancelRequest
			if err := m.Decode(packet); err == nil {
				s.srv.cancelRequest(&m, s.peer.origin)
			}
			return nil, errQuiet
		case sslCode, gssCode:
			if requested[code] || len(packet) != 4 {
				return nil, protocolError("unsupported frontend protocol")
			}
			requested[code] = true
			if code == sslCode && s.srv.opts.TLS != nil {
				if _, err := s.wire.conn.Write([]byte{'S'}); err != nil {
					return nil, errQuiet
				}
				if err := s.encrypt(s.wire.conn); err != nil {
					return nil, err
				}
				requested[gssCode] = true
				continue
			}
			if _, err := s.wire.conn.Write([]byte{'N'}); err != nil {
				return nil, errQuiet
			}
			continue
		}
		return s.decodeStartup(packet, code)
	}
}

// readPacket reads a packet without a type byte: its length, then the body that starts with a code. The first may be behind
// TLS that nobody asked for.
func (s *connection) readPacket(first bool) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.wire.conn, head[:]); err != nil {
		return nil, errQuiet
	}
	if first && head[0] == tlsHandshake && s.srv.opts.TLS != nil {
		if err := s.encryptDirect(head[:]); err != nil {
			return nil, err
		}
		return s.readPacket(false)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || n > maxStartup {
		return nil, protocolError("invalid length of startup packet")
	}
	packet := make([]byte, n-4)
	if _, err := io.ReadFull(s.wire.conn, packet); err != nil {
		return nil, errQuiet
	}
	return packet, nil
}

func (s *connection) decodeStartup(packet []byte, code uint32) (map[string]string, error) {
	if code>>16 != 3 {
		return nil, sqlerr.New(sqlerr.Unsupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.%d", code>>16, code&0xffff, newest&0xffff)
	}
	s.wire.protocol = min(code, newest)
	binary.BigEndian.PutUint32(packet, protocol3) // all minor versions have the same packet
	var m pgproto3.StartupMessage
	if err := m.Decode(packet); err != nil {
		return nil, protocolError("invalid startup packet layout: expected terminator as last byte")
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(m.Parameters)) {
		value := m.Parameters[name]
		if sqltype.ValidText([]byte(name)) != nil || sqltype.ValidText([]byte(value)) != nil {
			return nil, sqlerr.New(sqlerr.InvalidEncoding, "the startup packet is not valid UTF-8")
		}
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		}
	}
	if code > newest || len(unknown) > 0 {
		s.wire.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: s.wire.protocol, UnrecognizedOptions: unknown})
	}
	return m.Parameters, nil
}

// startSettings applies the settings of the packet: first those of options, then the others, as PostgreSQL does.
func (s *connection) startSettings(params map[string]string) error {
	options, err := splitOptions(params["options"])
	if err != nil {
		return err
	}
	for _, o := range options {
		if err := s.set.start(o.name, o.value); err != nil {
			return err
		}
	}
	for _, given := range slices.Sorted(maps.Keys(params)) { // of several errors always the same is told
		name, value := strings.ToLower(given), params[given]
		switch {
		case name == "user", name == "database", name == "options", strings.HasPrefix(name, "_pq_."):
		case name == "replication":
			if on, err := sqltype.ParseText(value, sqltype.Bool); err != nil || on != false {
				return sqlerr.New(sqlerr.Unsupported, "replication connections are not supported")
			}
		default:
			if err := s.set.start(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

type option struct{ name, value string }

// splitOptions reads -c name=value, -cname=value and --name=value; blanks separate, a backslash takes the next character as
// it is (PostgreSQL's pg_split_opts).
func splitOptions(text string) ([]option, error) {
	var out []option
	words := splitWords(text)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "-c") && len(w) > 2:
			w = w[2:]
		case strings.HasPrefix(w, "--") && len(w) > 2:
			w = w[2:]
		default:
			return nil, sqlerr.New(sqlerr.Syntax, "invalid command-line argument for server process: %s", w).
				WithHint("Write settings as: -c name=value.")
		}
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, sqlerr.New(sqlerr.Syntax, "-c %s requires a value", w)
		}
		out = append(out, option{strings.ToLower(strings.ReplaceAll(name, "-", "_")), value})
	}
	return out, nil
}

func splitWords(text string) []string {
	var words []string
	var word strings.Builder
	in := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
			continue
		case c == '\\' && i+1 < len(text):
			i++
			c = text[i]
		}
		word.WriteByte(c)
		in = true
	}
	if in {
		words = append(words, word.String())
	}
	return words
}
