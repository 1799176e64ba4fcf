package sqltype_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// server is the PostgreSQL that the codecs are compared with.
var server *pgtest.Server

func TestMain(m *testing.M) {
	s, stop, err := pgtest.StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server = s
	code := m.Run()
	stop()
	os.Exit(code)
}
