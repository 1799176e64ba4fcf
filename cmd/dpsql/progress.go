package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dpsql/dpsql/internal/engine"
)

// startProgress tells on a terminal what a command does that takes long. Elsewhere it is nil, which tells nothing.
func startProgress(w io.Writer, step string) *engine.Progress {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	p := engine.StartProgress(func(text string) { _, _ = fmt.Fprintln(f, text) }, time.After)
	p.At(step)
	return p
}
