package prooftest

import (
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }
