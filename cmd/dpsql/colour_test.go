package main

import (
	"bytes"
	"os"
	"testing"
)

// TestColours: words have colours on a terminal alone, and never where NO_COLOR is set.
func TestColours(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if got := coloured(&bytes.Buffer{}, red, "x") + coloured(file, red, "x"); got != "xx" {
		t.Errorf("%q", got)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine has no terminals")
	}
	defer func() { _ = terminal.Close() }()
	if got := coloured(terminal, red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := coloured(terminal, red, "x"); got != "x" {
		t.Errorf("%q", got)
	}
}
