package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/policy"
)

// Server is what the owner's commands ask of a running server.
type Server interface {
	Freeze(ctx context.Context, analyst, by string) error
	Unfreeze(ctx context.Context, analyst, by string) error
	Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error
	// Raise makes the larger promise of the policy file, which must be the one that the owner's command read.
	Raise(ctx context.Context, promise Promise, by, reason string) error
	Accounts() (ledger.Accounts, error)
	// Policy is the one in force.
	Policy() *policy.Policy
	History(ctx context.Context) ([]ledger.Spent, error)
	// Statements lists charges with what was asked.
	Statements(ctx context.Context, f ledger.StatementFilter) (StatementsPage, error)
	// Watches lists all analysts' watches.
	Watches(ctx context.Context) ([]*watches.Watch, error)
	// Verify reads the whole ledger again.
	Verify(ctx context.Context) error
	// Reload reads the policy file again.
	Reload(ctx context.Context) error
	// Link makes a link that logs an analyst in to the console, once.
	Link(ctx context.Context, analyst, by string) (string, error)
	// OwnerLink makes one to the owner's page.
	OwnerLink(ctx context.Context, by string) (string, error)
	// EndConsole ends an analyst's sessions of the console, or with "" all of the owner's page, and makes unused links to them void. It says how many sessions there were.
	EndConsole(ctx context.Context, analyst, by string) (int, error)
	// Address is where it listens for analysts.
	Address() string
}

// order is one command on the socket.
type order struct {
	Analyst string `json:"analyst,omitempty"`
	By      string `json:"by,omitempty"`

	Epsilon float64 `json:"epsilon,omitempty"` // of a grant, and why
	Reason  string  `json:"reason,omitempty"`

	Promise *Promise `json:"promise,omitempty"` // of a raise
}

// Promise is what a policy promises a data set's people.
type Promise struct {
	Dataset  string  `json:"data_set"`
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Lifetime float64 `json:"lifetime"` // 0: none
}

// String is what the command says of it.
func (p Promise) String() string {
	text := fmt.Sprintf("epsilon %g, delta %g", p.Epsilon, p.Delta)
	if p.Lifetime > 0 {
		text += fmt.Sprintf(", lifetime %g", p.Lifetime)
	}
	return text + " for data set " + p.Dataset
}

// maxOrder limits a command's bytes.
const maxOrder = 1 << 16

// Listen opens the owner's socket: only its own user may open it (0600). A socket that a killed server left is replaced; one
// that answers is not.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > 100 {
		return nil, fmt.Errorf("the socket's path %s is too long for the operating system: give a short one with socket: in the policy", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and is not a socket: give another with socket: in the policy", path)
		}
		if (&Client{path: path}).running(ctx) {
			return nil, fmt.Errorf("another server answers on %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	old := syscall.Umask(0o177) // there is no moment at which others could open it
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Serve obeys the owner's commands until ctx ends.
func Serve(ctx context.Context, l net.Listener, s Server) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { reply(w, struct{}{}, nil) })
	mux.HandleFunc("GET /budget", func(w http.ResponseWriter, _ *http.Request) {
		a, err := s.Accounts()
		reply(w, Report(a, s.Policy()), err)
	})
	mux.HandleFunc("GET /address", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.Address(), nil) })
	mux.HandleFunc("GET /history", func(w http.ResponseWriter, r *http.Request) {
		list, err := s.History(r.Context())
		reply(w, list, err)
	})
	mux.HandleFunc("GET /watches", func(w http.ResponseWriter, r *http.Request) {
		list, err := s.Watches(r.Context())
		reply(w, list, err)
	})
	mux.HandleFunc("POST /statements", func(w http.ResponseWriter, r *http.Request) {
		var f ledger.StatementFilter
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&f); err != nil {
			reply(w, nil, err)
			return
		}
		page, err := s.Statements(r.Context(), f)
		reply(w, page, err)
	})
	none := func(do func(context.Context, order) error) func(context.Context, order) (any, error) {
		return func(ctx context.Context, o order) (any, error) { return struct{}{}, do(ctx, o) }
	}
	for name, do := range map[string]func(context.Context, order) (any, error){
		"freeze":   none(func(ctx context.Context, o order) error { return s.Freeze(ctx, o.Analyst, o.By) }),
		"unfreeze": none(func(ctx context.Context, o order) error { return s.Unfreeze(ctx, o.Analyst, o.By) }),
		"grant":    none(func(ctx context.Context, o order) error { return s.Grant(ctx, o.Analyst, o.Epsilon, o.By, o.Reason) }),
		"raise": none(func(ctx context.Context, o order) error {
			if o.Promise == nil {
				return errors.New("a raise says what is promised")
			}
			return s.Raise(ctx, *o.Promise, o.By, o.Reason)
		}),
		"reload":     none(func(ctx context.Context, _ order) error { return s.Reload(ctx) }),
		"verify":     none(func(ctx context.Context, _ order) error { return s.Verify(ctx) }),
		"link":       func(ctx context.Context, o order) (any, error) { return s.Link(ctx, o.Analyst, o.By) },
		"ownerlink":  func(ctx context.Context, o order) (any, error) { return s.OwnerLink(ctx, o.By) },
		"endconsole": func(ctx context.Context, o order) (any, error) { return s.EndConsole(ctx, o.Analyst, o.By) },
	} {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			var o order
			d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
			d.DisallowUnknownFields()
			if err := d.Decode(&o); err != nil {
				reply(w, nil, err)
				return
			}
			v, err := do(r.Context(), o)
			reply(w, v, err)
		})
	}
	h := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 5 * time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// answer is what comes back.
