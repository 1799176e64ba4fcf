package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dpsql/dpsql/internal/engine/session"
)

// startProgress tells on a terminal what a command does that takes long. Elsewhere it is nil, which tells nothing.
func startProgress(w io.Writer, step string) *session.Progress {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	p := session.StartProgress(func(text string) { _, _ = fmt.Fprintln(f, text) }, time.After)
	p.At(step)
	return p
}
