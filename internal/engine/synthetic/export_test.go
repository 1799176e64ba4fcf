package synthetic

import (
	"context"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/mlext/synth"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Printed is what is asked of the database.
func (c *Creation) Printed() (*sqlgen.Statement, error) {
	return sqlgen.UnitRows(c.source.analysis, c.Session.Engine.Dialect, c.source.features, c.source.analysis.MaxRows, 42)
}

// ReadBins counts the rows as the product does, and gives each row's bins and unit.
func (c *Creation) ReadBins(tx backend.Tx, st *sqlgen.Statement, use func(unit int64, bins []int)) error {
	count := c.source.counting(c.charge.design.Counts(), make([]int, len(c.source.columns)))
	return model.ReadRows(context.Background(), tx, st, func(unit int64, steps []int64) error {
		bins := make([]int, len(c.source.columns))
		for i := range bins {
			bins[i] = c.source.columns[i].bin(steps)
		}
		use(unit, bins)
		return count(unit, steps)
	})
}

// Rows is how many rows of a unit count.
func (c *Creation) Rows() int { return c.source.rows }

// Bins is how many bins each column has.
func (c *Creation) Bins() []int { return c.source.sizes() }

// Design is what is measured.
func (c *Creation) Design() *synth.Design { return c.charge.design }

// MostRows is mostRows.
func MostRows(columns int) int { return mostRows(columns) }
