package engine

import (
	"context"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// What the tests of this package see of it that others do not.

// Analyze analyses the statement for values of its parameters.
func (p *Prepared) Analyze(ctx context.Context, args []sqltype.Value) error {
	return p.analyze(ctx, args)
}

// Age makes the statement look as if it had been analysed earlier.
func (p *Prepared) Age(d time.Duration) { p.at = p.at.Add(-d) }
