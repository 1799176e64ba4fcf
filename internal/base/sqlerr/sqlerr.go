// Package sqlerr is what a user sees when something is refused or fails: SQLSTATE, a stable id, a message, a hint with
// the cure and a position. The cause is kept apart and never shown. It is a leaf.
package sqlerr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Error is a user error. Message, Detail and Hint are shown and never hold anything that depends on private rows; cause is
// for the log only.
type Error struct {
	Code    string // SQLSTATE
	ID      string // stable id, as in docs/errors.md
	Message string
	Detail  string
	Hint    string
	Pos     int // 1-based byte offset in the statement's text; 0 = none
	cause   error
}

// Kind is a registered sort of error: its id and SQLSTATE.
type Kind struct{ ID, Code string }

// Error is the message as a log or test shows it; the cause is not in it.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s %s)", e.Message, e.Code, e.ID) }

// Unwrap gives the hidden cause, for logs.
func (e *Error) Unwrap() error { return e.cause }

// New makes an error of a registered kind.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Code: k.Code, ID: k.ID, Message: fmt.Sprintf(format, short(args)...)}
}

// mostQuoted is the bytes of a text that a message repeats.
const mostQuoted = 1000

// short has long texts cut, such as a literal of a megabyte.
func short(args []any) []any {
	out := slices.Clone(args)
	for i, a := range out {
		if text, ok := a.(string); ok && len(text) > mostQuoted {
			out[i] = strings.ToValidUTF8(text[:mostQuoted], "") + "..."
		}
	}
	return out
}

// At sets the position: off is a 0-based byte offset in the statement; negative means unknown.
func (e *Error) At(off int) *Error {
	if off >= 0 {
		e.Pos = off + 1
	}
	return e
}

// WithHint sets the cure.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, short(args)...)
	return e
}

// WithCause keeps what really happened, for the log.
func (e *Error) WithCause(err error) *Error { e.cause = err; return e }

// Is makes errors.Is match by id.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.ID == e.ID
}

// ID returns the stable id of a user error, or "".
func ID(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.ID
	}
	return ""
}

// StaysSpent begins the hint of whatever ends after its charge.
const StaysSpent = "What it cost stays spent."

// ChargedAgain is the hint of what its client, or a stop, ended after its charge: nothing of it was stored.
const ChargedAgain = StaysSpent + " Nothing of it was stored, so asking again is charged again, as EXPLAIN says."
