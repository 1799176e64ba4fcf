package main

import (
	"io"
	"os"
)

// Colours of words on a terminal.
const (
	red    = "31"
	yellow = "33"
	cyan   = "36"
)

// coloured is a text in a colour where w is a terminal that shows colours, and NO_COLOR (no-color.org) is not set.
func coloured(w io.Writer, colour, text string) string {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
