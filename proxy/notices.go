package proxy

import (
	"errors"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

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

// sendError writes an ErrorResponse. text is the message's text that the error's position is in.
func (s *connection) sendError(severity string, e *sqlerr.Error, text string) {
	var c *charset
	if s.set != nil { // after the log-in
		c = s.charset()
	}
	s.wire.send(&pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: e.Code, Message: c.shown(clean(e.Message)), Detail: c.shown(clean(e.Detail)),
		Hint: c.shown(clean(e.Hint)), Position: position(e.Pos, text)})
}

// position turns a 1-based byte offset into PostgreSQL's 1-based count of characters; 0 for none.
func position(pos int, text string) int32 {
	if pos < 1 || pos > len(text)+1 {
		return 0
	}
	return int32(utf8.RuneCountInString(text[:pos-1]) + 1)
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
	s.wire.send(&pgproto3.NoticeResponse{Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000", Message: s.charset().shown(clean(text))})
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
	s.wire.send(n)
}

// warnings sends an answer's WARNINGs.
func (s *connection) warnings(list []string) {
	for _, w := range list {
		s.sendNotice("warning", &pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Message: w})
	}
}

// tell sends an answer's warnings and NOTICEs.
func (s *connection) tell(answer *answer.Answer) {
	s.warnings(answer.Warnings)
	if answer.Mark != "" {
		s.mark(answer.Mark)
	}
	if answer.Notice != "" {
		s.notice(answer.Notice)
	}
}

// reportSettings sends the ParameterStatus of what changed since it was last sent.
func (s *connection) reportSettings() {
	for _, name := range reportedNames {
		if v := s.set.get(name); !s.has(name, v) {
			s.reported[name] = v
			s.wire.send(&pgproto3.ParameterStatus{Name: parameters[name].name, Value: clean(v)})
		}
	}
}

func (s *connection) has(name, v string) bool {
	old, ok := s.reported[name]
	return ok && old == v
}

// ready ends a cycle: changed settings are reported, and all that is pending leaves in one write.
func (s *connection) ready() error {
	s.reportSettings()
	s.wire.send(&pgproto3.ReadyForQuery{TxStatus: s.tx.status()})
	return s.flush()
}
