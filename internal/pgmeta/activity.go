package pgmeta

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// addActivity has the functions behind the views of a server's activity: one session, which has done nothing.
func addActivity(add func(name string, f function, args ...int)) {
	for _, name := range pgcat.ProcNames() {
		if !strings.HasPrefix(name, "pg_stat_get_") {
			continue
		}
		for _, p := range pgcat.Procs(name) {
			if p.RetSet || p.Result == 2249 {
				continue
			}
			var v sqltype.Value
			switch p.Result {
			case sqltype.OIDInt8, sqltype.OIDInt4:
				v = int64(0)
			case sqltype.OIDFloat8:
				v = float64(0)
			}
			add(name, constant(v), len(p.Args))
		}
	}
	add("pg_stat_get_activity", function{onNull: true, rows: activity}, 1)
	add("inet_client_addr", function{onNull: true, eval: func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return orNull(s.connection().Address), nil
	}}, 0)
	add("inet_client_port", function{onNull: true, eval: func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if c := s.connection(); c.Address != "" {
			return int64(c.Port), nil
		}
		return nil, nil
	}}, 0)
}

// activity is pg_stat_get_activity: the asker's session, of NULL and of its own number.
func activity(s *Session, a []sqltype.Value, _ []sqltype.Type) ([][]sqltype.Value, error) {
	if a[0] != nil && a[0] != s.pid() {
		return nil, nil
	}
	c, application := s.connection(), ""
	if s.Parameters != nil {
		application, _ = s.Parameters.Parameter("application_name") // which there always is
	}
	is := map[string]sqltype.Value{"datid": number32("database", s.Name), "pid": s.pid(), "usesysid": int64(oidOfRole), "state": "active", "query": c.Query, "application_name": application,
		"backend_type": "client backend", "ssl": c.TLS != nil, "gss_auth": false, "gss_enc": false, "client_addr": orNull(c.Address), "client_port": int64(-1)}
	if c.Address != "" {
		is["client_port"] = int64(c.Port)
	}
	for name, at := range map[string]time.Time{"backend_start": c.Began, "query_start": c.QueryStart, "state_change": c.QueryStart, "xact_start": c.Transaction} {
		if !at.IsZero() {
			is[name] = sqltype.InstantOf(at)
		}
	}
	if c.TLS != nil {
		cipher := cipherName(c.TLS.CipherSuite)
		is["sslversion"], is["sslcipher"], is["sslbits"] = strings.ReplaceAll(tls.VersionName(c.TLS.Version), " ", "v"), cipher, cipherBits(cipher)
		if certs := c.TLS.PeerCertificates; len(certs) > 0 {
			serial, err := sqltype.ParseText(certs[0].SerialNumber.String(), sqltype.Numeric)
			if err != nil {
				return nil, err
			}
			is["ssl_client_dn"], is["ssl_issuer_dn"], is["ssl_client_serial"] = nameOfCertificate(certs[0].Subject), nameOfCertificate(certs[0].Issuer), serial
		}
	}
	outs := pgcat.Procs("pg_stat_get_activity")[0].Outs
	row := make([]sqltype.Value, len(outs))
	for i, o := range outs {
		row[i] = is[o.Name]
	}
	return [][]sqltype.Value{row}, nil
}

func orNull(s string) sqltype.Value {
	if s == "" {
		return nil
	}
	return s
}

// cipherName is OpenSSL's, which PostgreSQL shows: those of TLS 1.3 have the same one.
func cipherName(suite uint16) string {
	name := tls.CipherSuiteName(suite)
	key, mode, older := strings.Cut(strings.TrimPrefix(name, "TLS_"), "_WITH_")
	if !older {
		return name
	}
	if key == "RSA" {
		key = ""
	} else {
		key += "-"
	}
	mode = strings.NewReplacer("AES_", "AES", "_CBC", "", "POLY1305_SHA256", "POLY1305").Replace(mode)
	return strings.ReplaceAll(key+mode, "_", "-")
}

func cipherBits(name string) sqltype.Value {
	if strings.Contains(name, "256_") || strings.Contains(name, "AES256") || strings.Contains(name, "CHACHA20") {
		return int64(256)
	}
	return int64(128)
}

// nameOfCertificate is a distinguished name as PostgreSQL writes it.
func nameOfCertificate(n pkix.Name) sqltype.Value {
	short := map[string]string{"2.5.4.3": "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "1.2.840.113549.1.9.1": "emailAddress"}
	var b strings.Builder
	for _, a := range n.Names {
		word := short[a.Type.String()]
		if word == "" {
			word = a.Type.String()
		}
		value, _ := a.Value.(string)
		b.WriteString("/" + word + "=" + value)
	}
	return b.String()
}
