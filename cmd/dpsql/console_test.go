package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestServeConsole: dpsql serve has the console of its policy. The owner's link logs an analyst in, once.
func TestServeConsole(t *testing.T) {
	path := smallServer(t, 10, 1)
	if out, err := program(t.Context(), "console", "link", "--config", path, "--user", "analyst").CombinedOutput(); err == nil || !strings.Contains(string(out), "no server answers") {
		t.Errorf("without a server: %v %s", err, out)
	}
	addr := "127.0.0.1:" + freePort(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "console: {listen: "+addr+"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	defer s.kill()
	link := strings.TrimSpace(output(t, "console", "link", "--config", path, "--user", "analyst"))
	page, secret, ok := strings.Cut(link, "#link=")
	if !ok || page != "http://"+addr+"/" {
		t.Fatalf("%q", link)
	}
	if got := fetched(t, http.Get, page); !strings.Contains(got, `<script type="module" src="/app.js">`) {
		t.Errorf("the page: %s", got)
	}
	login := func(url string) (*http.Response, error) {
		return http.Post(url+"api/login", "application/json", strings.NewReader(`{"link": "`+secret+`"}`))
	}
	if got := fetched(t, login, page); !strings.Contains(got, `"user":"analyst"`) {
		t.Errorf("the first: %s", got)
	}
	if got := fetched(t, login, page); !strings.Contains(got, "does not work any more") {
		t.Errorf("the second: %s", got)
	}
	if out, err := program(t.Context(), "console", "link", "--config", path, "--user", "eve").CombinedOutput(); err == nil || !strings.Contains(string(out), `no analyst "eve"`) {
		t.Errorf("a stranger's link: %v %s", err, out)
	}
}

// fetched is a response's body.
func fetched(t *testing.T, ask func(url string) (*http.Response, error), url string) string {
	t.Helper()
	resp, err := ask(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
