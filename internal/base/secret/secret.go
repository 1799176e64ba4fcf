package secret

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const mask = "(secret)"

// Value is one value of a private row. The zero Value is NULL. The value sits behind a function, the one kind that fmt and
// reflect can neither look into nor compare: fmt does not call the methods below on a Value in an unexported field, and
// would print what a plain field or a pointer holds.
type Value struct {
	open func() sqltype.Value
}

// Of hides a value; backends call it as soon as a row is read. It is not inlined: every copy of the function would have
// its own address, which fmt shows, and by which one could tell who called.
//
//go:noinline
func Of(v sqltype.Value) Value {
	return Value{open: func() sqltype.Value { return v }} // NULL too: a nil function would show
}

// Open gives the value out. Callers are the engine's release step and the training kernel.
func Open(v Value) sqltype.Value {
	if v.open == nil {
		return nil
	}
	return v.open()
}

// Format writes the mask for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mask)) }

// String is the mask.
func (Value) String() string { return mask }

// GoString is the mask.
func (Value) GoString() string { return mask }

// LogValue is the mask.
func (Value) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalJSON refuses.
func (Value) MarshalJSON() ([]byte, error) {
	return nil, errors.New("secret: a private value cannot be marshalled")
}

// MarshalText refuses.
func (Value) MarshalText() ([]byte, error) {
	return nil, errors.New("secret: a private value cannot be marshalled")
}

// Rows is an iterator over the rows of a backend's answer. Next returns false at the end or on failure; Err tells which.
// Row is valid until the next call of Next.
type Rows interface {
	Next() bool
	Row() []Value
	Err() error
	Close()
}
