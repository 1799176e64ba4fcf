package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/owner"
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

	// The owner's page is reached by a link alone. What is done there is in the ledger, and in the server's log.
	for _, flags := range [][]string{{}, {"--owner", "--user", "analyst"}} {
		if out, err := program(t.Context(), append([]string{"console", "link", "--config", path}, flags...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "owner") {
			t.Errorf("%v: %v %s", flags, err, out)
		}
	}
	link = strings.TrimSpace(output(t, "console", "link", "--config", path, "--owner"))
	page, secret, ok = strings.Cut(link, "#link=")
	if !ok || page != "http://"+addr+"/" {
		t.Fatalf("%q", link)
	}
	resp, err := login(page)
	if err != nil {
		t.Fatal(err)
	}
	var is struct {
		Token string
		Owner bool
	}
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&is), resp.Body.Close()); err != nil || !is.Owner {
		t.Fatalf("%+v %v", is, err)
	}
	order := func(name, body string) string {
		return fetched(t, func(url string) (*http.Response, error) {
			r, err := http.NewRequest(http.MethodPost, url+"api/owner/"+name, strings.NewReader(body))
			if err != nil {
				return nil, err
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Dpsql-Token", is.Token)
			r.AddCookie(resp.Cookies()[0])
			return http.DefaultClient.Do(r)
		}, page)
	}
	if got := order("state", "{}"); !strings.Contains(got, `"health":"ok"`) {
		t.Errorf("%s", got)
	}
	if got := order("freeze", `{"analyst": "analyst"}`); !strings.Contains(got, `(console)"`) {
		t.Errorf("%s", got)
	}
	var shown owner.Budget
	if err := json.Unmarshal([]byte(output(t, "budget", "show", "--json", "--config", path)), &shown); err != nil || len(shown.Frozen) != 1 || shown.Frozen[0].By != whoami()+" (console)" {
		t.Errorf("%+v %v", shown.Frozen, err)
	}
	output(t, "unfreeze", "analyst", "--config", path)
	if got := order("budget", "{}"); !strings.Contains(got, `"frozen":[]`) {
		t.Errorf("%s", got)
	}
	for _, flags := range [][]string{{}, {"--user", ""}, {"--owner", "--user", "analyst"}} {
		if out, err := program(t.Context(), append([]string{"console", "end", "--config", path}, flags...)...).CombinedOutput(); err == nil {
			t.Errorf("%v: %s", flags, out)
		}
	}
	for flag, want := range map[string]string{"--user=analyst": "ended sessions: 1\n", "--owner": "ended sessions: 1\n", "--user=eve": "ended sessions: 0\n"} {
		if got := output(t, "console", "end", "--config", path, flag); got != want {
			t.Errorf("%s: %q", flag, got)
		}
	}
	if got := order("budget", "{}"); !strings.Contains(got, "this session has ended") {
		t.Errorf("%s", got)
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
