package sqlgen_test

import (
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

func TestMain(m *testing.M) {
	os.Exit(neighbour.Main(m))
}
