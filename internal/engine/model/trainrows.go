package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

var errRows = errors.New("engine: a training's rows are not as was asked")

// within are the limits of what is taken in.
func (t *Training) within() mlext.Limits {
	l, dir := t.world.Policy.Limits, t.Session.Engine.Ledger.Scratch()
	disk := l.TrainingDisk
	if free, err := spool.Free(filepath.Dir(dir)); err == nil { // the folder may not be there yet
		disk = max(0, min(disk, free-spool.Reserve))
	}
	return mlext.Limits{Memory: int(l.TrainingMemory), Disk: disk, File: func() (*os.File, error) { return spool.Scratch(dir) }}
}

// Read takes the rows in.
func (t *Training) Read(ctx context.Context, tx backend.Tx, c *mlext.Collector) error {
	st, err := sqlgen.UnitRows(t.Analysis, t.Session.Engine.Dialect, t.Features, t.Analysis.MaxRows, 0)
	if err != nil {
		return err
	}
	return ReadRows(ctx, tx, st, c.Add)
}

// ReadRows gives a training's rows: the number of the unit, 0 where each has one row, and a number of steps a feature.
func ReadRows(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, use func(unit int64, steps []int64) error) error {
	bargs, _ := server.BindArgs(st, nil)
	want := make([]backend.NumberColumn, len(st.Columns))
	for i, c := range st.Columns {
		want[i] = backend.NumberColumn{Type: c.Type}
		if at := i + len(st.Readings) - len(st.Columns); at >= 0 && st.Readings[at] != nil {
			want[i].Width = st.Readings[at].Length
		}
	}
	rows, err := backend.QueryNumbers(ctx, tx, st.SQL, bargs, want)
	if err != nil {
		return err
	}
	defer rows.Close()
	r := newRowReader(st)
	defer clear(r.steps) // the last row's values
	for rows.Next() {
		n, ok := secret.Open(rows.Block()).(*secret.Numbers)
		if !ok || len(n.Null) != n.Rows*len(want) || len(n.Cells) != n.Rows*r.cells {
			return errRows
		}
		for i := range n.Rows {
			if !r.read(n.Cells[i*r.cells:(i+1)*r.cells], n.Null[i*len(want):(i+1)*len(want)]) {
				continue
			}
			if err := use(r.unit, r.steps); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// rowReader makes whole numbers of steps of a row's cells.
type rowReader struct {
	readings []*sqlgen.Reading
	cells    int
	units    int // columns before the features
	unit     int64
	steps    []int64
}

func newRowReader(st *sqlgen.Statement) *rowReader {
	units := len(st.Columns) - len(st.Readings)
	r := &rowReader{readings: st.Readings, units: units, cells: units}
	for _, how := range st.Readings {
		r.cells += width(how)
	}
	r.steps = make([]int64, r.cells-units)
	return r
}

// width is how many cells a feature has.
func width(how *sqlgen.Reading) int {
	if how == nil {
		return 1
	}
	return max(1, how.Length)
}

// read is false where the row is left out.
func (r *rowReader) read(cells []int64, null []bool) bool {
	if r.units > 0 {
		r.unit = cells[0]
	}
	at := r.units
	for i, how := range r.readings {
		if how == nil {
			if null[r.units+i] {
				return false
			}
			r.steps[at-r.units] = cells[at]
			at++
			continue
		}
		for range width(how) {
			n, ok := how.Steps(cells[at], null[r.units+i])
			if !ok {
				return false
			}
			r.steps[at-r.units] = n
			at++
		}
	}
	return true
}
