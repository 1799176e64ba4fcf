package session

import (
	"context"
	"runtime"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// MostSyntheticCells is how many cells a synthetic table has at most: a statement over it holds some 50 bytes of memory for each while it runs.
const MostSyntheticCells = 2_000_000

// readsSynthetic says whether a statement has rows of a synthetic table.
func (s *Session) readsSynthetic(scans []*plan.Scan) bool {
	return slices.ContainsFunc(scans, func(sc *plan.Scan) bool { return s.Catalog.IsSynthetic(sc.Table) })
}

// syntheticTurn waits for a turn to hold a synthetic table's rows in memory: one of the analyst's own, and then one of all analysts', as many as there are cores.
func (s *Session) syntheticTurn(ctx context.Context) (done func(), err error) {
	own, err := s.Engine.Queues.Synthetic.Take(ctx, s.Analyst.Name, 1)
	if err != nil {
		return nil, err
	}
	all, err := s.Engine.Queues.AllSynthetic.Take(ctx, "", runtime.GOMAXPROCS(0))
	if err != nil {
		own()
		return nil, err
	}
	return func() {
		all()
		own()
	}, nil
}

// syntheticRows are a synthetic table's rows.
func syntheticRows(t *mlext.Table) ([][]sqltype.Value, error) {
	cells := make([]sqltype.Value, t.Rows*len(t.Columns))
	rows := make([][]sqltype.Value, t.Rows)
	for r := range rows {
		rows[r] = cells[r*len(t.Columns) : (r+1)*len(t.Columns) : (r+1)*len(t.Columns)]
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		known := map[int64]sqltype.Value{mlext.NoCell: nil}
		for r, cell := range c.Cells {
			v, ok := known[cell]
			if !ok {
				var err error
				if v, err = valueOf(c, cell); err != nil {
					return nil, err
				}
				known[cell] = v
			}
			rows[r][i] = v
		}
	}
	return rows, nil
}

// valueOf is what a cell stands for.
func valueOf(c *mlext.TableColumn, cell int64) (sqltype.Value, error) {
	broken := sqlerr.New(sqlerr.Internal, "a synthetic table's column has no value")
	if c.OID == sqltype.OIDBool {
		return cell == 1, nil
	}
	if c.Levels != nil {
		if cell < 0 || cell >= int64(len(c.Levels)) {
			return nil, broken
		}
		return sqltype.ParseText(c.Levels[cell], typeOf(c))
	}
	grid, err := decimal.NewFromString(c.Grid)
	if err != nil {
		return nil, broken
	}
	x := grid.Mul(decimal.NewFromInt(cell))
	switch c.OID {
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8:
		return x.IntPart(), nil
	case sqltype.OIDDate:
		return sqltype.Days(x.IntPart()), nil //nolint:gosec // of a date's range
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return sqltype.Micros(x.IntPart()), nil
	case sqltype.OIDFloat4, sqltype.OIDFloat8:
		return x.InexactFloat64(), nil
	}
	return sqltype.ParseText(x.String(), typeOf(c))
}

func typeOf(c *mlext.TableColumn) sqltype.Type { return sqltype.Type{OID: c.OID, Typmod: c.Typmod} }
