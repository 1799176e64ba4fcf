package convex

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/noise"
)
