package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/jackc/pgx/v5/pgconn"
)

// answerTime is what a client has to read a short answer, and mostProblem the bytes of each text of an error.
const (
	answerTime  = 10 * time.Second
	mostProblem = 8 << 10
)

// problem is an error as the page shows it.
type problem struct {
	Code     string `json:"code,omitempty"` // SQLSTATE
	Message  string `json:"message"`
	Detail   string `json:"detail,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Position *int   `json:"position,omitempty"` // in UTF-16 units of the text, as browsers count; nil: none
}

// problemWith has each of its texts cut above mostProblem.
func problemWith(code, message, detail, hint string) problem {
	return problem{Code: code, Message: sqltype.CutText(message, mostProblem), Detail: sqltype.CutText(detail, mostProblem), Hint: sqltype.CutText(hint, mostProblem)}
}

// shown is what the page says of an error. text is what was sent to the proxy.
func shown(err error, text string) problem {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		p := problemWith(refused.Code, refused.Message, refused.Detail, refused.Hint)
		if refused.Position > 0 {
			p.Position = new(unitsOf(text, int(refused.Position)-1))
		}
		return p
	}
	if errors.Is(err, context.Canceled) { // before the proxy was asked
		err = sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request")
	}
	var known *sqlerr.Error
	if errors.As(err, &known) {
		p := problemWith(known.Code, known.Message, known.Detail, known.Hint)
		if known.Pos > 0 && known.Pos <= len(text)+1 {
			p.Position = new(unitsOf(text, utf8.RuneCountInString(text[:known.Pos-1])))
		}
		return p
	}
	return problem{Message: "the statement was not answered", Hint: "Log in again."}
}

// unitsOf is how many UTF-16 units the first characters of a text have.
func unitsOf(text string, characters int) (n int) {
	for _, c := range text {
		if characters--; characters < 0 {
			break
		}
		n += utf16.RuneLen(c)
	}
	return n
}

// bytesOf is where in a text so many UTF-16 units end.
func bytesOf(text string, units int) int {
	for at, c := range text {
		if units -= utf16.RuneLen(c); units < 0 {
			return at
		}
	}
	return len(text)
}

// encoder writes JSON. Nothing reads it as HTML (TestHeaders), so < stays one byte.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// answer answers a session's request; nil: one of no session. An analyst's answer is not longer than maxAnswer.
func (c *Server) answer(w http.ResponseWriter, s *session, v any) {
	var b bytes.Buffer
	switch err := encoder(&b).Encode(v); {
	case err != nil:
		c.log.Error("console: an answer cannot be written", "error", err)
		c.fail(w, http.StatusInternalServerError, problem{Message: "the request was not answered"})
	case s != nil && !s.owner && b.Len() > maxAnswer:
		c.fail(w, http.StatusUnprocessableEntity, problem{Message: "the answer is too long for this page", Hint: "Ask with psql."})
	default:
		c.write(w, http.StatusOK, b.Bytes())
	}
}

// answerInTurn answers while the session's connection is the request's: so few long answers of a session are in memory, whoever reads them.
func (c *Server) answerInTurn(s *session, w http.ResponseWriter, r *http.Request, v any) {
	serves(r, false) // one that nobody reads gives way
	c.answer(w, s, v)
}

// fail answers with an error.
func (c *Server) fail(w http.ResponseWriter, status int, p problem) {
	var b bytes.Buffer
	if err := encoder(&b).Encode(map[string]problem{"error": p}); err != nil {
		c.log.Error("console: an error cannot be written", "error", err)
	}
	c.write(w, status, b.Bytes())
}

// refuse answers a request whose body may not have been read. It is read and forgotten first: the server would close the connection of a long one, and a client that still writes would not see the answer.
func (c *Server) refuse(w http.ResponseWriter, r *http.Request, status int, p problem) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		c.log.Debug("console: a refused request did not arrive")
	}
	c.fail(w, status, p)
}

// write writes an answer. A client has answerTime for it, and a tenth of that more for each 256 KiB.
func (c *Server) write(w http.ResponseWriter, status int, body []byte) {
	most := min(c.o.Write, answerTime)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(most + most/10*time.Duration(len(body)>>18)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, taken := w.Write(body); err != nil || taken != nil {
		c.log.Debug("console: an answer was not taken")
	}
}

// read takes a request's JSON.
func (c *Server) read(w http.ResponseWriter, r *http.Request, into any) bool {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		c.fail(w, http.StatusUnsupportedMediaType, problem{Message: "the request is not JSON"})
		return false
	}
	serves(r, false) // while it arrives
	err := json.NewDecoder(r.Body).Decode(into)
	if err == nil { // net/http reads the rest before it answers: while there is a time for it
		_, err = io.Copy(io.Discard, r.Body)
	}
	serves(r, err == nil)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		c.fail(w, http.StatusRequestEntityTooLarge, problem{Message: "the request is too long"})
	case err != nil:
		c.fail(w, http.StatusBadRequest, problem{Message: "the request cannot be read"})
	default: // else the end of the time for reading it would look as if the client left
		err = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	return err == nil
}