type answer struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func reply(w http.ResponseWriter, v any, err error) {
	var a answer
	if err == nil {
		a.Value, err = json.Marshal(v)
	}
	if err != nil {
		a = answer{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the asker may be gone
}

// Client gives commands to a running server.
type Client struct{ path string }

// Dial finds the server on a socket; false if none answers.
func Dial(ctx context.Context, path string) (*Client, bool) {
	c := &Client{path}
	return c, path != "none" && c.running(ctx)
}

func (c *Client) running(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.call(ctx, http.MethodGet, "ping", nil, nil) == nil
}

// Freeze stops an analyst, or everybody ("").
func (c *Client) Freeze(ctx context.Context, analyst, by string) error {
	return c.call(ctx, http.MethodPost, "freeze", order{Analyst: analyst, By: by}, nil)
}

// Unfreeze lifts just that freeze.
func (c *Client) Unfreeze(ctx context.Context, analyst, by string) error {
	return c.call(ctx, http.MethodPost, "unfreeze", order{Analyst: analyst, By: by}, nil)
}

// Grant gives an analyst more of the data set's budget in the present window.
func (c *Client) Grant(ctx context.Context, analyst string, epsilon float64, by, reason string) error {
	return c.call(ctx, http.MethodPost, "grant", order{Analyst: analyst, By: by, Epsilon: epsilon, Reason: reason}, nil)
}

// Raise makes the server take the larger promise of its policy file.
func (c *Client) Raise(ctx context.Context, p Promise, by, reason string) error {
	return c.call(ctx, http.MethodPost, "raise", order{By: by, Reason: reason, Promise: &p}, nil)
}

// Reload makes the server read its policy again.
func (c *Client) Reload(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "reload", order{}, nil)
}

// Link makes a link that logs an analyst in to the console.
func (c *Client) Link(ctx context.Context, analyst, by string) (url string, err error) {
	return url, c.call(ctx, http.MethodPost, "link", order{Analyst: analyst, By: by}, &url)
}

// OwnerLink makes a link to the owner's page.
func (c *Client) OwnerLink(ctx context.Context, by string) (url string, err error) {
	return url, c.call(ctx, http.MethodPost, "ownerlink", order{By: by}, &url)
}

// EndConsole ends an analyst's sessions of the console, or with "" all of the owner's page.
func (c *Client) EndConsole(ctx context.Context, analyst, by string) (n int, err error) {
	return n, c.call(ctx, http.MethodPost, "endconsole", order{Analyst: analyst, By: by}, &n)
}

// Address is where the server listens for analysts, whatever its policy says.
func (c *Client) Address(ctx context.Context) (address string, err error) {
	return address, c.call(ctx, http.MethodGet, "address", nil, &address)
}

// History tells how the budget was spent.
func (c *Client) History(ctx context.Context) (list []ledger.Spent, err error) {
	return list, c.call(ctx, http.MethodGet, "history", nil, &list)
}

// Verify makes the server read the whole ledger again.
func (c *Client) Verify(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "verify", order{}, nil)
}

// Budget is the ledger's report.
func (c *Client) Budget(ctx context.Context) (b Budget, err error) {
	return b, c.call(ctx, http.MethodGet, "budget", nil, &b)
}

func (c *Client) call(ctx context.Context, method, name string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://dpsql/"+name, body)
	if err != nil {
		return err
	}
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	}}}
	resp, err := h.Do(req)
	if err != nil {
		return fmt.Errorf("asking the server on %s: %w", c.path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return fmt.Errorf("asking the server on %s: %w", c.path, err)
	}
	switch {
	case a.Error != "":
		return errors.New(a.Error)
	case out != nil:
		return json.Unmarshal(a.Value, out)
	}
	return nil
}
