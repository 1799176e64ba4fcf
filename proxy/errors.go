package proxy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

func errStopping() *sqlerr.Error {
	return sqlerr.New(sqlerr.AdminShutdown, "terminating connection due to administrator command")
}

func errTooManyClients() *sqlerr.Error {
	return sqlerr.New(sqlerr.TooManyConns, "sorry, too many clients already")
}

func errAborted() *sqlerr.Error {
	return sqlerr.New(sqlerr.InvalidTxState, "current transaction is aborted, commands ignored until end of transaction block")
}

// runError is shown for a statement that was running: a statement that the client or a stop cancelled says so, whatever the
// engine made of it.
func runError(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if id := sqlerr.ID(err); id != "" && id != sqlerr.ResourceFailure.ID && id != sqlerr.QueryCanceled.ID {
		return err
	}
	e := sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request")
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		e = errStopping()
	case errors.Is(context.Cause(ctx), errStatementTimeout):
		e = sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to statement timeout")
	}
	var was *sqlerr.Error
	if errors.As(err, &was) && strings.HasPrefix(was.Hint, sqlerr.StaysSpent) {
		e = e.WithHint(sqlerr.ChargedAgain)
	}
	return e.WithCause(err)
}

// clean makes a field safe for a NUL-terminated string.
func clean(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return s[:i]
		}
	}
	return s
}

// literals are what an error's text may quote of a statement or of data: strings in any quotes, key values and numbers.
var literals = regexp.MustCompile(`'(?:[^']|'')*'?|"(?:[^"]|"")*"?|\$\w*\$.*|=\([^)]*\)?|\b\d[\w.]*`)

const maxLogged = 500

// redact is an error's text for the log, without literals. Its type comes along, so that what was cut can be found.
func redact(err error) string {
	if err == nil {
		return ""
	}
	var safe interface{ LogText() string } // one that says it holds no literals
	if errors.As(err, &safe) {
		return fmt.Sprintf("%T: %s", err, safe.LogText())
	}
	text := literals.ReplaceAllString(err.Error(), "?")
	if len(text) > maxLogged {
		text = text[:maxLogged] + "..."
	}
	return fmt.Sprintf("%T: %s", err, text)
}

// errQuiet ends a connection without a word: the client left, or only came to cancel.
var errQuiet = errors.New("the connection is over")

// errShutdown ends the statements that outlive the grace of a stop, and those of a session that was terminated.
var errShutdown = errors.New("the proxy is stopping")

// errCanceled is why a statement's context ended: its client said so.
var errCanceled = errors.New("canceled by the client")

// errStatementTimeout: the client's own limit on a statement was over.
var errStatementTimeout = errors.New("statement timeout of the session")

func protocolError(format string, args ...any) error {
	return sqlerr.New(sqlerr.ProtocolViolation, "%s", fmt.Sprintf(format, args...))
}
