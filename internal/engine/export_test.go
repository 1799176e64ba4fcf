package engine

import (
	"context"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
)

// What the tests of this package see of it that others do not.

// PrepareInner prepares the query of a statement about models.
var PrepareInner = prepareInner

// Kind is what the statement is.
func (p *Prepared) Kind() session.Kind { return p.kind }

// Analyze analyses the statement for values of its parameters.
func (p *Prepared) Analyze(ctx context.Context, args []sqltype.Value) error {
	return p.analyze(ctx, args)
}

// Age makes the statement look as if it had been analysed earlier.
func (p *Prepared) Age(d time.Duration) { p.at = p.at.Add(-d) }
