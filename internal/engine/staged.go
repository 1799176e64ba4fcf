package engine

import (
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/stage"
)

// Staged is the private statement, also behind EXPLAIN, before anything of it is asked or charged; nil where it is not private.
func (p *Prepared) Staged() *stage.Staged {
	if private, ok := inner(p.kind).(*private.Statement); ok {
		return private.Staged
	}
	return nil
}
