package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestAuditDiskFull: a server whose audit log cannot be written answers, and says so at /healthz and in its metrics.
func TestAuditDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	path := smallServer(t, 1, 0.25)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "audit: /dev/full\nmetrics: "+address+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	defer s.kill()
	get := func(page string) string {
		t.Helper()
		resp, err := http.Get("http://" + address + page)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if said := get("/healthz"); said != "ok\n" {
		t.Error(said)
	}
	var n int64
	if err := connect(t, s.url("analyst")).QueryRow(context.Background(), "SELECT count(*) FROM stays").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if said := get("/healthz"); said != "ok, but the audit log cannot be written\n" {
		t.Error(said)
	}
	if said := get("/metrics"); !strings.Contains(said, "\ndpsql_audit_failing 1\n") || !strings.Contains(said, "\ndpsql_audit_failures_total 2\n") {
		t.Error(said)
	}
}
