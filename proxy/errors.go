package proxy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

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

// shown turns any error into what the client may see; what it may not see is logged.
func (s *connection) shown(err error) *sqlerr.Error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		s.log.Error("internal error", "error", redact(err))
		return sqlerr.New(sqlerr.Internal, "internal error").WithHint("The proxy's log has the cause.")
	}
	switch cause := e.Unwrap(); {
	case e.ID == sqlerr.Internal.ID: // a mistake of dpsql's own, which its owner is to hear of
		s.log.Error("internal error", "error", redact(e), "cause", redact(cause))
	case cause != nil:
		s.log.Warn("statement failed", "code", e.Code, "id", e.ID, "cause", redact(cause))
	}
	return e
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

// sendError writes an ErrorResponse. text is the message's text that the error's position is in.
func (s *connection) sendError(severity string, e *sqlerr.Error, text string) {
	var c *charset
	if s.set != nil { // after the log-in
		c = s.charset()
	}
	s.send(&pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: e.Code, Message: c.shown(clean(e.Message)), Detail: c.shown(clean(e.Detail)),
		Hint: c.shown(clean(e.Hint)), Position: position(e.Pos, text)})
}

// position turns a 1-based byte offset into PostgreSQL's 1-based count of characters; 0 for none.
func position(pos int, text string) int32 {
	if pos < 1 || pos > len(text)+1 {
		return 0
	}
	return int32(utf8.RuneCountInString(text[:pos-1]) + 1)
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

// severities orders what client_min_messages may hold.
var severities = map[string]int{"debug5": 1, "debug4": 2, "debug3": 3, "debug2": 4, "debug1": 5, "debug": 4, "log": 6, "notice": 8, "warning": 9, "error": 10}

// notice sends a NOTICE, unless the client wants less.
func (s *connection) notice(text string) {
	s.sendNotice("notice", &pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: text})
}

// ProgressRoutine is the routine of a NOTICE that says how far a statement is.
const ProgressRoutine = "progress"

func (s *connection) progress(text string) {
	s.sendNotice("notice", &pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: text, Routine: ProgressRoutine})
}

// mark sends a NOTICE without which an answer would be taken for another.
func (s *connection) mark(text string) {
	s.send(&pgproto3.NoticeResponse{Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000", Message: s.charset().shown(clean(text))})
}

// warn sends a WARNING.
func (s *connection) warn(k sqlerr.Kind, text string) {
	s.sendNotice("warning", &pgproto3.NoticeResponse{Severity: "WARNING", Code: k.Code, Message: text})
}

func (s *connection) sendNotice(level string, n *pgproto3.NoticeResponse) {
	if severities[s.set.get("client_min_messages")] > severities[level] {
		return
	}
	n.SeverityUnlocalized, n.Message = n.Severity, s.charset().shown(clean(n.Message))
	s.send(n)
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
