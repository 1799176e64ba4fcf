package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClientCertificatesServed: docs/operations.md's commands make certificates that let ann in and nobody else, dpsql check sees files that are wrong, and a reload takes another authority over.
func TestClientCertificatesServed(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "<!-- client certificates: run by TestClientCertificatesServed -->\n```console\n")
	commands, _, _ := strings.Cut(after, "```")
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PGPASSWORD=")
		out, err := cmd.CombinedOutput()
		if err != nil && name != "psql" {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	shell := strings.ReplaceAll(regexp.MustCompile(`(?m)^\$ `).ReplaceAllString(commands, ""), "-subj /CN=ann ", "-subj /CN=$WHO ")
	issue := func(who string) {
		t.Helper()
		run("sh", "-ec", "WHO="+who+"\n"+strings.ReplaceAll(shell, "ann.", who+"."))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	issue("ann") // each with an authority of its own
	authority := read("client-ca.crt")
	issue("bob")
	if strings.Count(commands, "openssl ") != 3 || authority == read("client-ca.crt") {
		t.Fatalf("the page has other commands:\n%s", commands)
	}
	run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "server.key", "-out", "server.crt")
	if err := os.Chmod(filepath.Join(dir, "server.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("people.csv", "id,age\n1,30\n2,40\n")
	config := filepath.Join(dir, "p.yaml")
	write("p.yaml", "dataset: t\nbackend: {files: .}\nunit: people.id\ntables:\n  people:\n    key: id\n    columns:\n      id: {type: integer, not_null: true}\n      age: {type: integer, range: [0, 120]}\n"+
		"population: 50\nbudget: {epsilon: 10, delta: 1e-6}\nanalysts: {ann: {may: [people]}, bob: {may: [people]}}\ntls: {cert: server.crt, key: server.key, client_ca: client-ca.crt, client_cert: cert}\n")
	check := func(code int, want string) {
		t.Helper()
		cmd := program(t.Context(), "check", "--config", config)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), want) {
			t.Errorf("exit code %d, want %d with %q:\n%s", got, code, want, out)
		}
	}
	write("client-ca.crt", read("ann.crt"))
	check(3, "is not an authority's")
	write("client-ca.crt", authority)
	check(0, "no mistakes")
	s := serveDir(t, config)
	defer s.kill()
	port := s.addr[strings.LastIndex(s.addr, ":")+1:]
	psql := func(user, own string) string {
		t.Helper()
		dsn := "host=localhost port=" + port + " dbname=t sslmode=verify-full sslrootcert=server.crt user=" + user
		if own != "" {
			dsn += " sslcert=" + own + ".crt sslkey=" + own + ".key"
		}
		return run("psql", "-X", "-w", "-At", "-c", "SELECT current_user", dsn)
	}
	expect := func(user, own, want string) {
		t.Helper()
		if got := psql(user, own); !strings.Contains(got, want) {
			t.Errorf("%s with %q: %s", user, own, got)
		}
	}
	expect("ann", "ann", "ann\n")
	expect("bob", "ann", `certificate authentication failed for user "bob"`)
	dsn := "host=localhost port=" + port + " dbname=t sslmode=verify-full sslrootcert=server.crt user=ann sslcert=ann.crt sslkey=ann.key application_name=seen"
	const told = `SELECT s.ssl, s.version, s.cipher LIKE 'TLS_AES_%', s.bits IN (128, 256), s.client_dn, s.client_serial > 0, a.application_name, a.client_addr IN ('127.0.0.1'::text::inet, '::1'::text::inet), a.client_port > 0, a.backend_start <= a.xact_start AND a.xact_start = a.query_start AND a.state_change <= now(), a.query LIKE 'SELECT s.ssl, %', inet_client_port() = a.client_port FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE pid = pg_backend_pid()`
	if got := run("psql", "-X", "-w", "-At", "-c", told, dsn); got != "t|TLSv1.3|t|t|/CN=ann|t|seen|t|t|t|t|t\n" {
		t.Errorf("pg_stat_ssl and pg_stat_activity tell of the own connection %s", got)
	}
	expect("bob", "bob", "alert unknown ca")
	expect("ann", "", "connection requires a valid client certificate")
	write("client-ca.crt", "nothing")
	if out, err := program(t.Context(), "reload", "--config", config).CombinedOutput(); err == nil || !strings.Contains(string(out), "loaded before hold on") {
		t.Errorf("%v\n%s", err, out)
	}
	expect("ann", "ann", "ann\n")
	issue("bob")
	if out, err := program(t.Context(), "reload", "--config", config).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	expect("bob", "bob", "bob\n")
	expect("ann", "ann", "alert unknown ca")
}
